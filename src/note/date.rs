//! Pure: the absolute date that a note begins with.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

/// Months by the beginnings of their names, in English, German, French, Spanish, Italian, Portuguese and Dutch; the
/// longer ones first where one begins another.
const MONTHS: &[(&str, u32)] = &[
    ("january", 1),
    ("januar", 1),
    ("januari", 1),
    ("janvier", 1),
    ("enero", 1),
    ("gennaio", 1),
    ("janeiro", 1),
    ("jan", 1),
    ("february", 2),
    ("februar", 2),
    ("februari", 2),
    ("février", 2),
    ("febrero", 2),
    ("febbraio", 2),
    ("fevereiro", 2),
    ("feb", 2),
    ("march", 3),
    ("märz", 3),
    ("maart", 3),
    ("mars", 3),
    ("marzo", 3),
    ("março", 3),
    ("mar", 3),
    ("april", 4),
    ("avril", 4),
    ("abril", 4),
    ("aprile", 4),
    ("apr", 4),
    ("may", 5),
    ("mai", 5),
    ("mei", 5),
    ("mayo", 5),
    ("maggio", 5),
    ("maio", 5),
    ("june", 6),
    ("juni", 6),
    ("juin", 6),
    ("junio", 6),
    ("giugno", 6),
    ("junho", 6),
    ("jun", 6),
    ("july", 7),
    ("juli", 7),
    ("juillet", 7),
    ("julio", 7),
    ("luglio", 7),
    ("julho", 7),
    ("jul", 7),
    ("august", 8),
    ("augustus", 8),
    ("août", 8),
    ("agosto", 8),
    ("aug", 8),
    ("september", 9),
    ("septembre", 9),
    ("septiembre", 9),
    ("settembre", 9),
    ("setembro", 9),
    ("sept", 9),
    ("sep", 9),
    ("october", 10),
    ("oktober", 10),
    ("octobre", 10),
    ("octubre", 10),
    ("ottobre", 10),
    ("outubro", 10),
    ("oct", 10),
    ("okt", 10),
    ("november", 11),
    ("novembre", 11),
    ("noviembre", 11),
    ("novembro", 11),
    ("nov", 11),
    ("december", 12),
    ("dezember", 12),
    ("décembre", 12),
    ("diciembre", 12),
    ("dicembre", 12),
    ("dezembro", 12),
    ("dec", 12),
    ("dez", 12),
];

/// The years that are taken for years.
const YEARS: std::ops::RangeInclusive<i32> = 1900..=2199;

/// The date at the beginning of a note, also in brackets, and the text after it and what joins them.
pub fn leading(text: &str) -> Option<(DateTime<Utc>, &str)> {
    let inner = text.trim_start();
    let (open, rest) = match inner.chars().next()? {
        '[' => (Some(']'), &inner[1..]),
        '(' => (Some(')'), &inner[1..]),
        _ => (None, inner),
    };
    let (date, rest) = date(rest.trim_start())?;
    let (time, rest) = time(rest).unwrap_or((NaiveTime::MIN, rest));
    let rest = match open {
        Some(close) => rest.trim_start().strip_prefix(close)?,
        None if rest.starts_with(char::is_alphanumeric) => return None,
        None => rest,
    };
    let joints = |c: char| c.is_whitespace() || "-–—:,|".contains(c);
    Some((date.and_time(time).and_utc(), rest.trim_start_matches(joints)))
}

/// The time that a text is, as exports write it: a date, perhaps with a time of day.
pub fn whole(text: &str) -> Option<DateTime<Utc>> {
    let text = text.trim();
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.with_timezone(&Utc));
    }
    leading(text).filter(|(_, rest)| rest.is_empty()).map(|(time, _)| time)
}

/// Whether a text begins with the name of a month.
pub fn is_month(text: &str) -> bool {
    month(text).is_some()
}

fn date(text: &str) -> Option<(NaiveDate, &str)> {
    numeric(text).or_else(|| month_first(text)).or_else(|| day_first(text))
}

/// `2024-05-01` with any of `-`, `/` and `.`, and `01.05.2024`.
fn numeric(text: &str) -> Option<(NaiveDate, &str)> {
    let (first, rest) = number(text)?;
    let separator = rest.chars().next().filter(|c| "-/.".contains(*c))?;
    let (second, rest) = number(&rest[1..])?;
    let (third, rest) = number(rest.strip_prefix(separator)?)?;
    let (year, month, day) = match (first.len(), third.len()) {
        (4, 1 | 2) => (first, second, third),
        // With dashes and slashes it may be a month first.
        (1 | 2, 4) if separator == '.' => (third, second, first),
        _ => return None,
    };
    Some((made(year.parse().ok()?, month.parse().ok()?, day)?, rest))
}

/// `May 1, 2024`.
fn month_first(text: &str) -> Option<(NaiveDate, &str)> {
    let (month, rest) = month(text)?;
    let (day, rest) = number(rest.trim_start_matches('.').trim_start())?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let (year, rest) = number(rest.trim_start_matches(',').trim_start())?;
    Some((made(year.parse().ok()?, month, day)?, rest))
}

/// `1 May 2024`, `1. Mai 2024`.
fn day_first(text: &str) -> Option<(NaiveDate, &str)> {
    let (day, rest) = number(text)?;
    let (month, rest) = month(rest.trim_start_matches('.').trim_start())?;
    let (year, rest) = number(rest.trim_start_matches(['.', ',']).trim_start())?;
    Some((made(year.parse().ok()?, month, day)?, rest))
}

fn made(year: i32, month: u32, day: &str) -> Option<NaiveDate> {
    if YEARS.contains(&year) { NaiveDate::from_ymd_opt(year, month, day.parse().ok()?) } else { None }
}

fn number(text: &str) -> Option<(&str, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (1..=4).contains(&length).then(|| text.split_at(length))
}

fn month(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    let word = text[..end].to_lowercase();
    MONTHS.iter().find(|(name, _)| *name == word).map(|(_, month)| (*month, &text[end..]))
}

/// ` 14:03`, `T14:03:05Z`, `, 14:03`.
fn time(text: &str) -> Option<(NaiveTime, &str)> {
    let rest = text.strip_prefix(',').unwrap_or(text);
    let rest = rest.strip_prefix('T').unwrap_or_else(|| rest.trim_start());
    let (hour, rest) = number(rest)?;
    let (minute, rest) = number(rest.strip_prefix(':')?)?;
    let seconds = rest.strip_prefix(':').and_then(number);
    let (second, rest) = seconds.unwrap_or(("0", rest));
    let is_short = [hour, minute, second].iter().all(|part| part.len() <= 2);
    let time = NaiveTime::from_hms_opt(hour.parse().ok()?, minute.parse().ok()?, second.parse().ok()?)?;
    let rest = rest.strip_prefix('.').and_then(number).map_or(rest, |(_, rest)| rest);
    is_short.then(|| (time, rest.strip_prefix('Z').unwrap_or(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_dates_at_the_beginning_are_read_and_what_follows_is_told() {
        for (text, day, rest) in [
            ("[2024-05-01] - likes tea", "2024-05-01T00:00:00Z", "likes tea"),
            ("2024-05-01: likes tea", "2024-05-01T00:00:00Z", "likes tea"),
            ("2024/5/1 likes tea", "2024-05-01T00:00:00Z", "likes tea"),
            ("(1 May 2024) likes tea", "2024-05-01T00:00:00Z", "likes tea"),
            ("May 1st, 2024 – likes tea", "2024-05-01T00:00:00Z", "likes tea"),
            ("1. Mai 2024: mag Tee", "2024-05-01T00:00:00Z", "mag Tee"),
            ("01.05.2024 mag Tee", "2024-05-01T00:00:00Z", "mag Tee"),
            ("[2024-05-01 14:03] tea", "2024-05-01T14:03:00Z", "tea"),
            ("2024-05-01T14:03:05Z tea", "2024-05-01T14:03:05Z", "tea"),
        ] {
            let (time, left) = leading(text).expect(text);
            assert_eq!((time.to_rfc3339_opts(chrono::SecondsFormat::Secs, true).as_str(), left), (day, rest));
        }
    }

    #[test]
    fn what_is_no_whole_date_is_none() {
        for text in [
            "",
            "likes tea",
            "[2024-05-01 likes tea",
            "2024-13-01 x",
            "2024-02-30 x",
            "05/06/2024 x",
            "2024 was good",
            "May I come in",
            "1.2.3 is out",
            "[unknown] - x",
            "0001-01-01 x",
            "2024-05-011",
            "é",
            "[",
            "1 May be",
        ] {
            assert!(leading(text).is_none(), "{text}");
        }
        assert!(whole("2024-05-01 tea").is_none());
        assert!(whole("2024-05-01T10:00:00+02:00").is_some());
    }
}
