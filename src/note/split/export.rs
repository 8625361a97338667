//! Pure: exports in JSON, one document or one object a line.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Piece;
use super::table::{TEXT_NAMES, with_fields};

/// The memories of an export; nothing if the text is none.
pub fn pieces(text: &str) -> Option<Vec<Piece>> {
    let text = unfenced(text.trim());
    match text.as_bytes().first()? {
        b'[' | b'{' => {}
        _ => return None,
    }
    match serde_json::from_str::<&RawValue>(text) {
        // What is JSON and no export is one thing that somebody wants to keep.
        Ok(document) => Some(document_pieces(document.get()).unwrap_or_else(|| vec![Piece::of(text)])),
        Err(_) => line_pieces(text),
    }
}

/// What stands in a block of code that is all there is.
fn unfenced(text: &str) -> &str {
    let inner = || {
        let (language, rest) = text.strip_prefix("```")?.split_once('\n')?;
        let inner = rest.strip_suffix("```")?;
        matches!(language.trim(), "" | "json").then_some(inner.trim())
    };
    inner().filter(|inner| !inner.contains("```")).unwrap_or(text)
}

fn line_pieces(text: &str) -> Option<Vec<Piece>> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_object = |line: &&str| line.starts_with('{') && serde_json::from_str::<&RawValue>(line).is_ok();
    (lines.len() >= 2 && lines.iter().all(is_object)).then(|| lines.into_iter().map(element).collect())
}

fn document_pieces(json: &str) -> Option<Vec<Piece>> {
    if json.starts_with('[') {
        return list(json);
    }
    let members = Members::read(json)?;
    let lists: Vec<&str> = members
        .0
        .iter()
        .filter(|(_, value)| list(value.get()).is_some())
        .map(|(name, _)| name.as_str())
        .collect();
    if lists.is_empty() {
        return object(json).map(|piece| vec![piece]);
    }
    let mut pieces = Vec::new();
    for (name, value) in &members.0 {
        match list(value.get()) {
            Some(list) => {
                let under = (lists.len() > 1).then(|| name.clone());
                pieces.extend(list.into_iter().map(|piece| Piece { under: under.clone(), ..piece }));
            }
            None => pieces.push(Piece::of(&format!("{name}: {}", shown(value.get())))),
        }
    }
    Some(pieces)
}

/// The elements of a list of texts and objects.
fn list(json: &str) -> Option<Vec<Piece>> {
    if !json.starts_with('[') {
        return None;
    }
    let elements: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    let is_note = |element: &&RawValue| element.get().starts_with(['"', '{']);
    (!elements.is_empty() && elements.iter().all(is_note))
        .then(|| elements.into_iter().map(|element| self::element(element.get())).collect())
}

fn element(json: &str) -> Piece {
    object(json).unwrap_or_else(|| Piece::of(&shown(json)))
}

/// An object with a text in it.
fn object(json: &str) -> Option<Piece> {
    let members = Members::read(json)?.0;
    let is_text = |name: &str| {
        members
            .iter()
            .position(|(member, value)| member.eq_ignore_ascii_case(name) && value.get().starts_with('"'))
    };
    let place = TEXT_NAMES.iter().find_map(|name| is_text(name))?;
    let text = shown(members[place].1.get());
    let others = members.iter().enumerate().filter(|(at, _)| *at != place);
    let fields: Map<String, Value> =
        others.map(|(_, (name, value))| (name.clone(), Value::String(shown(value.get())))).collect();
    with_fields(&text, fields)
}

/// A text as it reads, without U+0000 (R-04); anything else as it is written, so that no digit changes.
fn shown(json: &str) -> String {
    let text =
        serde_json::from_str::<String>(json).map_or_else(|_| json.to_owned(), |text| text.replace('\0', ""));
    text.replace("\\u0000", "")
}

/// An object with more members than this is no memory.
const MAX_MEMBERS: usize = 256;

/// The members of an object, each name once.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    fn read(json: &'a str) -> Option<Self> {
        let members: Self = serde_json::from_str(json).ok()?;
        let is_new =
            |(at, (name, _)): (usize, &(String, &RawValue))| !members.0[..at].iter().any(|(n, _)| n == name);
        let is_sound = members.0.len() <= MAX_MEMBERS && members.0.iter().enumerate().all(is_new);
        is_sound.then_some(members)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of;
        impl<'de> Visitor<'de> for Of {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Of)
    }
}
