//! Days that a text names with their year, in forms that mean one day only: `2027-01-15`, `15.01.2027`,
//! `3 March 2027`, `March 3, 2027`, `3 de marzo de 2027`, `2027年3月3日`. Pure.

use std::sync::LazyLock;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use regex::{Captures, Regex};

/// Names of the months in the languages of the tables, by their beginnings, after folding.
const MONTHS: [&str; 12] = [
    "jan jän gen ene sty янв",
    "feb fév fev lut фев",
    "mar mär maa mrt мар",
    "apr avr abr kwi апр",
    "may mai mag maj mei май мая",
    "jun juin giu cze июн",
    "jul juil lug lip июл",
    "aug août ago sie авг",
    "sep set wrz сен",
    "oct okt oto out ott paź окт",
    "nov lis ноя",
    "dec dez déc dic dici gru дек",
];

static NUMBERS: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?-u:\b)(?:(\d{4})-(\d\d)-(\d\d)(?-u:\b)|(\d{4})年(\d{1,2})月(\d{1,2})日|(\d{1,2})\.(\d{1,2})\.(\d{4})(?-u:\b))";
    Regex::new(pattern).expect("a pattern of ours")
});

static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?-u:\b)(?:(\d{1,2})(?:st|nd|rd|th|er|\.|º)?\s+(?:of\s+|de\s+)?(\p{L}{3,})\.?,?\s+(?:de\s+)?(\d{4})|(\p{L}{3,})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4}))(?-u:\b)";
    Regex::new(pattern).expect("a pattern of ours")
});

/// The beginning of the day a text names, if it names one and no other.
pub(super) fn find(text: &str) -> Option<DateTime<Utc>> {
    // `1.2.3.2027` is no day.
    let is_part = |at: usize| text[..at].ends_with(|c: char| c == '.' || c.is_ascii_digit());
    let days = NUMBERS
        .captures_iter(text)
        .filter(|found| !found.get(0).is_some_and(|whole| is_part(whole.start())))
        .filter_map(|found| numbered(&found));
    let mut days: Vec<NaiveDate> =
        days.chain(NAMES.captures_iter(text).filter_map(|found| named(&found))).collect();
    days.dedup();
    match days.as_slice() {
        [day] => Some(day.and_time(NaiveTime::MIN).and_utc()),
        _ => None,
    }
}

fn numbered(found: &Captures<'_>) -> Option<NaiveDate> {
    let number = |at: usize| found.get(at)?.as_str().parse::<u32>().ok();
    let forms = [(1, 2, 3), (4, 5, 6), (9, 8, 7)];
    forms.into_iter().find_map(|(year, month, day)| {
        NaiveDate::from_ymd_opt(i32::try_from(number(year)?).ok()?, number(month)?, number(day)?)
    })
}

fn named(found: &Captures<'_>) -> Option<NaiveDate> {
    let text = |at: usize| found.get(at).map(|group| group.as_str());
    let (day, month, year) = (text(1).or(text(5))?, text(2).or(text(4))?, text(3).or(text(6))?);
    let month = month.to_lowercase();
    let is_it = |names: &str| names.split(' ').any(|name| month.starts_with(name));
    let place = MONTHS.iter().position(|names| is_it(names))?;
    NaiveDate::from_ymd_opt(year.parse().ok()?, u32::try_from(place).ok()? + 1, day.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_with_its_year_is_read_in_forms_that_mean_one_day() {
        for text in [
            "by 2027-03-05",
            "bis 05.03.2027.",
            "by 5 March 2027",
            "by March 5th, 2027",
            "am 5. März 2027",
            "avant le 5 mars 2027",
            "antes del 5 de marzo de 2027",
            "entro il 5 marzo 2027",
            "до 5 марта 2027",
            "2027年3月5日までに",
            "voor 5 maart 2027",
            "do 5 marca 2027",
        ] {
            let day = find(text).map(|time| time.to_rfc3339());
            assert_eq!(day.as_deref(), Some("2027-03-05T00:00:00+00:00"), "{text}");
        }
        for text in [
            "05/03/2027",
            "by Friday",
            "in March",
            "2027-13-45",
            "5 apples 2027",
            "2027-03-05 or 2027-03-06",
            "1.2.3.2027",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
