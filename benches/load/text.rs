//! What is remembered and asked in a run.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

/// The texts of a run; the same in every round, so that rounds can be compared.
#[derive(Deserialize)]
pub struct Texts {
    /// What is added one by one; all different.
    pub memories: Vec<String>,
    /// What is searched for; may repeat.
    pub queries: Vec<String>,
    /// What is added in batches; all different.
    pub batch: Vec<String>,
}

/// How many of each to make.
#[derive(Clone, Copy)]
pub struct Counts {
    pub memories: usize,
    pub queries: usize,
    pub batch: usize,
}

impl Counts {
    /// How many of the memories one client adds before several add the rest.
    pub fn first_memories(self) -> usize {
        self.memories / 4
    }
}

impl Texts {
    /// The texts of the generator that lies beside a floor program.
    pub fn beside(floor: &Path, counts: Counts) -> Result<Self> {
        let folder = floor.parent().unwrap_or(Path::new("."));
        let Counts { memories, queries, batch } = counts;
        let script = format!(
            "import sys, json; sys.path.insert(0, sys.argv[1]); from gen_text import gen, queries
print(json.dumps(dict(memories=gen({memories}, 11), queries=queries({queries}, 12), batch=gen({batch}, 13))))"
        );
        let output = Command::new("python3").args(["-B", "-c", &script]).arg(folder).output()?;
        ensure!(output.status.success(), "gen_text.py: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).context("gen_text.py prints no texts")
    }

    /// What one client adds, and what several add after it.
    pub fn split_memories(&self) -> (&[String], &[String]) {
        self.memories.split_at(self.memories.len() / 4)
    }

    /// Texts of our own.
    pub fn own(counts: Counts) -> Self {
        Self {
            memories: (0..counts.memories).map(memory).collect(),
            queries: (0..counts.queries).map(query).collect(),
            batch: (counts.memories..counts.memories + counts.batch).map(memory).collect(),
        }
    }
}

/// Makes texts that were asked before look new to a cache while they stay the same words: with one more space.
///
/// The floor has no cache of query vectors, so that a search which finds one there would be no match for it.
#[derive(Default)]
pub struct Fresh(HashMap<String, usize>);

impl Fresh {
    /// The queries, none of which was ever asked in exactly this form; those that are the same stay the same.
    pub fn questions(&mut self, queries: &[String]) -> Vec<String> {
        let different: BTreeSet<&String> = queries.iter().collect();
        let different: Vec<String> = different.into_iter().cloned().collect();
        let fresh: HashMap<String, String> =
            different.iter().cloned().zip(self.queries(&different)).collect();
        queries.iter().map(|query| fresh[query].clone()).collect()
    }

    /// The queries, none of which was ever asked in exactly this form.
    pub fn queries(&mut self, queries: &[String]) -> Vec<String> {
        let mut fresh = |query: &String| {
            let asked = self.0.entry(query.clone()).or_default();
            *asked += 1;
            query.replacen(' ', &" ".repeat(*asked), 1)
        };
        queries.iter().map(&mut fresh).collect()
    }
}

const NAMES: [&str; 16] = [
    "Amira", "Bjorn", "Celeste", "Dario", "Edda", "Fumio", "Greta", "Hassan", "Ilse", "Jorge", "Keiko",
    "Lars", "Maren", "Nadia", "Otis", "Paula",
];
const DEEDS: [&str; 16] = [
    "wants a weekly summary of",
    "wrote the first draft of",
    "is worried about the cost of",
    "asked for a second review of",
    "decided to postpone",
    "found three mistakes in",
    "is on holiday until the end of",
    "will present the results of",
    "does not want to hear any more about",
    "promised the customer a date for",
    "needs a quiet room to work on",
    "took over from a colleague",
    "measured how long people wait for",
    "would rather automate",
    "keeps the only notes on",
    "learned more than expected from",
];
const THINGS: [&str; 16] = [
    "the harbour survey",
    "the new payroll service",
    "the move to the second floor",
    "the translation of the manual",
    "the nightly export",
    "the museum tickets",
    "the warranty claims",
    "the road map for autumn",
    "the password reset page",
    "the wind park model",
    "the interview guide",
    "the spare parts catalogue",
    "the water sensor firmware",
    "the gym membership",
    "the garden party",
    "the tax return",
];
const REASONS: [&str; 16] = [
    "because the old one breaks on leap days",
    "before the auditors come in May",
    "as agreed on the phone last Tuesday",
    "since two people left the team",
    "unless the budget is cut again",
    "so that support gets fewer letters",
    "although nobody asked for it",
    "with a limit of 40 thousand euros",
    "and prefers written updates over calls",
    "after the release of version 7.2",
    "while the lift is being repaired",
    "to please the people in Lisbon",
    "in spite of a bad cold",
    "without telling the press",
    "at nine every other Friday",
    "until the licence expires",
];

/// One of 65,536 different texts.
fn memory(index: usize) -> String {
    // An odd step visits every number below a power of two once, and neighbours differ in every part.
    let mixed = index.wrapping_mul(40_503) % 65_536;
    let part = |shift: usize| (mixed >> shift) & 15;
    format!("{} {} {} {}.", NAMES[part(12)], DEEDS[part(8)], THINGS[part(4)], REASONS[part(0)])
}

fn query(index: usize) -> String {
    let (name, thing) = (NAMES[index % 16], THINGS[(index / 3) % 16]);
    match index % 3 {
        0 => format!("what does {name} think of {thing}"),
        1 => format!("who is responsible for {thing}"),
        _ => format!("what did {name} decide"),
    }
}
