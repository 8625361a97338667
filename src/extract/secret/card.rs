//! Numbers of payment cards: an issuer's prefix, a length it uses, groups as they are printed, and a check digit that
//! is right. Pure.

use std::sync::LazyLock;

use regex::Regex;

use super::{Secret, SecretKind};

static DIGITS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[0-9]{3,}(?:[ \u{a0}\u{2009}\u{202f}‐‑–-]?[0-9]{3,})*").expect("a pattern of ours")
});

/// Issuers: the first and the last prefix, and how many digits their numbers have at least and at most.
const ISSUERS: &[(&str, &str, usize, usize)] = &[
    ("34", "34", 15, 15),
    ("37", "37", 15, 15),
    ("300", "305", 14, 14),
    ("36", "36", 14, 14),
    ("38", "39", 14, 14),
    ("3528", "3589", 16, 19),
    ("4", "4", 13, 13),
    ("4", "4", 16, 16),
    ("4", "4", 19, 19),
    ("51", "55", 16, 16),
    ("2221", "2720", 16, 16),
    ("5018", "5020", 16, 19),
    ("6304", "6304", 16, 19),
    ("6759", "6763", 16, 19),
    ("6011", "6011", 16, 19),
    ("62", "62", 16, 19),
    ("644", "659", 16, 19),
    ("81", "81", 16, 19),
];

pub(super) fn find(text: &str) -> impl Iterator<Item = Secret> + '_ {
    DIGITS.find_iter(text).filter_map(|found| {
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        let before = text[..found.start()].chars().next_back();
        let after = text[found.end()..].chars().next();
        // `0.4111…`, `-4111…` and `#4111…` are other numbers than cards.
        let is_alone = !is_part(before) && !is_part(after) && !matches!(before, Some('.' | '-' | '#'));
        let digits: Vec<u32> = found.as_str().chars().filter_map(|c| c.to_digit(10)).collect();
        (is_alone && is_issued(&digits) && is_printed(found.as_str()) && has_check_digit(&digits))
            .then(|| Secret { range: found.range(), kind: SecretKind::CardNumber })
    })
}

fn is_issued(digits: &[u32]) -> bool {
    let number: String = digits.iter().take(4).filter_map(|digit| char::from_digit(*digit, 10)).collect();
    ISSUERS.iter().any(|(first, last, least, most)| {
        let prefix = number.get(..first.len());
        prefix.is_some_and(|prefix| (*first..=*last).contains(&prefix))
            && (*least..=*most).contains(&digits.len())
    })
}

/// In one run, in fours (the last group may be shorter), or as American Express and Diners print them.
fn is_printed(number: &str) -> bool {
    let groups: Vec<usize> = number.split(|c: char| !c.is_ascii_digit()).map(str::len).collect();
    match groups.as_slice() {
        [_] | [4, 6, 4 | 5] => true,
        [fours @ .., last] => fours.iter().all(|group| *group == 4) && *last <= 4,
        [] => false,
    }
}

/// Luhn's check; a number of one digit repeated is nobody's.
fn has_check_digit(digits: &[u32]) -> bool {
    let doubled = |digit: u32| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| if place % 2 == 1 { doubled(*digit) } else { *digit })
        .sum();
    sum.is_multiple_of(10) && digits.iter().any(|digit| *digit != digits[0])
}
