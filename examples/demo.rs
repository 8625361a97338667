//! Remembers a small conversation in a running stack, asks it six questions, and shows why each answer was found.
//!
//! The conversation and the questions lie beside this file. A second run finds the records of the first again.

#[path = "../eval/client.rs"]
mod client;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use chrono::DateTime;
use clap::Parser;
use serde::Deserialize;
use serde_json::{Value, json};

use client::{Namespace, Stack};

/// Remembers a small conversation and asks it six questions.
#[derive(Parser)]
struct Args {
    /// The file that says where the server is, and the key to it.
    #[arg(long, default_value = ".dev/env")]
    env: PathBuf,
}

#[derive(Deserialize)]
struct Turn {
    speaker: String,
    at: String,
    text: String,
}

#[derive(Deserialize)]
struct Asked {
    question: String,
}

#[derive(Deserialize)]
struct Remembered {
    results: Vec<Value>,
}

#[derive(Deserialize)]
struct Found {
    hits: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    record: Record,
    score: f64,
    score_components: Components,
    #[serde(default)]
    matched_terms: Vec<String>,
    explain: Explanation,
}

#[derive(Deserialize)]
struct Record {
    content: String,
    context: Context,
}

#[derive(Deserialize)]
struct Context {
    speaker: String,
    observed_at: i64,
}

#[derive(Deserialize)]
struct Components {
    lexical: f64,
    semantic: f64,
}

#[derive(Deserialize)]
struct Explanation {
    reason: String,
}

const CONVERSATION: &str = include_str!("conversation.jsonl");
const QUESTIONS: &str = include_str!("questions.jsonl");

/// What keeps the demo apart from everything else in the stack.
const NAMESPACE: &str = "demo-harbour-museum";

/// How many hits are shown of each question.
const SHOWN: usize = 2;

/// The columns of a narrow terminal.
const WIDTH: usize = 80;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let args = Args::parse();
    let namespace = Stack::read(&args.env)?.enter(NAMESPACE).await?;
    remember(&namespace).await?;
    for (index, line) in QUESTIONS.lines().enumerate() {
        let Asked { question } = serde_json::from_str(line)?;
        let body = json!({ "query": question, "limit": SHOWN, "explain": true });
        let Found { hits } = namespace.post("/v1/memory/search", &body).await?;
        println!("\n{}. {question}", index + 1);
        hits.iter().try_for_each(print)?;
    }
    Ok(())
}

/// Remembers the conversation, one record a turn, in one request.
async fn remember(namespace: &Namespace) -> Result<()> {
    let mut items = Vec::new();
    for (seq, line) in CONVERSATION.lines().enumerate() {
        let Turn { speaker, at, text } = serde_json::from_str(line)?;
        items.push(json!({
            "scope": { "kind": "workspace", "key": "harbour-museum" },
            "category": "custom",
            "content": text,
            "context": { "thread_id": "audio-guide", "seq": seq, "speaker": speaker, "observed_at": at },
        }));
    }
    let Remembered { results } = namespace.post("/v1/memory/items/batch", &json!({ "items": items })).await?;
    let count = |is: &dyn Fn(&Value) -> bool| results.iter().filter(|result| is(result)).count();
    let remembered = count(&|result| result.get("record").is_some());
    let created = count(&|result| result["created"] == true);
    println!("Remembered {remembered} turns of a conversation, {created} of them new.");
    Ok(())
}

fn print(hit: &Hit) -> Result<()> {
    let Record { content, context } = &hit.record;
    let said = DateTime::from_timestamp(context.observed_at, 0).context("the date is out of range")?;
    let answer = format!("{}, {}: {content}", context.speaker, said.format("%-d %B"));
    let Components { lexical, semantic } = hit.score_components;
    let reason = &hit.explain.reason;
    let mut why = format!("Why: {reason}; alike in words {lexical:.2}, in meaning {semantic:.2}");
    if !hit.matched_terms.is_empty() {
        why = format!("{why}; words in common: {}", hit.matched_terms.join(", "));
    }
    print_wrapped(&format!("   {:.2}  ", hit.score), &answer);
    print_wrapped("         ", &why);
    Ok(())
}

/// Prints a text behind a margin, in lines of the terminal's width.
fn print_wrapped(margin: &str, text: &str) {
    let mut line = margin.to_owned();
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            println!("{}", line.trim_end());
            line = " ".repeat(margin.chars().count());
        }
        line += word;
        line.push(' ');
    }
    println!("{}", line.trim_end());
}
