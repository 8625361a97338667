//! Pure: pasted notes, taken apart into one piece for each list entry, paragraph, row or exported memory.
//!
//! - No character of content is lost and none is made up: what is dropped are list marks, boxes of tasks, lines that
//!   only separate, and blank space. Of tables and exports in JSON and CSV, what frames the cells is dropped too.
//! - A heading is a piece of its own, as it was written; the pieces below it are told what they stand under.
//! - A row that has a column of text is that text; its other columns come along as fields, and are said behind it.

mod export;
mod line;
mod table;
#[cfg(test)]
mod tests;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use self::line::{Line, Mark, counted};
use super::date;
use crate::memory::text::is_blank;

/// A line shorter than this was not broken because it was full, in characters.
const FULL_LINE: usize = 40;

/// One note of a paste.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Piece {
    /// What it says.
    pub text: String,
    /// The headings and entries it stands under.
    pub under: Option<String>,
    /// Whether it is a task, and whether that is done.
    pub done: Option<bool>,
    /// The date it begins with, or that the export gives it.
    pub dated: Option<DateTime<Utc>>,
    /// What else an export says of it.
    pub fields: Map<String, Value>,
}

impl Piece {
    fn of(text: &str) -> Self {
        let text = text.trim().to_owned();
        Self { dated: date::leading(&text).map(|(time, _)| time), text, ..Self::default() }
    }

    /// What it says without the date it begins with.
    pub fn undated(&self) -> &str {
        date::leading(&self.text).map_or(&self.text, |(_, rest)| rest)
    }
}

/// The notes of a paste, in their order. A text that is not blank has at least one.
pub fn split(text: &str) -> Vec<Piece> {
    let mut pieces = export::pieces(text).or_else(|| table::csv(text)).unwrap_or_else(|| lines(text));
    pieces.retain(|piece| !is_blank(&piece.text));
    if pieces.is_empty() && !is_blank(text) {
        pieces.push(Piece::of(text));
    }
    pieces
}

/// What the next line may go on with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Open {
    /// Nothing.
    No,
    /// A list entry at this depth.
    Entry(usize),
    /// A paragraph.
    Paragraph,
    /// A turn of a conversation.
    Turn,
    /// A block of code.
    Code,
}

/// What a line is by the lines around it.
#[derive(Debug, Clone, Copy)]
struct About {
    /// Its number counts list entries.
    is_counted: bool,
    /// It goes on with the paragraph before it.
    is_wrapped: bool,
    /// It stands in a conversation.
    is_talk: bool,
}

/// A paste in the making.
struct Paste {
    pieces: Vec<Piece>,
    open: Open,
    heading: Option<String>,
    /// The entries that the next one may stand under, with their depths.
    parents: Vec<(usize, String)>,
}

fn lines(text: &str) -> Vec<Piece> {
    let raw: Vec<&str> = text.lines().collect();
    let lines: Vec<Option<Line<'_>>> = raw.iter().map(|line| Line::read(line)).collect();
    let (counted, wrapped, is_talk) = (counted(&lines), wrapped(&lines), is_conversation(&lines));
    let mut paste = Paste { pieces: Vec::new(), open: Open::No, heading: None, parents: Vec::new() };
    let mut at = 0;
    while at < raw.len() {
        if paste.open != Open::Code
            && let Some(table) = table::markdown(&raw[at..])
        {
            paste.open = Open::No;
            let under = paste.under();
            paste
                .pieces
                .extend(table.pieces.into_iter().map(|piece| Piece { under: under.clone(), ..piece }));
            at += table.lines;
            continue;
        }
        match &lines[at] {
            _ if paste.open == Open::Code => paste.code(raw[at], lines[at].as_ref()),
            None => paste.open = Open::No,
            Some(line) => {
                let next = lines[at + 1..].iter().flatten().next();
                let about = About { is_counted: counted[at], is_wrapped: wrapped[at], is_talk };
                paste.take(line, next, about);
            }
        }
        at += 1;
    }
    paste.pieces
}

impl Paste {
    fn take(&mut self, line: &Line<'_>, next: Option<&Line<'_>>, about: About) {
        if line.is_fence() {
            self.push(line.body, None);
            self.open = Open::Code;
        } else if line.is_rule() {
            self.open = Open::No;
        } else if let Some(words) = line.heading().or_else(|| line.head().filter(|_| leads(line, next))) {
            self.parents.clear();
            self.heading = None;
            self.push(line.body, None);
            self.heading = Some(words.to_owned());
            self.open = Open::No;
        } else if let Some(mark) = line.mark {
            self.parents.retain(|(depth, _)| *depth < line.indent);
            let is_mark = mark == Mark::Bullet || about.is_counted;
            let text = if is_mark { line.rest } else { line.body };
            self.push(text, line.done.filter(|_| is_mark));
            self.parents.push((line.indent, text.to_owned()));
            self.open = Open::Entry(line.indent);
        } else {
            self.words(line, about);
        }
    }

    /// A line without a mark: it goes on with what is open, or begins something.
    fn words(&mut self, line: &Line<'_>, about: About) {
        let is_turn = about.is_talk && line.speaker().is_some();
        let goes_on = match self.open {
            Open::Entry(depth) => line.indent > depth,
            Open::Turn => !is_turn,
            Open::Paragraph => about.is_wrapped || is_underline(line.body),
            Open::No | Open::Code => false,
        };
        if goes_on {
            self.append(line.body);
            return;
        }
        if line.indent == 0 {
            self.parents.clear();
        }
        self.push(line.body, None);
        self.open = if is_turn { Open::Turn } else { Open::Paragraph };
    }

    fn code(&mut self, raw: &str, line: Option<&Line<'_>>) {
        self.append(raw.trim_end());
        if line.is_some_and(Line::is_fence) {
            self.open = Open::No;
        }
    }

    fn push(&mut self, text: &str, done: Option<bool>) {
        let under = self.under();
        self.pieces.push(Piece { under, done, ..Piece::of(text) });
    }

    fn append(&mut self, text: &str) {
        if let Some(piece) = self.pieces.last_mut() {
            piece.text.push('\n');
            piece.text.push_str(text);
        }
    }

    fn under(&self) -> Option<String> {
        let parents = self.parents.iter().map(|(_, text)| text.trim_end_matches([':', '：']).trim());
        let path: Vec<&str> = self.heading.as_deref().into_iter().chain(parents).collect();
        Some(path.join(" / ")).filter(|path| !path.is_empty())
    }
}

/// Whether a line that ends in a colon says what follows: a list does.
fn leads(line: &Line<'_>, next: Option<&Line<'_>>) -> bool {
    next.is_some_and(|next| next.mark.is_some() && next.indent >= line.indent)
}

/// The line under a title.
fn is_underline(body: &str) -> bool {
    body.len() >= 3 && body.bytes().all(|byte| byte == b'=')
}

/// Whether people or machines take turns: each of two or more names speaks, one of them again, or one is well known.
fn is_conversation(lines: &[Option<Line<'_>>]) -> bool {
    const KNOWN: &[&str] =
        &["user", "assistant", "human", "me", "you", "chatgpt", "claude", "gemini", "ai", "system"];
    let mut speakers: Vec<&str> = lines.iter().flatten().filter_map(Line::speaker).collect();
    let turns = speakers.len();
    speakers.sort_unstable();
    speakers.dedup();
    let is_known = speakers.iter().any(|name| KNOWN.contains(&name.to_lowercase().as_str()));
    speakers.len() >= 2 && (is_known || turns > speakers.len())
}

/// Which lines go on with the paragraph before them, because that was broken where it was full.
fn wrapped(lines: &[Option<Line<'_>>]) -> Vec<bool> {
    let is_open = |line: &Option<Line<'_>>| {
        line.as_ref().is_some_and(|line| line.mark.is_none() && line.heading().is_none() && !line.is_fence())
    };
    let mut wrapped = Vec::with_capacity(lines.len());
    for block in lines.chunk_by(|one, next| is_open(one) && is_open(next)) {
        let block: Vec<&Line<'_>> = block.iter().flatten().collect();
        let is_paragraph = is_filled(&block);
        wrapped.push(false);
        wrapped.extend(block.windows(2).map(|pair| is_paragraph || is_broken(pair[0], pair[1])));
    }
    wrapped
}

fn is_full(line: &Line<'_>) -> bool {
    line.body.chars().count() >= FULL_LINE
}

fn is_small(line: &Line<'_>) -> bool {
    line.body.starts_with(char::is_lowercase)
}

/// Whether all lines but the last are full, and most of them go on in the middle of a sentence.
fn is_filled(block: &[&Line<'_>]) -> bool {
    let Some((_, full)) = block.split_last().filter(|_| block.len() >= 3) else { return false };
    let small = block[1..].iter().filter(|line| is_small(line)).count();
    full.iter().all(|line| is_full(line)) && 2 * small >= full.len()
}

/// Whether a sentence goes on in the next line.
fn is_broken(line: &Line<'_>, next: &Line<'_>) -> bool {
    is_full(line) && is_small(next) && !line.body.ends_with(['.', '!', '?', '。', '！', '？'])
}
