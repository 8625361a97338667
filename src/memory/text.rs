//! Text as it is compared and as it is searched.

use std::borrow::Cow;

use serde_json::{Map, Value};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// The form in which texts and keys are compared: NFKC, case folded, white space collapsed and trimmed.
///
/// It is the same for every spelling that a reader takes for one text, and normal forms are unchanged by it.
pub fn normal_form(text: &str) -> String {
    let mut form = normal_step(text);
    // Folding can undo NFKC and the reverse, in rare letters only; more than one more round was never needed.
    while !form.is_ascii() {
        let next = normal_step(&form);
        if next == form {
            break;
        }
        form = next;
    }
    form
}

/// Whether nothing is left after removing white space and characters of no width.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_ignorable(c))
}

/// Whether a name or a text in an object holds U+0000, which Postgres cannot store in JSON.
pub fn holds_nul(members: &Map<String, Value>) -> bool {
    fn in_value(value: &Value) -> bool {
        match value {
            Value::String(text) => text.contains('\0'),
            Value::Array(values) => values.iter().any(in_value),
            Value::Object(members) => holds_nul(members),
            _ => false,
        }
    }
    members.iter().any(|(name, value)| name.contains('\0') || in_value(value))
}

/// Folds the case of one text: what differs only in case becomes equal.
///
/// Greek final sigma is a sigma and `ß` is `ss`. A dotted capital I of Turkish is an `i`; a dotless `ı` stays
/// itself, because in Turkish it is another letter.
pub(super) fn fold_case(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) {
        return Cow::Borrowed(text);
    }
    if text.is_ascii() {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'ı' => folded.push(c),
            'İ' => folded.push('i'),
            '\u{307}' if folded.ends_with('i') => {}
            _ if c.is_ascii() => folded.push(c.to_ascii_lowercase()),
            // By way of the capitals, because only they tell that ß is ss and that both small sigmas are one.
            _ => folded.extend(c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase)),
        }
    }
    Cow::Owned(folded)
}

fn normal_step(text: &str) -> String {
    let is_composed = is_nfkc_quick(text.chars()) == IsNormalized::Yes;
    let composed = if is_composed { Cow::Borrowed(text) } else { Cow::Owned(text.nfkc().collect()) };
    let folded = fold_case(&composed);
    let mut collapsed = String::with_capacity(folded.len());
    for word in folded.split_whitespace() {
        if !collapsed.is_empty() {
            collapsed.push(' ');
        }
        collapsed.push_str(word);
    }
    collapsed
}

/// Unicode's default-ignorable characters: joiners, fillers, marks of direction, variation selectors, tags.
pub(super) fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn normal_forms_stay_as_they_are(text in "\\PC{0,40}|[\\s\\pL\\pM]{0,40}") {
            let form = normal_form(&text);
            prop_assert_eq!(normal_form(&form), form);
        }

        #[test]
        fn case_and_white_space_do_not_count(words in proptest::collection::vec("[a-zäöüσ]{1,8}", 1..6)) {
            let plain = words.join(" ");
            let spread = format!("\t{}\u{3000}", words.join(" \u{a0}\n").to_uppercase());
            prop_assert_eq!(normal_form(&spread), normal_form(&plain));
        }
    }

    #[test]
    fn every_character_has_a_stable_normal_form() {
        // All but the ideographs and syllables, which have no case.
        let blocks =
            ['\0'..='\u{33ff}', '\u{a000}'..='\u{abff}', '\u{f900}'..='\u{10fff}', '\u{1d400}'..='\u{1f2ff}'];
        for c in blocks.into_iter().flatten() {
            for text in [c.to_string(), format!("i{c}\u{307}\u{345}")] {
                let form = normal_form(&text);
                assert_eq!(normal_form(&form), form, "{c:?} in {text:?}");
            }
        }
    }

    #[test]
    fn spellings_of_one_text_meet() {
        for (one, other) in [
            ("Lunch at caf\u{e9} Z\u{fc}rich", "lunch  at cafe\u{301} Zu\u{308}rich "),
            ("ΟΔΟΣ", "οδος"),
            ("οδός", "ΟΔΌΣ"),
            ("Straße", "STRASSE"),
            ("STRAẞE", "strasse"),
            ("İzmir", "izmir"),
            ("I\u{307}zmir", "i\u{307}zmir"),
            ("Ｃｌｏｕｄ ﬁle", "cloud file"),
            ("ｶﾞ", "ガ"),
        ] {
            assert_eq!(normal_form(one), normal_form(other), "{one} and {other}");
        }
    }

    #[test]
    fn what_differs_stays_apart() {
        for (one, other) in [
            ("sıkıldım", "sikildim"),
            ("v1.2", "v1.3"),
            ("schön", "schon"),
            ("is not", "isnot"),
            ("が", "か"),
        ] {
            assert_ne!(normal_form(one), normal_form(other));
        }
    }

    #[test]
    fn blank_is_white_space_and_no_width() {
        for text in ["", " \t\r\n", "\u{200b}\u{feff}\u{3000}", "\u{2060}\u{ad}\u{e0041}"] {
            assert!(is_blank(text), "{text:?}");
        }
        for text in ["a", ".", " \u{301}", "👍\u{fe0f}"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }
}
