//! Cutting a text into words, and identifiers, paths and addresses into their parts.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::text::is_ignorable;

/// A piece of a text that can be searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// One word, number or part of something larger.
    Word(&'a str),
    /// Something made of several words, such as `main.py`, `bob@example.com` or `camelCase`.
    Compound(&'a str),
}

/// Longer words are not taken apart by their capitals: they are encoded bytes, not identifiers.
const IDENTIFIER_BYTES: usize = 64;
/// The same reason, for shorter words with a capital every other letter.
const MOST_HUMPS: usize = 6;

/// NFKC without characters of no width, which hide inside words and from readers; one apostrophe, one hyphen.
pub(super) fn legible(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let plain = |c| match c {
        '\u{2019}' | '\u{2bc}' => '\'',
        '\u{2010}' | '\u{2011}' => '-',
        c => c,
    };
    Cow::Owned(text.nfkc().filter(|&c| !is_ignorable(c)).map(plain).collect())
}

/// Calls `found` with every token of a legible text, in order; the parts of a compound follow it.
pub(super) fn each_token<'a>(text: &'a str, mut found: impl FnMut(Token<'a>)) {
    let mut start = None;
    let mut before = ' ';
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map_or(' ', |&(_, next)| next);
        if belongs(before, c, after) {
            start.get_or_insert(at);
        } else if let Some(start) = start.take() {
            chunk(&text[start..at], &mut found);
        }
        before = c;
    }
    if let Some(start) = start {
        chunk(&text[start..], &mut found);
    }
}

/// Whether a character belongs to the chunk around it rather than ending it.
fn belongs(before: char, c: char, after: char) -> bool {
    let dash_or_dots = matches!(c, '.' | '-' | '\'') && (before == c || after == c);
    is_letter_or_digit(c) || is_joint(c) && !dash_or_dots
}

/// What stands between two blanks, or nearly so: one word, or a path, an address, a time.
fn chunk<'a>(chunk: &'a str, found: &mut impl FnMut(Token<'a>)) {
    let chunk = trim(chunk);
    let mut segments = chunk.split(['/', '\\', ':', '@']).map(trim).filter(|s| !s.is_empty());
    match (segments.next(), segments.next()) {
        (None, _) => {}
        (Some(only), None) => segment(only, found),
        (Some(first), Some(second)) => {
            found(Token::Compound(chunk));
            for part in [first, second].into_iter().chain(segments) {
                segment(part, found);
            }
        }
    }
}

/// A word, an identifier, a file name, a number.
fn segment<'a>(segment: &'a str, found: &mut impl FnMut(Token<'a>)) {
    let segment = without_clitic(segment);
    let is_negated =
        segment.get(segment.len().saturating_sub(3)..).is_some_and(|end| end.eq_ignore_ascii_case("n't"));
    if is_negated || segment.chars().all(char::is_lowercase) {
        return found(Token::Word(segment));
    }
    let parts = || segment.split(is_joint).filter(|part| !part.is_empty()).flat_map(humps);
    if parts().next() == Some(segment) {
        return found(Token::Word(segment));
    }
    let is_telling = |part: &&str| part.len() > 1 || part.as_bytes()[0].is_ascii_digit();
    let mut telling = parts().filter(is_telling).peekable();
    if telling.peek().is_none() {
        return found(Token::Word(segment)); // C++, R&D: their letters alone say nothing
    }
    found(Token::Compound(segment));
    telling.for_each(|part| found(Token::Word(part)));
}

/// Drops punctuation around, but keeps what belongs to a name: `C++`, `C#`, `.NET`.
fn trim(chunk: &str) -> &str {
    let bare = chunk.trim_end_matches(is_joint);
    let tail = &chunk[bare.len()..];
    let suffix = tail.bytes().take(2).take_while(|b| matches!(b, b'+' | b'#')).count();
    let end = if bare.is_empty() { 0 } else { bare.len() + suffix };
    let kept = &chunk[..end];
    let inner = kept.trim_start_matches(is_joint);
    let is_dotted = kept[..kept.len() - inner.len()].ends_with('.') && inner.starts_with(char::is_alphabetic);
    &kept[kept.len() - inner.len() - usize::from(is_dotted)..]
}

/// Cuts off what English appends with an apostrophe, except `n't`, which makes a word of its own.
fn without_clitic(word: &str) -> &str {
    let Some((stem, clitic)) = word.rsplit_once('\'') else { return word };
    let is_clitic = ["s", "m", "d", "re", "ve", "ll"].iter().any(|c| clitic.eq_ignore_ascii_case(c));
    if is_clitic && !stem.is_empty() { stem } else { word }
}

/// The words of `camelCase` and `HTTPServer`.
fn humps(word: &str) -> impl Iterator<Item = &str> {
    let mut cuts = Vec::new();
    if word.len() <= IDENTIFIER_BYTES && word.chars().skip(1).any(char::is_uppercase) {
        let chars: Vec<(usize, char)> = word.char_indices().collect();
        for (i, &(at, c)) in chars.iter().enumerate().skip(1) {
            let rises = c.is_uppercase() && chars[i - 1].1.is_lowercase();
            let starts_word = c.is_uppercase()
                && chars[i - 1].1.is_uppercase()
                && chars.get(i + 1).is_some_and(|next| next.1.is_lowercase());
            if rises || starts_word {
                cuts.push(at);
            }
        }
    }
    if cuts.len() >= MOST_HUMPS {
        cuts.clear();
    }
    let starts = std::iter::once(0).chain(cuts.clone());
    let ends = cuts.into_iter().chain([word.len()]);
    starts.zip(ends).map(|(start, end)| &word[start..end])
}

fn is_letter_or_digit(c: char) -> bool {
    c.is_ascii_alphanumeric() || !c.is_ascii() && (c.is_alphanumeric() || is_combining_mark(c))
}

/// Punctuation that can stand inside a name.
fn is_joint(c: char) -> bool {
    matches!(c, '.' | '-' | '_' | '\'' | '/' | '\\' | ':' | '@' | '&' | '+' | '#')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        each_token(&legible(text), |token| {
            tokens.push(match token {
                Token::Word(word) => word.to_owned(),
                Token::Compound(whole) => format!("<{whole}>"),
            });
        });
        tokens
    }

    proptest! {
        #[test]
        fn every_letter_and_digit_is_in_some_token(text in "\\PC{0,60}") {
            let text = legible(&text);
            let mut seen = String::new();
            each_token(&text, |token| match token { Token::Word(t) | Token::Compound(t) => seen.push_str(t) });
            // A clitic, such as the s of `it's`, is the one thing that is dropped.
            for c in text.chars().filter(|c| is_letter_or_digit(*c) && !c.is_ascii()) {
                prop_assert!(seen.contains(c));
            }
        }

        #[test]
        fn the_work_stays_in_proportion(text in "[aA1.:/'+#_ -]{0,300}") {
            let mut bytes = 0;
            each_token(&text, |token| match token { Token::Word(t) | Token::Compound(t) => bytes += t.len() });
            // At most three levels: a whole, its segments, their parts.
            prop_assert!(bytes <= 3 * text.len());
        }
    }

    #[test]
    fn plain_text_is_cut_into_words() {
        assert_eq!(tokens("Hello, world... (yes) — \"no\"!"), ["Hello", "world", "yes", "no"]);
        assert_eq!(tokens("wait...what--now"), ["wait", "what", "now"]);
        assert_eq!(tokens("Caroline's I’m DON'T"), ["Caroline", "I", "DON'T"]);
        assert_eq!(tokens("' \" a & | ! b ( <-> \\ '\":* 100% _"), ["a", "b", "100"]);
    }

    #[test]
    fn names_keep_their_punctuation() {
        assert_eq!(tokens("C++, C# and .NET."), ["C++", "C#", "and", "<.NET>", "NET"]);
        assert_eq!(tokens("C#/.NET"), ["<C#/.NET>", "C#", "<.NET>", "NET"]);
        assert_eq!(tokens("R&D at O'Brien"), ["R&D", "at", "<O'Brien>", "Brien"]);
    }

    #[test]
    fn compounds_are_found_whole_and_by_their_parts() {
        for (text, expected) in [
            ("v1.2", "<v1.2> v1 2"),
            ("192.168.7.1:", "<192.168.7.1> 192 168 7 1"),
            ("INV-4471", "<INV-4471> INV 4471"),
            ("bob@example.com", "<bob@example.com> bob <example.com> example com"),
            ("C:\\repo\\main.py", "<C:\\repo\\main.py> C repo <main.py> main py"),
            ("get_user_name", "<get_user_name> get user name"),
            ("getUserName", "<getUserName> get User Name"),
            ("HTTPServer", "<HTTPServer> HTTP Server"),
            ("alice::bob", "<alice::bob> alice bob"),
            ("a_b", "a_b"),
        ] {
            assert_eq!(tokens(text).join(" "), expected);
        }
    }

    #[test]
    fn encoded_bytes_are_not_taken_apart() {
        assert_eq!(tokens("aGVsbG8gd29ybGQgYmFzZTY0"), ["aGVsbG8gd29ybGQgYmFzZTY0"]);
    }
}
