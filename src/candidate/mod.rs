//! Candidates: what was proposed as a durable record, and what became of it.
//!
//! - The service makes key, relation, score and final state, whatever the writer says (C-077).
//! - The same proposal is one candidate: its evidence is added to what is there.
//! - A candidate is decided once (PC-39), by the policy, by a reviewer, or by time.
//! - What was rejected, suppressed or forgotten does not come back on a machine's word (R-06, XC-31).

mod act;
pub mod batch;
mod decision;
mod erase_store;
pub mod found;
mod key;
mod outcome;
pub mod policy;
mod proposal;
pub mod read;
pub mod review;
pub mod score;
pub mod semantic;
mod similar;
mod store;
mod suppression_store;
pub mod sweep;
mod sweep_store;
mod trust;
pub mod word;
pub mod write;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use word::CandidateStatus;

use self::policy::Verdict;
use self::semantic::{Evidence, SemanticFields};
use crate::auth::{Actor, Namespace};
use crate::db::{OperatorTx, TenantTx};
use crate::error::Result;
use crate::id::{CandidateId, MemoryId, TenantId};
use crate::memory::{Category, Context, Provenance, Scope, Sensitivity, SourceContextKind};
use crate::time::UnixTime;
use crate::{event, idempotency};

/// A proposed record with its score, status, evidence and decision (C-048, PC-29, XC-38).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCandidate")]
pub struct Candidate {
    /// The candidate's id.
    pub id: CandidateId,
    /// Whose memory it is to be.
    pub scope: Scope,
    /// The namespace it lies in, which is the token's.
    pub namespace: Namespace,
    /// What sort of thing it says.
    pub category: Category,
    /// The canonical key, made by the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What it says; withheld when it must not be kept.
    pub candidate_text: String,
    /// How sure the writer is, 0 to 1.
    pub confidence: f64,
    /// Why the policy gave it its first state.
    pub reason: String,
    /// Where it comes from.
    pub provenance: Provenance,
    /// What sort of text it was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_context_kind: Option<SourceContextKind>,
    /// What became of it.
    pub status: CandidateStatus,
    /// The policy's score, 0 to 1.
    pub score: f64,
    /// Where the text comes from.
    pub evidence: Vec<Evidence>,
    /// When it was proposed.
    pub created_at: UnixTime,
    /// When it was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<UnixTime>,
    /// Why it was decided so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_reason: Option<String>,
    /// In whose name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Actor>,
    /// The record it became, or was merged into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_id: Option<MemoryId>,
    /// `candidate_policy`, `evidence`, `lifecycle`, and what the client sent along (XC-38).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// A candidate as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    id: CandidateId,
    fingerprint: [u8; 32],
    scope: Scope,
    namespace: Namespace,
    category: Category,
    key: String,
    text: String,
    status: CandidateStatus,
    sensitivity: Sensitivity,
    confidence: f64,
    reason: String,
    repeats: i64,
    created_at: UnixTime,
    expires_at: UnixTime,
    decided_at: Option<UnixTime>,
    decision_reason: Option<String>,
    decided_by: Option<Actor>,
    memory_id: Option<MemoryId>,
    detail: Detail,
}

/// What no statement asks for.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Detail {
    semantic: SemanticFields,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    evidence: Vec<Evidence>,
    verdict: Verdict,
    provenance: Provenance,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source_context_kind: Option<SourceContextKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<Context>,
    importance: f64,
    /// The client's own data, and what it sent that has no effect.
    client: Map<String, Value>,
    /// What the text was before a reviewer edited it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    original_text: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    suppress_similar: bool,
}

impl Stored {
    /// The candidate as clients see it. One whose time is over is expired, whether or not the sweeper has seen it.
    fn shown(self, now: chrono::DateTime<chrono::Utc>) -> Candidate {
        let is_late = self.status.is_pending() && self.expires_at.0 <= now;
        let status = if is_late { CandidateStatus::Expired } else { self.status };
        let metadata = self.metadata(status);
        Candidate {
            id: self.id,
            scope: self.scope,
            namespace: self.namespace,
            category: self.category,
            key: Some(self.key),
            candidate_text: self.text,
            confidence: self.confidence,
            reason: self.reason,
            provenance: self.detail.provenance,
            source_context_kind: self.detail.source_context_kind,
            status,
            score: self.detail.verdict.score,
            evidence: self.detail.evidence,
            created_at: self.created_at,
            decided_at: self.decided_at,
            decision_reason: self.decision_reason,
            decided_by: self.decided_by,
            memory_id: self.memory_id,
            metadata: Some(metadata),
        }
    }

    fn metadata(&self, status: CandidateStatus) -> Map<String, Value> {
        let json = |value: &dyn Fn() -> serde_json::Result<Value>| value().unwrap_or(Value::Null);
        let mut lifecycle = serde_json::json!({
            "status": status,
            "created_at": self.created_at,
            "expires_at": self.expires_at,
            "repeats": self.repeats,
        });
        let mut add = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                lifecycle[name] = value;
            }
        };
        add("decided_at", self.decided_at.map(|at| Value::from(at.0.timestamp())));
        add("decision_reason", self.decision_reason.clone().map(Value::from));
        add("decided_by", self.decided_by.as_ref().map(|actor| json(&|| serde_json::to_value(actor))));
        add("memory_id", self.memory_id.map(|id| Value::from(id.to_string())));
        add("original_text", self.detail.original_text.clone().map(Value::from));
        let mut metadata = Map::new();
        metadata.insert("candidate_policy".to_owned(), json(&|| serde_json::to_value(&self.detail.verdict)));
        metadata.insert("evidence".to_owned(), json(&|| serde_json::to_value(&self.detail.evidence)));
        metadata.insert("lifecycle".to_owned(), lifecycle);
        metadata.insert("semantic".to_owned(), json(&|| serde_json::to_value(&self.detail.semantic)));
        if let Some(value) = &self.detail.value {
            metadata.insert("value".to_owned(), value.clone());
        }
        if !self.detail.client.is_empty() {
            metadata.insert("client".to_owned(), Value::Object(self.detail.client.clone()));
        }
        if self.detail.suppress_similar {
            metadata.insert("suppress_similar".to_owned(), Value::Bool(true));
        }
        metadata
    }

    /// Takes the evidence of what is the same, and is from then on as sensitive as that. Tells whether any was new.
    fn gather(&mut self, more: &[Evidence], sensitivity: Sensitivity) -> bool {
        let is_merged = merge_evidence(&mut self.detail.evidence, more);
        if is_merged && sensitivity > self.sensitivity {
            self.sensitivity = sensitivity;
            self.detail.semantic.raise(sensitivity);
        }
        is_merged
    }

    fn is_open(&self, now: chrono::DateTime<chrono::Utc>) -> bool {
        self.status.is_pending() && self.expires_at.0 > now
    }
}

/// Adds pieces of evidence that are not there yet, up to 64 in all. Tells whether any was.
fn merge_evidence(there: &mut Vec<Evidence>, more: &[Evidence]) -> bool {
    let before = there.len();
    for piece in more {
        if there.len() < MAX_MERGED_EVIDENCE && !there.contains(piece) {
            there.push(piece.clone());
        }
    }
    there.len() > before
}

/// How many pieces of evidence a candidate or record keeps: enough to judge, and a page to read.
const MAX_MERGED_EVIDENCE: usize = 64;

/// Removes for good the candidates that became these records or were merged into them.
pub(crate) async fn erase_of(tx: &mut TenantTx, memories: &[MemoryId]) -> Result<()> {
    let ids = erase_store::erase_of(tx, memories).await?;
    erase_traces(tx, &ids).await
}

/// Removes for good the candidates that became records of many tenants or were merged into them, and the rejected ones
/// that proposed the same.
pub(crate) async fn purge_of(tx: &mut OperatorTx, memories: &[(TenantId, i32, MemoryId)]) -> Result<()> {
    erase_store::purge_of(tx, memories).await
}

/// Removes for good the candidates and suppressions of a scope, as far as these sensitivities reach.
pub(crate) async fn erase_scope(
    tx: &mut TenantTx,
    scope: &Scope,
    sensitivity: &BTreeSet<Sensitivity>,
) -> Result<()> {
    let levels: Vec<Sensitivity> = sensitivity.iter().copied().collect();
    let ids = erase_store::erase_scope(tx, scope, &levels).await?;
    erase_traces(tx, &ids).await
}

/// What was told of candidates, answered about them, or is suppressed because of them.
async fn erase_traces(tx: &mut TenantTx, ids: &[CandidateId]) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    suppression_store::erase(tx, ids).await?;
    event::erase_candidates(tx, ids).await?;
    idempotency::erase(tx, ids.iter().map(ToString::to_string).collect()).await
}
