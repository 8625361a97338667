//! From a word to its terms: stems, forms without accents, pairs of characters, stopwords.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;

/// English words that say nothing about what a text is about.
static STOPWORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "a about above after again against all am an and any are as at be because been before being below \
     between both but by can cannot could did do does doing down during each few for from further had has \
     have having he her here hers herself him himself his how i if in into is it its itself just me more \
     most my myself no nor not now of off on once only or other our ours ourselves out over own same she \
     should so some such than that the their theirs them themselves then there these they this those \
     through to too under until up very was we were what when where which while who whom why will with \
     would you your yours yourself yourselves"
        .split(' ')
        .collect()
});

/// Whether a folded word is an English stopword.
pub(super) fn is_stopword(word: &str) -> bool {
    word.ends_with("n't") || STOPWORDS.contains(word)
}

/// The stem of a folded word by the rules of English; other languages keep their words, mostly.
pub(super) fn stem(word: &str) -> Cow<'_, str> {
    Stemmer::create(Algorithm::English).stem(word)
}

/// A folded word without its accents, if that is another word: `zürich` is also written `zurich`.
pub(super) fn without_accents(word: &str) -> Option<String> {
    if word.is_ascii() {
        return None;
    }
    let mut plain = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            'ı' => plain.push('i'),
            'ø' => plain.push('o'),
            'ł' => plain.push('l'),
            'đ' | 'ð' => plain.push('d'),
            'æ' => plain.push_str("ae"),
            'œ' => plain.push_str("oe"),
            'й' => plain.push(c), // a letter of its own, not an accented и
            _ if c.is_ascii() => plain.push(c),
            _ => plain.extend(std::iter::once(c).nfd().filter(|c| !is_accent(*c)).nfc()),
        }
    }
    (plain != word && !plain.is_empty()).then_some(plain)
}

/// Marks that are often left out in writing: Latin and Greek accents, Hebrew points, Arabic vowels.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{5bf}'..='\u{5c7}' | '\u{640}'
        | '\u{64b}'..='\u{65f}' | '\u{670}')
}

/// How a stretch of text shows where its words end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// By blanks.
    Spaced,
    /// Not at all, or (Korean) only around words with their endings.
    Unspaced,
    /// Not at all, and a single character is often a word.
    Han,
}

/// Cuts a word where its script changes: `cloudflareのキー` into `cloudflare` and `のキー`.
pub(super) fn by_script(word: &str) -> impl Iterator<Item = (&str, Script)> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let is_spaced = script(rest.chars().next()?) == Script::Spaced;
        let end = rest.find(|c| (script(c) == Script::Spaced) != is_spaced).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        Some((run, if is_spaced { Script::Spaced } else { Script::Unspaced }))
    })
}

/// The script of one character.
pub(super) fn script(c: char) -> Script {
    match c {
        '\u{3005}'..='\u{3007}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => Script::Han,
        // Thai, Lao, Myanmar, Khmer; kana; Hangul.
        '\u{e00}'..='\u{eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{19e0}'..='\u{19ff}'
        | '\u{3040}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{a9e0}'..='\u{a9ff}'
        | '\u{aa60}'..='\u{aa7f}'
        | '\u{1100}'..='\u{11ff}'
        | '\u{3130}'..='\u{318f}'
        | '\u{ac00}'..='\u{d7af}' => Script::Unspaced,
        _ => Script::Spaced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_are_left_out_as_people_do() {
        for (word, plain) in [
            ("zürich", "zurich"),
            ("łódź", "lodz"),
            ("øresund", "oresund"),
            ("sœur", "soeur"),
            ("işık", "isik"),
            ("ёлка", "елка"),
            ("αθήνα", "αθηνα"),
            ("שָׁלוֹם", "שלום"),
            ("مُحَمَّد", "محمد"),
        ] {
            assert_eq!(without_accents(word).as_deref(), Some(plain));
        }
        for word in ["zurich", "мой", "が", "हिन्दी", "ไทย", "한국"] {
            assert_eq!(without_accents(word), None, "{word}");
        }
    }

    #[test]
    fn a_word_is_cut_where_its_script_changes() {
        let runs: Vec<_> = by_script("cloudflareのキー2更新").map(|(run, _)| run).collect();
        assert_eq!(runs, ["cloudflare", "のキー", "2", "更新"]);
    }
}
