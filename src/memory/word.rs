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

/// A compound without the joints that people also leave out: `e-mail` is `email`, `snake_case` is `snakeCase`.
pub(super) fn joined(whole: &str) -> String {
    let mut joined = String::with_capacity(whole.len());
    let mut chars = whole.chars().peekable();
    while let Some(c) = chars.next() {
        let in_number =
            joined.ends_with(|c: char| c.is_ascii_digit()) && chars.peek().is_some_and(char::is_ascii_digit);
        if in_number || !matches!(c, '-' | '_' | '\'') {
            joined.push(c);
        }
    }
    joined
}

/// Whether blanks stand between the words of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// They do.
    Spaced,
    /// They do not, or (in Korean) only around words with all their endings.
    Unspaced,
}

/// Cuts a word where its script changes: `cloudflareのキー` into `cloudflare` and `のキー`.
pub(super) fn by_script(word: &str) -> impl Iterator<Item = (&str, Script)> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let first = script(rest.chars().next()?);
        let end = rest.find(|c| script(c) != first).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        Some((run, first))
    })
}

/// The overlapping pairs of characters of a run, by which every part of it is found; a lone character itself.
pub(super) fn pairs(run: &str) -> impl Iterator<Item = &str> {
    let starts = run.char_indices().map(|(at, _)| at);
    let ends = run.char_indices().map(|(at, c)| at + c.len_utf8());
    let is_pair = run.chars().nth(1).is_some();
    starts.zip(ends.skip(usize::from(is_pair))).map(|(start, end)| &run[start..end])
}

/// The Chinese characters of a run of several, each of which is often a word.
pub(super) fn ideographs(run: &str) -> impl Iterator<Item = &str> {
    let is_pair = run.chars().nth(1).is_some();
    run.char_indices()
        .filter(move |&(_, c)| is_pair && is_ideograph(c))
        .map(|(at, c)| &run[at..at + c.len_utf8()])
}

fn script(c: char) -> Script {
    let is_unspaced = c > '\u{dff}'
        && (is_ideograph(c)
            || matches!(c,
                '\u{e00}'..='\u{eff}' // Thai, Lao
                | '\u{1000}'..='\u{109f}' | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}' // Myanmar
                | '\u{1780}'..='\u{17ff}' | '\u{19e0}'..='\u{19ff}' // Khmer
                | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' // Kana
                | '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7af}')); // Hangul
    if is_unspaced { Script::Unspaced } else { Script::Spaced }
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
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

    #[test]
    fn text_without_blanks_is_cut_into_pairs() {
        assert_eq!(pairs("のキー").collect::<Vec<_>>(), ["のキ", "キー"]);
        assert_eq!(pairs("猫").collect::<Vec<_>>(), ["猫"]);
        assert_eq!(ideographs("黒い猫").collect::<Vec<_>>(), ["黒", "猫"]);
        assert_eq!(ideographs("猫").count(), 0);
    }

    #[test]
    fn joints_are_left_out_except_in_numbers() {
        assert_eq!(joined("inv-4471"), "inv4471");
        assert_eq!(joined("2023-05-08"), "2023-05-08");
        assert_eq!(joined("o'brien@a_b.com"), "obrien@ab.com");
    }
}
