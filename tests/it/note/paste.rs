//! 2,000 pasted notes of ten formats: not one character is lost (acceptance of the tools, D-004, XD-05).

use std::collections::BTreeSet;

use serde_json::json;

use super::texts;
use crate::support::{Client, TestApp};

/// How many notes one paste holds: with headings and the like no more than 200 items.
const PASTE: usize = 100;

/// What notes are made of: scripts, marks in the middle, quotes, numbers, addresses.
const WORDS: &[&str] = &[
    "tea",
    "Köln",
    "harbour",
    "\"quoted\"",
    "it's",
    "v1.2.3",
    "C++",
    "a|b",
    "50%",
    "e-mail: a@b.example",
    "(really)",
    "お茶が好き",
    "猫",
    "привет",
    "مرحبا",
    "🦊👍🏽",
    "https://x.example/?q=1&r=2",
    "- not a mark",
    "1. nor this",
    "[x]",
    "#tag",
    "**bold**",
    "`code`",
    "10:30",
    "2024-05-01",
    "and, so; on",
    "\\escaped\\",
    "<b>",
    "{json}",
    "—",
];

/// How notes begin.
const STARTS: &[&str] =
    &["Likes", "Works with", "7 of", "\"Never\"", "お", "Éva says", "-5 °C and", "C# and", "Ask:"];

/// A sequence that is the same in every run.
struct Dice(u64);

impl Dice {
    fn roll<'a>(&mut self, of: &[&'a str]) -> &'a str {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        of[usize::try_from(self.0 >> 33).unwrap() % of.len()]
    }
}

/// Notes that no two pastes share.
fn notes(format: usize, part: usize) -> Vec<String> {
    let mut dice = Dice((format * 10 + part) as u64);
    (0..PASTE)
        .map(|number| {
            let length = 1 + number % 9;
            let words: Vec<&str> = (0..length).map(|_| dice.roll(WORDS)).collect();
            format!("{} {} {format}.{part}.{number}", dice.roll(STARTS), words.join(" "))
        })
        .collect()
}

/// A format, and how notes are written in it.
type Format = (&'static str, fn(&[String]) -> String);

fn each(notes: &[String], write: impl Fn(usize, &String) -> String) -> String {
    notes.iter().enumerate().fold(String::new(), |all, (at, note)| all + &write(at, note))
}

const FORMATS: [Format; 10] = [
    ("dashes, nested", |notes| each(notes, |at, note| format!("{}- {note}\n", "  ".repeat(at % 3)))),
    ("dots with blank lines", |notes| each(notes, |_, note| format!("• {note}\r\n\r\n"))),
    ("numbers", |notes| each(notes, |at, note| format!("{}. {note}\n", at + 1))),
    ("tasks", |notes| each(notes, |at, note| format!("* [{}] {note}\n", [" ", "x"][at % 2]))),
    ("paragraphs", |notes| each(notes, |_, note| format!("{note}\n\n"))),
    ("sections with headings", |notes| {
        each(notes, |at, note| {
            let heading = if at % 25 == 0 { format!("\n## Section {at}\n\n") } else { String::new() };
            format!("{heading}– {note}\n")
        })
    }),
    ("dated memories", |notes| each(notes, |at, note| format!("[2024-05-{:02}] - {note}\n", at % 28 + 1))),
    ("a conversation", |notes| {
        each(notes, |at, note| format!("{}: {note}\n\n", ["User", "Assistant"][at % 2]))
    }),
    ("JSON", |notes| {
        let objects: Vec<_> = notes.iter().map(|note| json!({ "id": note.len(), "memory": note })).collect();
        serde_json::to_string_pretty(&json!({ "memories": objects })).unwrap()
    }),
    ("CSV", |notes| {
        let rows = each(notes, |_, note| format!("2024-05-01,\"{}\"\n", note.replace('"', "\"\"")));
        format!("date,note\n{rows}")
    }),
];

fn solid(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[tokio::test]
async fn two_thousand_notes_of_ten_formats_lose_no_character_d004_xd05() {
    let app = TestApp::start_lexical().await;
    let client = app.tenant("acme").await.client;
    let mut written = Vec::new();
    for (number, (name, write)) in FORMATS.iter().enumerate() {
        for part in 0..2 {
            let notes = notes(number, part);
            let saved = client.save(&write(&notes)).await;
            let mut saved = texts(&saved).into_iter();
            for note in &notes {
                // One after the other; between them only what is no note, such as headings.
                let found = saved.by_ref().find(|text| text.contains(note.as_str()));
                let text = found.unwrap_or_else(|| panic!("{name}: {note} is lost"));
                let rest = text.replacen(note.as_str(), "", 1);
                assert!(is_frame(&rest), "{name}: {note} came back as {text}");
            }
            written.extend(notes);
        }
    }
    assert_eq!(written.len(), 2_000);
    let stored: BTreeSet<String> = stored(&client).await.iter().map(|text| solid(text)).collect();
    let lost = written.iter().filter(|note| !stored.iter().any(|text| text.contains(&solid(note)))).count();
    assert_eq!(lost, 0, "every note is a record");
}

/// What the format itself puts before a note.
fn is_frame(rest: &str) -> bool {
    let rest = rest.trim();
    rest.is_empty()
        || ["User:", "Assistant:", "[x]", "(date: 2024-05-01)"].contains(&rest)
        || rest.starts_with("[2024-05-") && rest.ends_with("] -")
}

async fn stored(client: &Client) -> Vec<String> {
    let (mut texts, mut path) = (Vec::new(), "/v1/memory/items?limit=100".to_owned());
    loop {
        let page = client.get(&path).await.expect(200);
        let records = page["records"].as_array().unwrap();
        texts.extend(records.iter().map(|record| record["content"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { return texts };
        path = format!("/v1/memory/items?limit=100&cursor={cursor}");
    }
}
