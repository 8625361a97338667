//! What an agent needs to go on, as text within the room there is (B-037). Pure.
//!
//! The goal comes first and takes at most half of the room. Then the parts take turns, each with its next line. No line
//! takes more than an eighth of the room, its heading included, so that each of four parts has at least one: what is
//! longer is cut, and ends in `…`. A line that does not fit any more leaves its place to those behind it. Everything is
//! one line, whatever it holds.

use crate::memory::context::{one_line, tokens};

/// What marks a text that was cut.
const CUT: char = '…';

/// The fewest tokens that a line may have, however small the room: an id has eight.
const MIN_LINE: usize = 24;

/// The most tokens that a heading has.
const HEADING: usize = 4;

/// One thing: what it says, and its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub id: String,
    pub text: String,
}

/// Things of one sort, the most wanted first.
#[derive(Debug, Clone, Default)]
pub struct Part {
    pub heading: &'static str,
    pub lines: Vec<Line>,
}

/// The text, and which lines of each part are in it, as they stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub text: String,
    pub tokens: usize,
    /// The place of each line in its part, and its text.
    pub kept: Vec<Vec<(usize, String)>>,
}

/// Writes the goal and as much of the parts as there is room for.
pub fn write(goal: &str, parts: &[Part], room: usize) -> Prompt {
    let mut text = String::new();
    let goal = cut(goal, room / 2, |goal| format!("Goal: {goal}\n")).map(|(_, line)| line);
    let mut used = goal.as_deref().map_or(0, tokens);
    text.extend(goal);
    let longest = (room / 8).saturating_sub(HEADING).max(MIN_LINE);
    let mut kept: Vec<Vec<(usize, String, String)>> = vec![Vec::new(); parts.len()];
    let mut queues: Vec<_> = parts.iter().map(|part| part.lines.iter().enumerate()).collect();
    loop {
        let mut took = false;
        for ((part, queue), kept) in parts.iter().zip(&mut queues).zip(&mut kept) {
            let heading = if kept.is_empty() { tokens(&headed(part)) } else { 0 };
            for (place, line) in queue.by_ref() {
                let left = room.saturating_sub(used + heading);
                let fits = cut(&line.text, longest, |text| format!("- {text} ({})\n", line.id));
                let Some((said, row)) = fits.filter(|(_, row)| tokens(row) <= left) else { continue };
                used += heading + tokens(&row);
                kept.push((place, said, row));
                took = true;
                break;
            }
        }
        if !took {
            break;
        }
    }
    for (part, kept) in parts.iter().zip(&kept).filter(|(_, kept)| !kept.is_empty()) {
        text.push_str(&headed(part));
        text.extend(kept.iter().map(|(_, _, row)| row.as_str()));
    }
    let kept = kept.into_iter().map(|rows| rows.into_iter().map(|(place, said, _)| (place, said)).collect());
    Prompt { text, tokens: used, kept: kept.collect() }
}

fn headed(part: &Part) -> String {
    format!("{}:\n", part.heading)
}

/// The text on one line, cut so that its row has at most so many tokens; nothing when not even one letter has room.
fn cut(text: &str, most: usize, row: impl Fn(&str) -> String) -> Option<(String, String)> {
    let text = one_line(text);
    let whole = row(&text);
    if tokens(&whole) <= most {
        return Some((text, whole));
    }
    // A token has at most four letters, so that no longer beginning can fit.
    let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).take(4 * most).collect();
    let shortened = |end: usize| format!("{}{CUT}", text[..end].trim_end());
    let fitting = ends.partition_point(|&end| tokens(&row(&shortened(end))) <= most);
    let said = shortened(*ends.get(fitting.checked_sub(1)?)?);
    let row = row(&said);
    Some((said, row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn part(heading: &'static str, texts: &[&str]) -> Part {
        let line = |(place, text): (usize, &&str)| Line {
            id: format!("{heading}{place}"),
            text: (*text).to_owned(),
        };
        Part { heading, lines: texts.iter().enumerate().map(line).collect() }
    }

    fn places(prompt: &Prompt) -> Vec<Vec<usize>> {
        prompt.kept.iter().map(|rows| rows.iter().map(|(place, _)| *place).collect()).collect()
    }

    #[test]
    fn everything_is_there_when_there_is_room() {
        let prompt = write(
            "Dine.\nWell.",
            &[part("A", &["one", "two"]), part("B", &[]), part("C", &["three"])],
            1_000,
        );
        assert_eq!(prompt.text, "Goal: Dine. Well.\nA:\n- one (A0)\n- two (A1)\nC:\n- three (C0)\n");
        assert_eq!(places(&prompt), [vec![0, 1], vec![], vec![0]]);
    }

    #[test]
    fn parts_take_turns_and_the_long_are_cut() {
        let long = "word ".repeat(1_000);
        let parts = [part("A", &[&long, &long, &long, &long]), part("B", &["short", "brief"])];
        let prompt = write(&long, &parts, 200);
        assert!(prompt.tokens <= 200);
        assert_eq!(places(&prompt), [vec![0, 1, 2], vec![0, 1]], "{}", prompt.text);
        assert!(prompt.kept[0][0].1.ends_with('…'));
        assert!(tokens(prompt.text.lines().next().unwrap_or_default()) <= 100);
    }

    #[test]
    fn with_no_room_there_is_no_text() {
        let prompt = write("A goal.", &[part("A", &["one"])], 1);
        assert_eq!((prompt.text.as_str(), prompt.tokens), ("", 0));
    }

    proptest! {
        #[test]
        fn the_room_is_never_exceeded(
            goal in "\\PC{1,80}",
            texts in proptest::collection::vec("\\PC{0,300}|[a-z ]{0,2000}", 0..12),
            room in 1_usize..400,
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let (one, other) = texts.split_at(texts.len() / 2);
            let prompt = write(&goal, &[part("A", one), part("B", other)], room);
            prop_assert!(prompt.tokens <= room);
            prop_assert!(tokens(&prompt.text) <= prompt.tokens);
            let rows: usize = prompt.kept.iter().map(Vec::len).sum();
            prop_assert!(prompt.text.lines().count() <= rows + 3, "each is one line");
        }
    }
}
