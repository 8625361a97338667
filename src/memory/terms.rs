//! The terms by which a text is found lexically: English stems, words of other languages, pairs of characters
//! where a script has no blanks, and names, numbers and addresses both whole and by their parts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::text::fold_case;
use super::token::{Token, each_token, legible};
use super::word::{Script, by_script, is_stopword, script, stem, without_accents};

/// The longest term in bytes; a longer word is cut and told apart by a checksum.
pub const TERM_BYTES: usize = 64;
/// How many different terms of one text are indexed: several times what prose of the greatest length has.
pub const MOST_TERMS: usize = 20_000;
/// How many terms of a query are looked up: the first ones, each of which costs a scan of its postings.
pub const MOST_QUERY_TERMS: usize = 64;

/// What one text is indexed under.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terms {
    /// Every term with how often it occurs.
    pub counts: BTreeMap<String, u16>,
    /// The length of the text in words, as BM25 counts it.
    pub length: u16,
}

/// The terms of a text that is stored. English stopwords are left out unless there is nothing else.
pub fn terms(text: &str) -> Terms {
    let text = legible(text);
    let mut terms = count(&text, Stopwords::Drop);
    if terms.counts.is_empty() {
        terms = count(&text, Stopwords::Keep);
    }
    terms
}

/// The different terms of a query, in order of appearance: the first [`MOST_QUERY_TERMS`].
///
/// As in [`terms`], stopwords count only where there is nothing else.
pub fn query_terms(text: &str) -> Vec<String> {
    let text = legible(text);
    let mut terms = list(&text, Stopwords::Drop);
    if terms.is_empty() {
        terms = list(&text, Stopwords::Keep);
    }
    terms
}

/// What becomes of stopwords.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopwords {
    Drop,
    Keep,
}

/// Whether a term stands for a word of its own or repeats one in another form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Word,
    Form,
}

fn count(text: &str, stopwords: Stopwords) -> Terms {
    let mut terms = Terms::default();
    each_term(text, stopwords, |term, role| {
        terms.length = terms.length.saturating_add(u16::from(role == Role::Word));
        if let Some(count) = terms.counts.get_mut(&*term) {
            *count = count.saturating_add(1);
        } else if terms.counts.len() < MOST_TERMS {
            terms.counts.insert(term.into_owned(), 1);
        }
    });
    terms
}

fn list(text: &str, stopwords: Stopwords) -> Vec<String> {
    let mut terms = Vec::new();
    each_term(text, stopwords, |term, _| {
        if terms.len() < MOST_QUERY_TERMS && !terms.iter().any(|known| *known == *term) {
            terms.push(term.into_owned());
        }
    });
    terms
}

/// Calls `found` with every term of a legible text.
fn each_term(text: &str, stopwords: Stopwords, mut found: impl FnMut(Cow<'_, str>, Role)) {
    each_token(text, |token| match token {
        Token::Word(word) => {
            let word = fold_case(word);
            for (run, script) in by_script(&word) {
                match script {
                    Script::Spaced if stopwords == Stopwords::Drop && is_stopword(run) => {}
                    Script::Spaced => each_form(run, Role::Word, &mut found),
                    Script::Han | Script::Unspaced => each_pair(run, &mut found),
                }
            }
        }
        Token::Compound(whole) => each_form(&joined(&fold_case(whole)), Role::Form, &mut found),
    });
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

/// Text without blanks as overlapping pairs of characters, so that every part of it is found; Han characters
/// alone, too.
fn each_pair(run: &str, found: &mut impl FnMut(Cow<'_, str>, Role)) {
    let mut chars = run.char_indices().peekable();
    let mut before = None;
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        if let Some(before) = before {
            found(run[before..end].into(), Role::Word);
        }
        let is_alone = before.is_none() && chars.peek().is_none();
        if is_alone || script(c) == Script::Han {
            found(run[at..end].into(), if is_alone { Role::Word } else { Role::Form });
        }
        before = Some(at);
    }
}

/// A compound without the joints that people also leave out: `e-mail` is `email`, `snake_case` is `snakeCase`.
fn joined(whole: &str) -> String {
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

/// A term of bounded length for a word that is too long for one.
fn cut(word: &str) -> String {
    let end = (0..=TERM_BYTES - 9).rev().find(|&end| word.is_char_boundary(end)).unwrap_or(0);
    format!("{}~{:08x}", &word[..end], crc32fast::hash(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether every term of the query is one of the text's.
    fn is_found(query: &str, text: &str) -> bool {
        let terms = terms(text);
        let query = query_terms(query);
        !query.is_empty() && query.iter().all(|term| terms.counts.contains_key(term))
    }

    proptest! {
        #[test]
        fn a_text_is_found_by_itself(text in "\\PC{0,60}|[a-zA-Z0-9 .:_/'+#-]{0,60}") {
            let terms = terms(&text);
            for term in query_terms(&text) {
                prop_assert!(terms.counts.contains_key(&term), "{}", term);
                prop_assert!(!term.is_empty() && term.len() <= TERM_BYTES);
            }
        }

        #[test]
        fn terms_do_not_depend_on_the_spelling(text in "[a-zà-öα-ωあ-ん0-9 .-]{0,60}") {
            let decomposed: String = unicode_normalization::UnicodeNormalization::nfd(&*text).collect();
            prop_assert_eq!(terms(&decomposed), terms(&text));
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
            assert!(is_found(query, text), "{query} in {text}: {:?}", terms(text));
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
        assert!(is_found("Who is it?", "who is it"));
        assert_eq!(query_terms("Who is Bob?"), ["bob"]);
    }

    #[test]
    fn any_text_of_the_greatest_length_stays_within_bounds() {
        const MOST_BYTES: usize = 64 * 1024;
        let repeated = ["a", "ä", "aB", "a.", "a/", ".-", "a'", "b ", "x.B/", "猫", "の", "e\u{301}", "A1 "];
        let texts = repeated.map(|part| part.repeat(MOST_BYTES / part.len()));
        let han: String = ('一'..='龥').take(MOST_BYTES / 3).collect();
        let numbers: String = (0..12_000).map(|i| format!("{i}.")).collect();
        for text in texts.iter().chain([&han, &numbers]) {
            let terms = terms(text);
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
        assert_eq!(terms("The green INV-4471, see main.py").length, 6);
        assert_eq!(terms("Zürich").length, 1);
    }
}
