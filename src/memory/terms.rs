//! The terms by which a text is found lexically: English stems, words of other languages, pairs of characters
//! where a script has no blanks, and names, numbers and addresses both whole and by their parts.
//!
//! Stopwords are half of English and say nothing alone, so they are terms only of a text that has nothing else.
//! Three in a row are one term, though: by it a query of nothing but stopwords finds its words in longer texts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::text::fold_case;
use super::token::{Token, each_token, legible};
use super::word::{Script, by_script, ideographs, is_stopword, joined, pairs, stem, without_accents};

/// Which rule makes terms. It rises when a text gets other terms than before; a test below notices.
pub const TERMS_VERSION: i16 = 1;
/// The longest term in bytes; a longer word is cut and told apart by a checksum.
pub const TERM_BYTES: usize = 64;
/// How many different terms of one text are indexed: several times what prose of the greatest length has.
pub const MOST_TERMS: usize = 20_000;
/// How many terms of a query are looked up: the first ones, each of which costs a scan of its postings.
pub const MOST_QUERY_TERMS: usize = 64;

/// How many stopwords in a row make a term. Two would be 28 % more terms in chat, three are 9 % (measured).
const PHRASE_WORDS: usize = 3;

/// What one text is indexed under.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terms {
    /// Every term with how often it occurs.
    pub counts: BTreeMap<String, u16>,
    /// The length of the text in words, as BM25 counts it.
    pub length: u16,
}

/// The terms of a text that is stored, as if it read `[8 May 2023] Speaker: text`.
pub fn terms(content: &str, speaker: Option<&str>, observed_at: Option<DateTime<Utc>>) -> Terms {
    let content = legible(content);
    let mut terms = Terms::default();
    terms.add(&content, Stopwords::Drop);
    if terms.length == 0 {
        terms = Terms::default();
        terms.add(&content, Stopwords::Keep);
    }
    if let Some(speaker) = speaker {
        terms.add(&legible(speaker), Stopwords::Keep);
    }
    if let Some(day) = observed_at {
        terms.add(&day.format("%-d %B %Y").to_string(), Stopwords::Keep);
    }
    terms
}

/// The different terms of a query, in order of appearance: the first [`MOST_QUERY_TERMS`].
pub fn query_terms(query: &str) -> Vec<String> {
    let query = legible(query);
    let terms = list(&query, Stopwords::Drop);
    if terms.is_empty() { list(&query, Stopwords::Keep) } else { terms }
}

/// What becomes of stopwords.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopwords {
    Drop,
    Keep,
}

/// What a term stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// One word of the text.
    Word,
    /// The same word or words in another form.
    Form,
    /// What only a query without other words asks for: a row of stopwords, one character of several.
    Spare,
}

impl Terms {
    fn add(&mut self, text: &str, stopwords: Stopwords) {
        each_term(text, stopwords, |term, role| {
            self.length = self.length.saturating_add(u16::from(role == Role::Word));
            if let Some(count) = self.counts.get_mut(&*term) {
                *count = count.saturating_add(1);
            } else if self.counts.len() < MOST_TERMS {
                self.counts.insert(term.into_owned(), 1);
            }
        });
    }
}

fn list(query: &str, stopwords: Stopwords) -> Vec<String> {
    let mut terms = Vec::new();
    each_term(query, stopwords, |term, role| {
        let is_wanted = role != Role::Spare || stopwords == Stopwords::Keep;
        if is_wanted && terms.len() < MOST_QUERY_TERMS && !terms.iter().any(|known| *known == *term) {
            terms.push(term.into_owned());
        }
    });
    terms
}

/// Calls `found` with every term of a legible text.
fn each_term(text: &str, stopwords: Stopwords, mut found: impl FnMut(Cow<'_, str>, Role)) {
    let mut phrase = Vec::new();
    each_token(text, |token| {
        let (Token::Word(word) | Token::Compound(word)) = token;
        let word = fold_case(word);
        if matches!(token, Token::Compound(_)) {
            each_form(&joined(&word), Role::Form, &mut found);
        } else if !is_stopword(&word) {
            each_word(&word, &mut found);
        } else {
            if stopwords == Stopwords::Keep {
                each_word(&word, &mut found);
            }
            phrase.push(word.into_owned());
            if phrase.len() == PHRASE_WORDS {
                found(phrase.join(" ").into(), Role::Spare);
                phrase.remove(0);
            }
            return;
        }
        phrase.clear();
    });
}

/// A folded word, in which the script may change.
fn each_word(word: &str, found: &mut impl FnMut(Cow<'_, str>, Role)) {
    for (run, script) in by_script(word) {
        match script {
            Script::Spaced => each_form(run, Role::Word, found),
            Script::Unspaced => {
                pairs(run).for_each(|pair| found(pair.into(), Role::Word));
                ideographs(run).for_each(|character| found(character.into(), Role::Spare));
            }
        }
    }
}

/// A word as its stem, and as the stem of what it is without accents.
fn each_form(word: &str, role: Role, found: &mut impl FnMut(Cow<'_, str>, Role)) {
    if word.len() > TERM_BYTES {
        return found(cut(word).into(), role);
    }
    found(stem(word), role);
    if let Some(plain) = without_accents(word) {
        found(stem(&plain), Role::Form);
    }
}

/// A term of bounded length for a word that is too long for one.
fn cut(word: &str) -> String {
    let end = word.floor_char_boundary(TERM_BYTES - 9);
    format!("{}~{:08x}", &word[..end], crc32fast::hash(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether every term of the query is one of the text's.
    fn is_found(query: &str, text: &str) -> bool {
        let terms = terms(text, None, None);
        let query = query_terms(query);
        !query.is_empty() && query.iter().all(|term| terms.counts.contains_key(term))
    }

    proptest! {
        #[test]
        fn a_text_is_found_by_itself(text in "\\PC{0,60}|[a-zA-Z0-9 .:_/'+#-]{0,60}") {
            let terms = terms(&text, None, None);
            for term in query_terms(&text) {
                prop_assert!(terms.counts.contains_key(&term), "{}", term);
                prop_assert!(!term.is_empty() && term.len() <= TERM_BYTES);
            }
        }

        #[test]
        fn terms_do_not_depend_on_the_spelling(text in "[a-zà-öα-ωあ-ん0-9 .-]{0,60}") {
            let decomposed: String = unicode_normalization::UnicodeNormalization::nfd(&*text).collect();
            prop_assert_eq!(terms(&decomposed, None, None), terms(&text, None, None));
        }

        #[test]
        fn a_part_of_text_without_blanks_is_found(text in "[一-丯あ-んก-ฮ]{2,20}", at: usize) {
            let chars: Vec<char> = text.chars().collect();
            let start = at % (chars.len() - 1);
            for end in start + 2..=chars.len() {
                let part: String = chars[start..end].iter().collect();
                prop_assert!(is_found(&part, &text), "{}", part);
            }
        }
    }

    /// If this fails and the change is wanted, raise [`TERMS_VERSION`]: stored records have the terms of the old rule.
    #[test]
    fn the_rule_is_that_of_its_version() {
        let texts = [
            "Caroline's INV-4471 isn't paid: see C:\\repo\\src\\main.py, v1.2 or bob@example.com. To be or not to be.",
            "C++, C#, .NET 8 and 100% of snakeCase at 192.168.7.1 on 2023-05-08",
            "回复请中文优先 Ｃｌｏｕｄｆｌａｒｅ のキー更新は毎月一日 ขอบคุณมาก 서울에서 만나요",
            "Lunch at café Zürich; Straße, ΟΔΟΣ, İzmir, مرحبا بالعالم, Привет, мир",
        ];
        let made: Vec<_> =
            texts.iter().map(|text| terms(text, Some("Bob"), DateTime::from_timestamp(0, 0))).collect();
        let checksum = crc32fast::hash(format!("{made:?}").as_bytes());
        assert_eq!((TERMS_VERSION, checksum), (1, 1_737_088_851));
    }

    #[test]
    fn words_are_found_in_their_other_forms() {
        for (query, text) in [
            ("Who is running?", "She runs every day"),
            ("cafe\u{301} Zu\u{308}rich", "Lunch at caf\u{e9} Z\u{fc}rich"),
            ("cafe zurich", "Lunch at café Zürich"),
            ("CLOUDFLARE キー更新", "Ｃｌｏｕｄｆｌａｒｅ のキー更新は毎月一日"),
            ("中文", "回复请中文优先"),
            ("猫", "我的猫叫咪咪"),
            ("서울", "서울에서 만나요"),
            ("email", "Send an e-mail"),
            ("snake_case", "a snakeCase variable"),
            ("obrien", "it's O’Brien & co"),
            ("Caroline", "That is Caroline’s book"),
            ("4471", "INV-4471 is paid"),
            ("inv-4471", "invoice INV-4471"),
            ("main.py", r"see C:\repo\src\main.py"),
            (r"c:\repo\src\main.py", r"see C:\repo\src\main.py:"),
            ("example.com", "write to Bob@Example.com."),
            ("team:foo", "scope team:foo is new"),
            ("100%", "sure, 100%"),
            ("password", "pass\u{200b}wo\u{ad}rd"),
        ] {
            assert!(is_found(query, text), "{query} in {text}: {:?}", terms(text, None, None));
        }
    }

    #[test]
    fn names_that_differ_are_not_found() {
        for (query, text) in [
            ("C", "C++ build flags"),
            ("C++", "C# style guide"),
            ("C#", "C compiler on ARM"),
            ("v1.2", "v1.3 and 2"),
            ("192.168.9.1", "192.168.7.1 and port 9"),
            ("多租户", "回复请中文优先"),
            ("<->", "<->"),
        ] {
            assert!(!is_found(query, text), "{query} in {text}");
        }
    }

    #[test]
    fn stopwords_count_when_there_is_nothing_else() {
        assert!(is_found("to be or not to be", "To be, or not to be"));
        assert!(is_found("it", "It is"));
        assert!(
            terms("To be, or not to be: that is the question", None, None).counts.contains_key("or not to")
        );
        assert!(query_terms("Who is it?").contains(&"who is it".to_owned()));
        assert!(!query_terms("Who is it, Bob?").contains(&"who is it".to_owned()));
        assert_eq!(query_terms("Who is Bob?"), ["bob"]);
    }

    #[test]
    fn any_text_of_the_greatest_length_stays_within_bounds() {
        const MOST_BYTES: usize = 64 * 1024;
        let repeated = ["a", "ä", "aB", "a.", "a/", ".-", "a'", "b ", "x.B/", "猫", "の", "e\u{301}", "A1 "];
        let texts = repeated.map(|part| part.repeat(MOST_BYTES / part.len()));
        let han: String = ('一'..='龥').take(MOST_BYTES / 3).collect();
        let numbers = (0..12_000).fold(String::new(), |text, i| text + &i.to_string() + ".");
        for text in texts.iter().chain([&han, &numbers]) {
            let terms = terms(text, None, None);
            assert!(terms.counts.len() <= MOST_TERMS);
            assert!(terms.counts.keys().all(|term| term.len() <= TERM_BYTES));
            let found: usize = terms.counts.values().map(|&n| usize::from(n)).sum();
            assert!(found <= 2 * text.len(), "{found} terms of {} bytes", text.len());
            assert!(query_terms(text).len() <= MOST_QUERY_TERMS);
        }
    }

    #[test]
    fn a_long_word_is_told_from_one_with_the_same_beginning() {
        let long = "x".repeat(50_000);
        assert!(is_found(&long, &format!("see {long}.")));
        assert!(!is_found(&format!("{long}y"), &long));
    }

    #[test]
    fn the_length_is_in_words() {
        let length = |text| terms(text, None, None).length;
        assert_eq!(length("The green INV-4471, see main.py"), 6);
        assert_eq!(length("It is what it is"), 5);
        assert_eq!(length("Zürich"), 1);
        assert_eq!(length("中文优先"), 3);
    }

    #[test]
    fn day_and_speaker_are_terms() {
        let at = DateTime::from_timestamp(1_683_554_160, 0);
        let terms = terms("It is.", Some("Will"), at);
        let found: Vec<&str> = terms.counts.keys().map(String::as_str).collect();
        assert_eq!(found, ["2023", "8", "is", "it", "may", "will"]);
    }
}
