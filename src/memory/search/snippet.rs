//! The part of a long content that answers best.

use crate::memory::text::normal_form;

/// The longest snippet, in characters (PC-31).
const MAX_CHARS: usize = 240;

/// How many characters stand before the first word that the query has too.
const LEAD_CHARS: usize = 40;

/// The 240 characters around the first word of the query, or the first 240; nothing for a content that is no longer.
pub fn snippet(content: &str, query: &str) -> Option<String> {
    let length = content.chars().count();
    if length <= MAX_CHARS {
        return None;
    }
    let wanted: Vec<String> =
        normal_form(query).split(' ').filter(|word| word.chars().count() > 3).map(stem).collect();
    let start = first_match(content, &wanted).map_or(0, |at| content[..at].chars().count());
    let start = start.saturating_sub(LEAD_CHARS).min(length - MAX_CHARS);
    let part: String = content.chars().skip(start).take(MAX_CHARS).collect();
    let (before, after) =
        (if start > 0 { "…" } else { "" }, if start + MAX_CHARS < length { "…" } else { "" });
    Some(format!("{before}{}{after}", part.trim()))
}

/// Long enough to be the same word, short enough to forgive an ending.
fn stem(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).take(5).collect()
}

fn first_match(content: &str, wanted: &[String]) -> Option<usize> {
    let mut at = 0;
    for word in content.split_inclusive(char::is_whitespace) {
        let form = normal_form(word);
        let form = form.trim_start_matches(|c: char| !c.is_alphanumeric());
        if wanted.iter().any(|wanted| !wanted.is_empty() && form.starts_with(wanted.as_str())) {
            return Some(at);
        }
        at += word.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_content_needs_no_snippet() {
        assert_eq!(snippet("The vault code is heliotrope.", "vault"), None);
    }

    #[test]
    fn a_snippet_shows_the_words_that_were_asked_for() {
        let content =
            format!("{} The vault code is heliotrope. {}", "word ".repeat(500), "more ".repeat(500));
        let snippet = snippet(&content, "what are the vault codes").expect("a long content has one");
        assert!(snippet.contains("vault code is heliotrope"), "{snippet}");
        assert!(snippet.chars().count() <= MAX_CHARS + 2);
    }

    #[test]
    fn characters_are_never_cut() {
        let content = "日本語のとても長い文章".repeat(100);
        assert!(snippet(&content, "文章").is_some());
    }
}
