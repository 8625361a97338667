//! Pure: tables, in CSV and in Markdown.

use serde_json::{Map, Value};

use super::Piece;
use crate::note::date;

/// What a column is called that holds the note itself, the surest first.
pub const TEXT_NAMES: &[&str] =
    &["content", "text", "memory", "note", "fact", "summary", "message", "body", "description", "value"];
/// What a column is called that says when that was.
const DATE_NAMES: &[&str] = &[
    "observed_at",
    "date",
    "created_at",
    "created",
    "createdat",
    "timestamp",
    "time",
    "updated_at",
    "saved_at",
];

/// The longest fields that come along with a piece, in bytes of JSON; beyond that a row stays as it is.
const MAX_FIELD_BYTES: usize = 8_192;

/// A table with more columns than this is none of notes.
const MAX_COLUMNS: usize = 64;

/// A table that was found, and how many lines it takes.
pub struct Table {
    /// Its rows.
    pub pieces: Vec<Piece>,
    /// How many lines it takes.
    pub lines: usize,
}

/// The rows of an export in CSV: its first line names a column of text.
pub fn csv(text: &str) -> Option<Vec<Piece>> {
    let head = text.lines().next()?;
    let separator = [',', ';', '\t'].into_iter().find(|c| head.contains(*c))?;
    let mut records = records(text, separator)?;
    let width = records.first()?.len();
    if records.len() < 2
        || !(2..=MAX_COLUMNS).contains(&width)
        || records.iter().any(|record| record.len() != width)
    {
        return None;
    }
    let header = records.remove(0);
    rows(&header, &records)
}

/// The table that a Markdown text begins with.
pub fn markdown(lines: &[&str]) -> Option<Table> {
    let header = cells(lines.first()?)?;
    let separator = cells(lines.get(1)?)?;
    let is_rule = |cell: &String| cell.contains('-') && cell.bytes().all(|byte| b"-:".contains(&byte));
    if header.len() > MAX_COLUMNS || separator.len() != header.len() || !separator.iter().all(is_rule) {
        return None;
    }
    let body: Vec<Vec<String>> = lines[2..].iter().map_while(|line| cells(line)).collect();
    let lines = body.len() + 2;
    let is_even = body.iter().all(|row| row.len() == header.len());
    let pieces = if is_even { rows(&header, &body) } else { None };
    let joined =
        || std::iter::once(&header).chain(&body).map(|row| Piece::of(row.join(" | ").trim())).collect();
    Some(Table { pieces: pieces.unwrap_or_else(joined), lines })
}

/// Rows with a column of text: that is what they say, and the rest comes along.
fn rows(header: &[String], rows: &[Vec<String>]) -> Option<Vec<Piece>> {
    let names: Vec<String> =
        header.iter().map(|name| name.trim().to_lowercase().replace([' ', '-'], "_")).collect();
    let text = TEXT_NAMES.iter().find_map(|wanted| names.iter().position(|name| name == wanted))?;
    let is_named = |(at, name): (usize, &String)| !name.is_empty() && !names[..at].contains(name);
    if !names.iter().enumerate().all(is_named) {
        return None;
    }
    rows.iter()
        .map(|row| {
            let others = header.iter().zip(row).enumerate().filter(|(at, _)| *at != text);
            let fields = others
                .filter(|(_, (_, cell))| !cell.is_empty())
                .map(|(_, (name, cell))| (name.trim().to_owned(), Value::String(cell.clone())));
            with_fields(&row[text], fields.collect())
        })
        .collect()
}

/// A piece with what an export says of it besides; nothing where it would be lost.
pub fn with_fields(text: &str, fields: Map<String, Value>) -> Option<Piece> {
    let bytes = serde_json::to_string(&fields).map_or(usize::MAX, |json| json.len());
    if text.trim().is_empty() || bytes > MAX_FIELD_BYTES {
        return None;
    }
    let named =
        |wanted: &str| fields.iter().find(|(name, _)| name.to_lowercase().replace(' ', "_") == wanted);
    let dated = DATE_NAMES.iter().find_map(|wanted| {
        let (_, value) = named(wanted)?;
        date::whole(value.as_str()?)
    });
    let piece = Piece::of(text);
    Some(Piece { dated: piece.dated.or(dated), fields, ..piece })
}

/// The records of CSV; nothing if its quotes are not those of CSV.
fn records(text: &str, separator: char) -> Option<Vec<Vec<String>>> {
    let (mut records, mut record, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    let (mut is_quoted, mut was_quoted) = (false, false);
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' if is_quoted => is_quoted = false,
            '"' if cell.trim().is_empty() && !was_quoted => {
                cell.clear();
                (is_quoted, was_quoted) = (true, true);
            }
            _ if is_quoted => cell.push(c),
            _ if c == separator || c == '\n' => {
                record.push(std::mem::take(&mut cell).trim().to_owned());
                was_quoted = false;
                if c == '\n' {
                    records.push(std::mem::take(&mut record));
                }
            }
            _ if was_quoted && !c.is_whitespace() => return None,
            _ => cell.push(c),
        }
    }
    record.push(cell.trim().to_owned());
    records.push(record);
    records.retain(|record| record.iter().any(|cell| !cell.is_empty()));
    Some(records).filter(|_| !is_quoted)
}

/// The cells of a line between bars.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let (mut cells, mut cell, mut is_escaped) = (Vec::new(), String::new(), false);
    for c in inner.chars() {
        if c == '|' && !is_escaped {
            cells.push(std::mem::take(&mut cell).trim().to_owned());
            continue;
        }
        is_escaped = c == '\\' && !is_escaped;
        cell.push(c);
    }
    cells.push(cell.trim().to_owned());
    Some(cells)
}
