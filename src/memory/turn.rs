//! What it means for a text to be a turn of a conversation: somebody says it, perhaps to ask something.

use std::borrow::Cow;
use std::collections::HashSet;

use super::text::{fold_case, normal_form};
use super::token::{Token, each_token, legible};
use super::word::{Script, by_script, is_stopword};

/// The text that is embedded: `Speaker: text`.
pub fn dense_text<'a>(content: &'a str, speaker: Option<&str>) -> Cow<'a, str> {
    match speaker {
        Some(speaker) => Cow::Owned(format!("{speaker}: {content}")),
        None => Cow::Borrowed(content),
    }
}

/// Whether a text asks something at its end: a question mark of any script after its last word.
///
/// A caption in square brackets at the end, such as `[shares a photo: …]`, is not part of what was said.
pub fn ends_in_question(text: &str) -> bool {
    let text = text.trim_end();
    let said = match text.strip_suffix(']').and_then(|inside| inside.rfind('[')) {
        Some(start) if start > 0 => &text[..start],
        _ => text,
    };
    said.chars().rev().take_while(|c| !c.is_alphanumeric()).any(is_question_mark)
}

/// Whether a query names a speaker, by any part of the name.
///
/// A name that is also a stopword, such as Will, must be written like the name.
pub fn names_speaker(query: &str, speaker: &str) -> bool {
    let (query, speaker) = (legible(query), legible(speaker));
    let written: HashSet<&str> = words(&query).into_iter().collect();
    let folded: HashSet<Cow<'_, str>> = written.iter().map(|word| fold_case(word)).collect();
    words(&speaker).into_iter().any(|word| {
        let name = fold_case(word);
        if is_stopword(&name) {
            written.contains(word)
        } else if by_script(&name).any(|(_, script)| script == Script::Unspaced) {
            normal_form(&query).contains(&*name)
        } else {
            folded.contains(&name)
        }
    })
}

fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    each_token(text, |token| match token {
        Token::Word(word) => words.push(word),
        Token::Compound(_) => {}
    });
    words
}

fn is_question_mark(c: char) -> bool {
    matches!(
        c,
        '?' | '\u{37e}' | '\u{55e}' | '؟' | '\u{1367}' | '\u{1945}' | '‽' | '\u{2047}'
            ..='\u{2049}'
                | '\u{2cfa}'
                | '\u{2cfb}'
                | '⸮'
                | '❓'
                | '❔'
                | '\u{a60f}'
                | '\u{a6f7}'
                | '？'
                | '\u{fe56}'
                | '\u{11143}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_text_names_its_speaker() {
        assert_eq!(dense_text("Hi!", Some("Caroline")), "Caroline: Hi!");
        assert_eq!(dense_text("Hi!", None), "Hi!");
    }

    #[test]
    fn questions_are_seen_in_every_script() {
        for text in [
            "Anything new?",
            "Really?!",
            "And you? 😊",
            "“Why?” ",
            "元気ですか？",
            "كيف حالك؟",
            "Τι κάνεις\u{37e}",
            "Like it? [shares a photo: a red car]",
        ] {
            assert!(ends_in_question(text), "{text}");
        }
        for text in ["", "Why? Because.", "Fine.", "[what?] no", "[shares a photo: a car]"] {
            assert!(!ends_in_question(text), "{text}");
        }
    }

    #[test]
    fn speakers_are_named_by_a_part_of_their_name() {
        for (query, speaker) in [
            ("What did Caroline say?", "caroline"),
            ("CAROLINE'S dog", "Caroline O’Brien"),
            ("O'Brien's dog", "Caroline O’Brien"),
            ("Who told Will?", "Will"),
            ("田中さんの猫", "田中"),
            ("zoe\u{308}", "ZOË"),
        ] {
            assert!(names_speaker(query, speaker), "{speaker} in {query}");
        }
        for (query, speaker) in
            [("Who will go?", "Will"), ("carolines", "Caroline"), ("", "Caroline"), ("猫", "田中"), ("x", "")]
        {
            assert!(!names_speaker(query, speaker), "{speaker} in {query}");
        }
    }
}
