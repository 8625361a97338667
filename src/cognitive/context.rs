//! What an agent needs to go on with its task: observe, decide, act (B-037).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::entry::Entry;
use super::prompt::{self, Line, Part};
use super::{entry_store, parse_session, store};
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::memory::context::{check_room, said};
use crate::memory::read::parse;
use crate::memory::search::{Hit, Search, search};
use crate::page::given;
use crate::working::workspace::{self, Look, Seen};

/// How many decisions and how many thoughts are looked at: the latest.
const LATEST: usize = 20;

/// How much room there is, as a query string.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextQuery {
    /// How many tokens the text may have: 1 to 32,768; 1,024 unless given.
    #[serde(default, deserialize_with = "given")]
    pub max_tokens: Option<String>,
}

/// Text for a prompt, and the parts it is made of.
///
/// The goal comes first and takes at most half of the room. Then slots, decisions, thoughts and records take turns, each
/// with its next one; no line takes more than an eighth of the room, and what is longer is cut and ends in `…`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionContext {
    /// The goal, then each part under its heading; one line a thing, each with its id.
    pub text: String,
    /// About how many tokens the text has: a token for four letters, or for one character of a script without blanks.
    pub tokens: usize,
    /// What the agent is after, as a whole.
    pub goal: String,
    /// The slot in focus, then the most active ones.
    pub slots: Vec<SlotInContext>,
    /// The latest decisions, the latest first.
    pub decisions: Vec<EntryInContext>,
    /// The latest thoughts, the latest first.
    pub thoughts: Vec<EntryInContext>,
    /// The durable records that a search for the goal finds, best first.
    pub memories: Vec<MemoryInContext>,
    /// The parts that could not be looked at, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// What the search for records could not use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
}

/// A slot in the text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlotInContext {
    /// Its id.
    pub id: String,
    /// What stands in the text: a text as it is, anything else as JSON.
    pub text: String,
    /// How present it is, 0 to 1.
    pub activation: f64,
    /// Whether it is in focus.
    pub focused: bool,
}

/// A decision or a thought in the text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntryInContext {
    /// Its id.
    pub id: String,
    /// Its number in the session.
    pub seq: i64,
    /// What stands in the text.
    pub text: String,
}

/// A durable record in the text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryInContext {
    /// Its id.
    pub id: MemoryId,
    /// How good a hit it is, 0 to 1.
    pub score: f64,
    /// What stands in the text.
    pub text: String,
}

/// A part that is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// `slots` or `memories`.
    pub part: String,
    /// `forbidden`: the token has no right to it. `unavailable`: it is away for the moment.
    pub reason: String,
}

/// Gathers what an agent needs to go on with a session.
pub async fn context(app: &App, caller: &Caller, id: &str, query: &ContextQuery) -> Result<SessionContext> {
    let permit = caller.permit(Action::Read, Area::Cognitive)?;
    let id = parse_session("id", id)?;
    let wanted = query.max_tokens.as_deref().map(|text| parse("max_tokens", text)).transpose()?;
    let room = check_room(wanted)?;
    let (goal, entries) = {
        let mut tx = app.db.begin(&permit).await?;
        let session = store::find(&mut tx, id).await?.ok_or(Error::NotFound("session"))?;
        (session.goal, entry_store::latest(&mut tx, id, LATEST).await?)
    };
    let (slots, found) = tokio::join!(slots(app, caller), records(app, caller, &goal));
    let (slots, no_slots) = or_left_out("slots", slots)?;
    let (found, no_records) = or_left_out("memories", found)?;
    let (hits, degraded) = found;
    let (decisions, thoughts): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|entry| matches!(entry, Entry::Decision(_)));
    let parts = [
        Part { heading: "Workspace", lines: slots.iter().map(of_slot).collect::<Result<_>>()? },
        Part { heading: "Decisions", lines: decisions.iter().map(of_entry).collect() },
        Part { heading: "Thoughts", lines: thoughts.iter().map(of_entry).collect() },
        Part { heading: "Memory", lines: hits.iter().map(of_hit).collect() },
    ];
    let prompt = prompt::write(&goal, &parts, room);
    let [in_slots, in_decisions, in_thoughts, in_hits] = prompt.kept.as_slice() else {
        return Err(Error::internal("a prompt lost one of its parts"));
    };
    let entries = |all: &[Entry], kept: &[(usize, String)]| -> Vec<EntryInContext> {
        let entry = |(at, text): &(usize, String)| EntryInContext {
            id: entry_id(&all[*at]),
            seq: all[*at].seq(),
            text: text.clone(),
        };
        kept.iter().map(entry).collect()
    };
    let slot = |(at, text): &(usize, String)| SlotInContext {
        id: slots[*at].id.clone(),
        text: text.clone(),
        activation: slots[*at].activation,
        focused: slots[*at].focused,
    };
    let memory = |(at, text): &(usize, String)| MemoryInContext {
        id: hits[*at].record.id,
        score: hits[*at].score,
        text: text.clone(),
    };
    Ok(SessionContext {
        goal,
        slots: in_slots.iter().map(slot).collect(),
        decisions: entries(&decisions, in_decisions),
        thoughts: entries(&thoughts, in_thoughts),
        memories: in_hits.iter().map(memory).collect(),
        left_out: no_slots.into_iter().chain(no_records).collect(),
        degraded,
        text: prompt.text,
        tokens: prompt.tokens,
    })
}

/// The slots, the one in focus first, then the most active.
async fn slots(app: &App, caller: &Caller) -> Result<Vec<Seen>> {
    let mut items = workspace::look(app, caller, Look::default()).await?.items;
    items.sort_by_key(|item| !item.focused);
    Ok(items)
}

/// The records that a search for the goal finds, and what it could not use.
async fn records(app: &App, caller: &Caller, goal: &str) -> Result<(Vec<Hit>, Vec<String>)> {
    let wanted = Search { query: goal.to_owned(), ..Search::default() };
    let found = Box::pin(search(app, caller, &wanted)).await?;
    Ok((found.hits, found.degraded))
}

/// A part that the token has no right to, or that is away, is left out, and that is said.
fn or_left_out<T: Default>(part: &str, looked: Result<T>) -> Result<(T, Option<LeftOut>)> {
    let reason = match looked {
        Ok(found) => return Ok((found, None)),
        Err(Error::Forbidden(_)) => "forbidden",
        Err(Error::Unavailable { .. }) => "unavailable",
        Err(error) => return Err(error),
    };
    Ok((T::default(), Some(LeftOut { part: part.to_owned(), reason: reason.to_owned() })))
}

fn of_slot(slot: &Seen) -> Result<Line> {
    let text = match serde_json::from_str(slot.value.get()).map_err(Error::internal)? {
        Value::String(text) => text,
        _ => slot.value.get().to_owned(),
    };
    Ok(Line { id: slot.id.clone(), text })
}

fn of_entry(entry: &Entry) -> Line {
    Line { id: entry_id(entry), text: entry.text().to_owned() }
}

fn of_hit(hit: &Hit) -> Line {
    Line { id: hit.record.id.to_string(), text: said(&hit.record) }
}

fn entry_id(entry: &Entry) -> String {
    match entry {
        Entry::Thought(thought) => thought.id.to_string(),
        Entry::Decision(decision) => decision.id.to_string(),
        Entry::Interaction(interaction) => interaction.id.to_string(),
    }
}
