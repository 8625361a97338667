//! Retrieval evaluation: remembers a data set through the HTTP API, asks its queries and scores the answers (F-6).
//!
//! One namespace a conversation, one record a turn. A second run finds the records of the first again. Nothing of
//! the data set is kept here: its folder is an argument.

mod client;
mod data;
mod score;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Parser, ValueEnum};
use serde::Deserialize;
use serde_json::{Value, json};

use client::{Namespace, Stack};
use data::{ADVERSARIAL, Memory, Query};
use score::{CUTS, Score};

/// Measures how well searches find the right turn of a conversation.
#[derive(Parser)]
struct Args {
    /// The folder with `memories.jsonl` and `queries.jsonl`.
    data: PathBuf,
    /// How to search.
    #[arg(long, value_enum, default_value_t = Mode::Hybrid)]
    mode: Mode,
    /// What a thread is: all of a conversation, or one session of it. Each has namespaces of its own.
    #[arg(long, value_enum, default_value_t = Thread::Session)]
    thread: Thread,
    /// The file that says where the server is, and the key to it.
    #[arg(long, default_value = ".dev/env")]
    env: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    Hybrid,
    Lexical,
    Semantic,
}

#[derive(Clone, Copy, ValueEnum)]
enum Thread {
    Conversation,
    Session,
}

/// A namespace that holds its conversation.
struct Filled {
    namespace: Namespace,
    name: String,
    /// The record of each turn. Turns that say the same share one.
    records: HashMap<String, String>,
}

/// What came of all queries.
#[derive(Default)]
struct Outcome {
    by_category: BTreeMap<String, Vec<Score>>,
    foreign_hits: usize,
    other_hits: usize,
    degraded: usize,
}

#[derive(Deserialize)]
struct Results {
    results: Vec<Value>,
}

#[derive(Deserialize)]
struct Found {
    hits: Vec<Hit>,
    #[serde(default)]
    degraded: Vec<String>,
}

#[derive(Deserialize)]
struct Hit {
    record: Record,
}

#[derive(Deserialize)]
struct Record {
    id: String,
    namespace: String,
}

/// How many turns go into one request: enough to keep the embedder busy, few enough to show progress.
const BATCH: usize = 64;

/// What is asked for; the deepest cut of recall.
const LIMIT: usize = CUTS[2];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let args = Args::parse();
    let memories: Vec<Memory> = data::read(&args.data.join("memories.jsonl"))?;
    let queries: Vec<Query> = data::read(&args.data.join("queries.jsonl"))?;
    let stack = Stack::read(&args.env)?;

    let mut conversations = BTreeMap::<&str, Vec<&Memory>>::new();
    for memory in &memories {
        conversations.entry(&memory.namespace).or_default().push(memory);
    }
    let mut filled = BTreeMap::new();
    for (&conversation, turns) in &conversations {
        let name = match args.thread {
            Thread::Conversation => conversation.to_owned(),
            Thread::Session => format!("{conversation}-by-session"),
        };
        let namespace = stack.enter(&name).await?;
        let records = remember(&namespace, &name, turns, args.thread).await?;
        filled.insert(conversation, Filled { namespace, name, records });
    }
    let outcome = ask(&filled, &queries, args.mode).await?;
    print(&outcome, args.mode, memories.len());
    Ok(())
}

/// Remembers a conversation and returns the record of each turn.
async fn remember(
    namespace: &Namespace,
    name: &str,
    turns: &[&Memory],
    thread: Thread,
) -> Result<HashMap<String, String>> {
    let mut records = HashMap::new();
    let mut created = 0;
    for batch in turns.chunks(BATCH) {
        let items: Vec<Value> = batch.iter().map(|turn| item(turn, thread)).collect();
        let Results { results } =
            namespace.post("/v1/memory/items/batch", &json!({ "items": items })).await?;
        ensure!(results.len() == batch.len(), "{} results to {} items", results.len(), batch.len());
        for (turn, result) in batch.iter().zip(&results) {
            let Some(id) = result["record"]["id"].as_str() else { bail!("{}: {}", turn.id, result["error"]) };
            records.insert(turn.id.clone(), id.to_owned());
            created += usize::from(result["created"] == true);
        }
        eprintln!("{name}: {} of {} turns, {created} of them new", records.len(), turns.len());
    }
    Ok(records)
}

fn item(turn: &Memory, thread: Thread) -> Value {
    let thread_id = match thread {
        Thread::Conversation => turn.namespace.clone(),
        Thread::Session => format!("{}/{}", turn.namespace, turn.session),
    };
    json!({
        "scope": { "kind": "workspace", "key": turn.namespace },
        "category": "custom",
        "content": turn.text,
        "context": {
            "thread_id": thread_id,
            "seq": turn.seq,
            "speaker": turn.speaker,
            "observed_at": turn.timestamp,
        },
    })
}

async fn ask(filled: &BTreeMap<&str, Filled>, queries: &[Query], mode: Mode) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for (index, query) in queries.iter().enumerate() {
        let home = filled
            .get(query.namespace.as_str())
            .with_context(|| format!("{} has queries but no memories", query.namespace))?;
        let body = json!({ "query": query.text, "limit": LIMIT, "mode": mode.name() });
        let Found { hits, degraded } = home.namespace.post("/v1/memory/search", &body).await?;

        let known: HashSet<&str> = home.records.values().map(String::as_str).collect();
        for Hit { record } in &hits {
            let is_foreign = record.namespace != home.name;
            outcome.foreign_hits += usize::from(is_foreign);
            outcome.other_hits += usize::from(!is_foreign && !known.contains(record.id.as_str()));
        }
        outcome.degraded += usize::from(!degraded.is_empty());

        let relevant: HashSet<&str> =
            query.relevant.iter().filter_map(|id| home.records.get(id)).map(String::as_str).collect();
        ensure!(!relevant.is_empty(), "{:?} is answered by no memory", query.text);
        let returned: Vec<&str> = hits.iter().map(|hit| hit.record.id.as_str()).collect();
        let scores = outcome.by_category.entry(query.category.clone()).or_default();
        scores.push(Score::of(&returned, &relevant));
        if (index + 1) % 100 == 0 || index + 1 == queries.len() {
            eprintln!("{} of {} queries", index + 1, queries.len());
        }
    }
    Ok(outcome)
}

fn print(outcome: &Outcome, mode: Mode, memories: usize) {
    println!("{} search over {memories} turns", mode.name());
    println!();
    println!("                         queries  recall@5  recall@10  recall@20   MRR@10  nDCG@10");
    let headline: Vec<Score> = (outcome.by_category.iter())
        .filter(|(category, _)| *category != ADVERSARIAL)
        .flat_map(|(_, scores)| scores.iter().copied())
        .collect();
    print_line("all but adversarial", &headline);
    for (category, scores) in &outcome.by_category {
        print_line(&format!("  {category}"), scores);
    }
    println!();
    println!("hits from outside the namespace: {}", outcome.foreign_hits);
    if outcome.other_hits > 0 {
        println!(
            "hits that are no turn of this data, but were in its namespaces before: {}",
            outcome.other_hits
        );
    }
    if outcome.degraded > 0 {
        println!("queries answered from the words alone, without the embedder: {}", outcome.degraded);
    }
}

fn print_line(label: &str, scores: &[Score]) {
    let Score { recall: [at_5, at_10, at_20], mrr_at_10, ndcg_at_10 } = Score::mean(scores);
    let count = scores.len();
    println!(
        "{label:<24} {count:>7}  {at_5:>8.3}  {at_10:>9.3}  {at_20:>9.3}  {mrr_at_10:>7.3}  {ndcg_at_10:>7.3}"
    );
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Lexical => "lexical",
            Self::Semantic => "semantic",
        }
    }
}
