//! Pure: what a line of a paste is by its first characters.

use super::super::date::is_month;

/// Marks that need a blank after them.
const DASHES: &[char] = &['-', '*', '+', '–', '—', '·'];
/// Marks that stand for themselves.
const DOTS: &[char] = &['•', '◦', '▪', '●', '○', '■', '‣', '⁃'];
/// What a box of a list of tasks looks like.
const BOXES: &[(&str, bool)] =
    &[("[ ]", false), ("[]", false), ("[x]", true), ("[X]", true), ("☐", false), ("☑", true), ("☒", true)];

/// The longest line that can be the head of a list, in characters.
const MAX_HEAD_CHARS: usize = 120;

/// A line that is not blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// How far it is moved in; a tab is four.
    pub indent: usize,
    /// The whole of it without white space around it.
    pub body: &'a str,
    /// Its mark.
    pub mark: Option<Mark>,
    /// What follows the mark.
    pub rest: &'a str,
    /// Whether it is a task, and whether that is done.
    pub done: Option<bool>,
}

/// The mark of a list entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A dash, a dot or a box.
    Bullet,
    /// A number, and what stands after it.
    Number(u32, char),
}

impl<'a> Line<'a> {
    /// Reads a line; nothing if it is blank.
    pub fn read(line: &'a str) -> Option<Self> {
        let body = line.trim();
        if body.is_empty() {
            return None;
        }
        let spaces = line.chars().take_while(|c| c.is_whitespace());
        let indent = spaces.map(|c| if c == '\t' { 4 } else { 1 }).sum();
        let (mark, rest) = match bullet(body) {
            Some(rest) => (Some(Mark::Bullet), rest),
            None => number(body).map_or((None, body), |(mark, rest)| (Some(mark), rest)),
        };
        let task = task(rest);
        let (done, rest) = task.map_or((None, rest), |(done, rest)| (Some(done), rest));
        let mark = mark.or(done.map(|_| Mark::Bullet));
        Some(Self { indent, body, mark, rest, done })
    }

    /// Whether it only separates: it is made of list marks and nothing else.
    pub fn is_rule(&self) -> bool {
        let marks = self.body.chars().filter(|c| !c.is_whitespace());
        let mut marks = marks.peekable();
        let Some(&first) = marks.peek() else { return false };
        "-*–—•".contains(first) && marks.clone().count() >= 3 && marks.all(|c| c == first)
    }

    /// The words of a heading: `# Words`, `**Words**` or `__Words__`.
    pub fn heading(&self) -> Option<&'a str> {
        let body = self.body.trim_end_matches(':');
        let hashes = body.bytes().take_while(|byte| *byte == b'#').count();
        if (1..=6).contains(&hashes) && body[hashes..].starts_with(char::is_whitespace) {
            return Some(body[hashes..].trim());
        }
        ["**", "__"].iter().find_map(|around| {
            let inner = body.strip_prefix(around)?.strip_suffix(around)?.trim_end_matches(':').trim();
            (!inner.is_empty() && !inner.contains(around)).then_some(inner)
        })
    }

    /// The words of a line that says what the list after it is about.
    pub fn head(&self) -> Option<&'a str> {
        let words = self.body.strip_suffix([':', '：'])?.trim();
        (self.mark.is_none() && !words.is_empty() && words.chars().count() <= MAX_HEAD_CHARS).then_some(words)
    }

    /// Whether it opens or closes a block of code.
    pub fn is_fence(&self) -> bool {
        self.body.starts_with("```") || self.body.starts_with("~~~")
    }

    /// Who speaks in it, if it is a turn of a conversation.
    pub fn speaker(&self) -> Option<&'a str> {
        let (name, said) = self.body.split_once([':', '：'])?;
        let name = name.trim_matches('*').trim();
        let is_name = name.starts_with(char::is_alphabetic)
            && name.chars().count() <= 32
            && name.split_whitespace().count() <= 3
            && name.chars().all(|c| c.is_alphanumeric() || " ._-'".contains(c));
        let is_said = said.starts_with(|c: char| c.is_whitespace() || c == '*') || said.is_empty();
        (self.mark.is_none() && is_name && is_said).then_some(name)
    }
}

/// What follows a bullet.
fn bullet(body: &str) -> Option<&str> {
    let first = body.chars().next()?;
    let rest = &body[first.len_utf8()..];
    let is_mark = DOTS.contains(&first)
        || DASHES.contains(&first) && (rest.is_empty() || rest.starts_with(char::is_whitespace));
    is_mark.then(|| rest.trim_start())
}

/// A number of a list, and what follows it. A number before a month is a day.
fn number(body: &str) -> Option<(Mark, &str)> {
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=3).contains(&digits) {
        return None;
    }
    let end = body[digits..].chars().next().filter(|c| ".)".contains(*c))?;
    let rest = &body[digits + 1..];
    let is_mark = rest.starts_with(char::is_whitespace) && !is_month(rest.trim_start());
    Some((Mark::Number(body[..digits].parse().ok()?, end), rest.trim_start())).filter(|_| is_mark)
}

fn task(rest: &str) -> Option<(bool, &str)> {
    BOXES.iter().find_map(|(look, done)| {
        let rest = rest.strip_prefix(look)?;
        (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| (*done, rest.trim_start()))
    })
}

/// Which of the lines have a number that counts entries: those of a run from 0 or 1 upwards, at one depth.
pub fn counted(lines: &[Option<Line<'_>>]) -> Vec<bool> {
    let mut counted = vec![false; lines.len()];
    // The numbers at each depth that may go on: where the last one stands, and which it is.
    let mut open: Vec<(usize, usize, u32, char)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(Line { indent, mark: Some(Mark::Number(number, end)), .. }) = *line else { continue };
        open.retain(|(depth, ..)| *depth <= indent);
        let last = open.iter().position(|(depth, _, last, same)| {
            *depth == indent && *same == end && last.checked_add(1) == Some(number)
        });
        match last {
            Some(place) => {
                counted[open[place].1] = true;
                counted[at] = true;
                open[place] = (indent, at, number, end);
            }
            None if number <= 1 => {
                open.retain(|(depth, ..)| *depth != indent);
                open.push((indent, at, number, end));
            }
            None => {}
        }
    }
    counted
}
