//! Finding what was saved: what answers a question, and what was saved last.

use std::collections::HashMap;
use std::fmt;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

use super::kind_of;
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::error::Result;
use crate::extract::ItemKind;
use crate::id::MemoryId;
use crate::memory::search::{Search, check_query, search_in};
use crate::memory::{Record, accept};
use crate::page::Limit;
use crate::source::{self, Client, clean_conversation_id};

/// How many of the newest notes are shown (XD-09).
const RECENT: u8 = 5;

/// How new they are.
const RECENT_FOR: TimeDelta = TimeDelta::hours(24);

/// What to search for (D-010 to D-016). Other members are ignored (XD-19).
#[derive(Debug, Clone, Default, Deserialize)]
pub struct SearchNotes {
    /// The question: 1 to 4,096 bytes.
    pub query: String,
    /// How many notes to find.
    #[serde(default)]
    pub k: Option<K>,
    /// Only notes saved in this conversation.
    #[serde(default)]
    pub conversation_id: Option<String>,
    /// Whether what is recent is left out of what is relevant; it is unless told.
    #[serde(default)]
    pub dedupe_recent: Option<bool>,
    /// In which conversation is asked; it limits nothing.
    #[serde(default)]
    pub client: Option<Client>,
}

/// How many notes are found: 8 unless told; a fraction is floored, what is outside of 1 to 20 is brought into it
/// (R-03, XD-08).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct K(u8);

impl K {
    const MAX: f64 = 20.0;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is 1 to 20")]
    fn from_number(number: f64) -> Self {
        Self(number.floor().clamp(1.0, Self::MAX) as u8)
    }

    /// The number.
    pub fn get(self) -> usize {
        self.0.into()
    }
}

impl Default for K {
    fn default() -> Self {
        Self(8)
    }
}

impl<'de> Deserialize<'de> for K {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        #[expect(clippy::cast_precision_loss, reason = "what is that large is 20")]
        impl Visitor<'_> for Number {
            type Value = K;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<K, E> {
                Ok(K::from_number(number as f64))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<K, E> {
                Ok(K::from_number(number as f64))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<K, E> {
                Ok(K::from_number(number))
            }
        }
        deserializer.deserialize_any(Number)
    }
}

/// What was found (XD-07).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// Always true.
    pub ok: bool,
    /// The question.
    pub query: String,
    /// What answers it best, best first.
    pub relevant: Vec<FoundItem>,
    /// The newest notes of the last 24 hours, newest first.
    pub recent: Vec<FoundItem>,
    /// How many are relevant.
    pub count: usize,
    /// What could not be used: `semantic` when there was no vector for the question.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
}

/// A note that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundItem {
    /// Its id.
    pub id: MemoryId,
    /// What it says.
    pub text: String,
    /// What sort of note it is.
    #[serde(rename = "type")]
    pub kind: ItemKind,
    /// How well it answers, 0 to 1; only of what is relevant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// When it was saved, RFC 3339 in UTC.
    pub created_at: String,
    /// In which conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// The title of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_title: Option<String>,
}

/// Finds the notes that answer a question, and those saved last.
pub async fn search(app: &App, caller: &Caller, wanted: SearchNotes) -> Result<Found> {
    let permit = caller.permit(Action::Read, Area::Durable)?;
    let query = check_query(&wanted.query)?.into_owned();
    let conversation = clean_conversation_id("conversation_id", wanted.conversation_id)?;
    let conversation = conversation.as_deref();
    let session = wanted.client.unwrap_or_default().clean()?;
    if let Some(id) = &session.conversation_id {
        // D-016, XD-18: who asks is written here and nowhere else.
        tracing::info!(conversation.id = id, "notes are searched");
    }
    let (k, is_deduped) = (wanted.k.unwrap_or_default(), wanted.dedupe_recent.unwrap_or(true));
    // As many more as may be recent, so that k are left (XD-10).
    let limit = Limit::of(u32::from(k.0) + if is_deduped { u32::from(RECENT) } else { 0 });
    let asked = Search { query: query.clone(), limit: Some(limit), ..Search::default() };
    let reply = search_in(app, caller, &asked, conversation).await?;
    let now = app.clock.now();
    let mut tx = app.db.begin(&permit).await?;
    let recent = recent(accept::newest(&mut tx, &permit, conversation, RECENT.into(), now).await?, now);
    let is_recent = |record: &Record| recent.iter().any(|other| other.id == record.id);
    let hits: Vec<(Record, f64)> = reply
        .hits
        .into_iter()
        .map(|hit| (hit.record, hit.score))
        .filter(|(record, _)| !is_deduped || !is_recent(record))
        .take(k.get())
        .collect();
    let ids: Vec<MemoryId> =
        hits.iter().map(|(record, _)| record).chain(&recent).map(|record| record.id).collect();
    let mut said = source::conversations(&mut tx, &ids, conversation).await?;
    let recent = recent.into_iter().map(|record| item(record, None, &mut said)).collect();
    let relevant: Vec<FoundItem> = hits
        .into_iter()
        .map(|(record, score)| item(record, Some(score.clamp(0.0, 1.0)), &mut said))
        .collect();
    Ok(Found { ok: true, query, count: relevant.len(), relevant, recent, degraded: reply.degraded })
}

fn recent(newest: Vec<Record>, now: DateTime<Utc>) -> Vec<Record> {
    newest.into_iter().filter(|record| record.created_at.0 > now - RECENT_FOR).collect()
}

fn item(record: Record, score: Option<f64>, said: &mut HashMap<MemoryId, Client>) -> FoundItem {
    let client = said.get(&record.id).cloned().unwrap_or_default();
    FoundItem {
        id: record.id,
        kind: kind_of(&record),
        text: record.content,
        score,
        created_at: record.created_at.0.to_rfc3339_opts(SecondsFormat::Secs, true),
        conversation_id: client.conversation_id,
        conversation_title: client.conversation_title,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_is_brought_into_its_limits_or_refused_xd08_r03_c051() {
        for (sent, k) in [
            ("5", 5),
            ("5.0", 5),
            ("5e0", 5),
            ("5.9", 5),
            ("1e3", 20),
            ("-1", 1),
            ("-0", 1),
            ("0", 1),
            ("0.9", 1),
            ("21", 20),
            ("1e19", 20),
            ("18446744073709551615", 20),
        ] {
            assert_eq!(serde_json::from_str::<K>(sent).expect(sent).get(), k, "{sent}");
        }
        for sent in [r#""5""#, "true", "[]", "{}"] {
            assert!(serde_json::from_str::<K>(sent).is_err(), "{sent}");
        }
        assert_eq!(serde_json::from_str::<Option<K>>("null").expect("absent"), None);
    }
}
