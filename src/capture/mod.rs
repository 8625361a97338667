//! Capturing the output of a task: what is worth keeping in it is found and stored, and nobody has to do anything
//! (D-040 to D-045, XD-14 to XD-16).
//!
//! - The text is stored first, its secrets masked, together with the job that will look at it; then it is answered.
//! - What the job finds goes through the semantic write, in the name of an extractor and no further than the token
//!   reached that captured. No threshold keeps it out, but everything else that keeps a machine's word out does.
//! - All facts of a text are written together with the end of its job, or none.

mod facts;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::auth::{Action, Area, Caller, Permit};
use crate::candidate::found::Found;
use crate::db::with_retry;
use crate::error::{Error, Fault, Result};
use crate::extract::secret;
use crate::id::{JobId, MemoryId, SourceId};
use crate::idempotency::{self, Answer, Key};
use crate::job::{self, Claimed, JobStatus, NewCapture, Outcome};
use crate::memory::Sensitivity;
use crate::memory::text::is_blank;
use crate::memory::write::Changes;
use crate::source::{self, Client, Source, SourceTextKind};

/// The longest text, in bytes (D-040, XD-14).
pub const MAX_CONTENT_BYTES: usize = 32 * 1024;

/// The longest description, in characters; the rest is cut off (XD-14).
pub const MAX_DESCRIPTION_CHARS: usize = 500;

/// What a task has brought about.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// The text to be looked at: at most 32 KB of UTF-8.
    pub task_content: String,
    /// What it is, in a line: at most 500 characters; the rest is cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_description: Option<String>,
    /// In which conversation it came about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
}

/// That it was taken, and will be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Captured {
    /// Always true.
    pub ok: bool,
    /// The job, to ask what became of it.
    pub job_id: JobId,
    /// How far the job is: it waits.
    pub status: JobStatus,
}

/// A text in order, its secrets masked.
struct Checked {
    content: String,
    description: Option<String>,
    client: Client,
    masked: Vec<String>,
}

/// Takes a text to be looked at in the background.
///
/// Answers 202 at once: neither extractor nor embedder is waited for.
pub async fn capture(app: &App, caller: &Caller, new: Capture, key: Option<Key>) -> Result<Answer<Captured>> {
    let permit = &caller.permit(Action::Write, Area::Durable)?;
    let once = idempotency::run(app, permit, key, |claim| async move {
        let owner = source::owner(permit);
        permit.require(&owner, Sensitivity::Normal)?;
        let checked = new.check()?;
        with_retry(|| async {
            let now = app.clock.now();
            let source = checked.source(now);
            let mut tx = app.db.begin(permit).await?;
            source::keep(&mut tx, &source).await?;
            let job = NewCapture { source: source.id, owner: owner.clone(), masked: checked.masked.clone() };
            let job_id = job::enqueue(&mut tx, permit, &job, now).await?;
            let body = Captured { ok: true, job_id, status: JobStatus::Queued };
            let answer = Answer { status: 202, ..Answer::ok(body) };
            claim.settle(&mut tx, permit, &answer).await?;
            tx.commit().await?;
            app.jobs.ring();
            Ok(answer)
        })
        .await
    });
    Box::pin(once).await
}

impl Capture {
    fn check(self) -> Result<Checked> {
        let length = self.task_content.len();
        if length > MAX_CONTENT_BYTES {
            let rule = "is larger than 32 KB: capture it in parts";
            let limit = Some((MAX_CONTENT_BYTES as u64, length as u64));
            return Err(Error::TooLarge(Fault { field: "task_content".into(), rule: rule.into(), limit }));
        }
        let content = self.task_content.replace('\0', "");
        if is_blank(&content) {
            return Err(Error::invalid("task_content", "is empty or blank"));
        }
        let mut client = self.client.unwrap_or_default().clean()?;
        let mut masked = Vec::new();
        let mut mask = |text: &str| {
            let (text, kinds) = secret::mask(text);
            masked.extend(kinds);
            text
        };
        let content = mask(&content);
        let description = self.task_description.map(|text| line(&mask(&text)));
        client.conversation_title = client.conversation_title.map(|title| mask(&title));
        masked.sort_unstable();
        masked.dedup();
        let masked = masked.into_iter().map(|kind| kind.as_str().to_owned()).collect();
        Ok(Checked { content, description: description.filter(|text| !is_blank(text)), client, masked })
    }
}

impl Checked {
    fn source(&self, now: chrono::DateTime<chrono::Utc>) -> Source {
        Source {
            id: SourceId::new(),
            kind: SourceTextKind::Capture,
            content: Some(self.content.clone()),
            description: self.description.clone(),
            client: self.client.clone(),
            created_at: now,
        }
    }
}

/// A text as one line of at most 500 characters.
fn line(text: &str) -> String {
    let text = text.replace('\0', "").replace("\r\n", " ").replace(is_line_end, " ");
    text.trim().chars().take(MAX_DESCRIPTION_CHARS).collect()
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Looks at a text that was captured, and stores what is worth keeping.
pub async fn extract(app: &App, job: &Claimed) -> Result<()> {
    let permit = &job.permit()?;
    let mut tx = app.db.begin(permit).await?;
    let source = source::find(&mut tx, job.source()?).await?;
    drop(tx);
    let (Some(source), Some(content)) =
        (&source, source.as_ref().and_then(|source| source.content.as_deref()))
    else {
        let note = "the text was erased before it was looked at".to_owned();
        return store(app, permit, job, None, Outcome { note: Some(note), ..Outcome::default() }).await;
    };
    let extraction = app.extractor.extract(content, source.description.as_deref()).await?;
    let (writes, left_out) = facts::writes(source, content, &job.owner()?, &extraction);
    let found = Found::prepare(app, permit, writes).await?;
    let outcome = Outcome {
        memory_ids: Vec::new(),
        extracted_by: Some(extraction.by.as_str().to_owned()),
        note: facts::note(extraction.fallback, left_out + found.refused),
    };
    store(app, permit, job, Some((source.id, &found)), outcome).await
}

/// Writes what was found together with the end of the job.
async fn store(
    app: &App,
    permit: &Permit,
    job: &Claimed,
    found: Option<(SourceId, &Found)>,
    outcome: Outcome,
) -> Result<()> {
    with_retry(|| async {
        let now = app.clock.now();
        let mut tx = app.db.begin(permit).await?;
        let mut outcome = outcome.clone();
        if let Some((source, found)) = found {
            let mut changes = Changes::new(permit, now);
            let written = found.write(&mut tx, permit, &mut changes).await?;
            changes.write(&mut tx).await?;
            outcome.memory_ids = distinct(written.into_iter().filter_map(|fact| Some(fact.record?.id)));
            source::link(&mut tx, source, &outcome.memory_ids).await?;
        }
        job::settle(&mut tx, job, &outcome, now).await?;
        tx.commit().await
    })
    .await
}

/// Each once, in the order in which they come.
fn distinct(ids: impl Iterator<Item = MemoryId>) -> Vec<MemoryId> {
    ids.fold(Vec::new(), |mut ids, id| {
        if !ids.contains(&id) {
            ids.push(id);
        }
        ids
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_one_line_of_500_characters_xd14() {
        assert_eq!(line(" one\r\ntwo\nthree\u{2028}four\0 "), "one two three four");
        assert_eq!(line(&"é\n".repeat(400)).chars().count(), 500);
    }
}
