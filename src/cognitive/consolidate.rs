//! From a session into durable memory: its decisions and its summary, by way of the semantic write (R-30, PC-38).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::decision::Decision;
use super::entry::{Entry, EntryKind};
use super::entry_store;
use crate::app::App;
use crate::auth::Permit;
use crate::candidate::batch::write_all;
use crate::candidate::semantic::{Evidence, MAX_QUOTE_BYTES, SemanticFields, SemanticWrite, SemanticWritten};
use crate::candidate::word::{
    Attribute, Certainty, Disposition, Durability, Explicitness, Intent, Relation, ScopeHint,
    SensitivityHint, Subject,
};
use crate::error::Result;
use crate::id::{CandidateId, MemoryId, SessionId};
use crate::memory::text::is_blank;
use crate::memory::{Category, Provenance, Scope, ScopeKind, SourceContextKind};

/// How many decisions can be made durable: what is embedded and written well within the time a request has.
pub const MAX_DECISIONS: i64 = 1_000;

/// How many are embedded in one call and written in one transaction.
const PAGE: usize = 64;

/// What stands for the summary where decisions have their ids.
const SUMMARY: &str = "summary";

/// What became of a decision, or of the summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConsolidatedEntry")]
pub struct Consolidated {
    /// The decision's id, or `summary`.
    pub entry: String,
    /// How it relates to what was known; `duplicate` when it was durable memory already.
    pub relation: Relation,
    /// The active record that says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_id: Option<MemoryId>,
    /// The candidate it went through, or waits as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate_id: Option<CandidateId>,
}

/// The consolidation of one session, as far as it has come.
#[derive(Debug)]
pub struct Consolidation<'a> {
    permit: &'a Permit,
    session: SessionId,
    scope: Scope,
    /// The number of the last decision that was seen to.
    last_seq: i64,
    /// How many decisions were seen to.
    pub count: i64,
    /// What became of them.
    pub results: Vec<Consolidated>,
}

impl<'a> Consolidation<'a> {
    /// Nothing yet. The permit is one to write durable memory.
    pub fn new(permit: &'a Permit, session: SessionId, scope: Scope) -> Self {
        Self { permit, session, scope, last_seq: 0, count: 0, results: Vec::new() }
    }

    /// Sees to the decisions that were not seen to yet.
    pub async fn decisions(&mut self, app: &App, reader: &Permit) -> Result<()> {
        loop {
            let page = {
                let mut tx = app.db.begin(reader).await?;
                let kind = EntryKind::Decision;
                entry_store::entries_of_kind(&mut tx, self.session, kind, self.last_seq, PAGE).await?
            };
            let decisions: Vec<Decision> = page.into_iter().filter_map(decision).collect();
            let Some(last_seq) = decisions.last().map(|decision| decision.seq) else { return Ok(()) };
            let ids: Vec<String> = decisions.iter().map(|decision| decision.id.to_string()).collect();
            let count = ids.len();
            self.write(app, ids, decisions.into_iter().map(|decision| self.of_decision(decision)).collect())
                .await?;
            self.last_seq = last_seq;
            self.count += i64::try_from(count).unwrap_or(i64::MAX);
            if count < PAGE {
                return Ok(());
            }
        }
    }

    /// Sees to the summary, if there is one.
    pub async fn summary(&mut self, app: &App, summary: Option<&str>) -> Result<()> {
        let Some(summary) = summary else { return Ok(()) };
        let evidence = vec![self.evidence(&self.session.to_string(), summary)];
        let write = SemanticWrite {
            source_context_kind: Some(SourceContextKind::GeneratedSummary),
            ..self.of(Category::ProjectFact, summary.to_owned(), evidence)
        };
        self.write(app, vec![SUMMARY.to_owned()], vec![write]).await
    }

    async fn write(&mut self, app: &App, names: Vec<String>, writes: Vec<SemanticWrite>) -> Result<()> {
        let written = Box::pin(write_all(app, self.permit, writes)).await?;
        self.results.extend(names.into_iter().zip(written).map(|(entry, written)| result(entry, written)));
        Ok(())
    }

    fn of_decision(&self, decision: Decision) -> SemanticWrite {
        let id = decision.id.to_string();
        let mut evidence = vec![self.evidence(&id, &decision.decision)];
        evidence.extend(decision.rationale.map(|rationale| self.evidence(&id, &rationale)));
        SemanticWrite {
            confidence: decision.confidence,
            provenance: Some(Provenance {
                source_thread_id: Some(self.session.to_string()),
                source_item_id: Some(id),
                ..Provenance::default()
            }),
            ..self.of(Category::ProjectDecision, decision.decision, evidence)
        }
    }

    /// A fact that is said outright and is to be active.
    fn of(&self, category: Category, content: String, evidence: Vec<Evidence>) -> SemanticWrite {
        let is_agents = self.scope.kind == ScopeKind::Agent;
        SemanticWrite {
            scope: self.scope.clone(),
            semantic: SemanticFields {
                intent: Intent::ExplicitStore,
                explicitness: Explicitness::Explicit,
                category,
                subject: Subject::Project,
                attribute: Attribute::Custom,
                custom_attribute: None,
                scope_hint: if is_agents { ScopeHint::AgentGlobal } else { ScopeHint::Unknown },
                durability: Durability::LongLived,
                sensitivity: SensitivityHint::None,
                certainty: Certainty::High,
            },
            content,
            value: None,
            evidence,
            provenance: Some(Provenance {
                source_thread_id: Some(self.session.to_string()),
                ..Provenance::default()
            }),
            source_context_kind: Some(SourceContextKind::TaskRuntime),
            confidence: None,
            importance: None,
            disposition: Disposition::AcceptActive,
            context: None,
            metadata: json!({ "session_id": self.session }).as_object().cloned(),
            client_provided_key: None,
            status: None,
            score: None,
            idempotency_key: None,
        }
    }

    fn evidence(&self, source: &str, text: &str) -> Evidence {
        let text = text.trim();
        let quote = &text[..text.floor_char_boundary(MAX_QUOTE_BYTES)];
        Evidence {
            source_thread_id: Some(self.session.to_string()),
            source_ref: Some(source.to_owned()),
            quote: Some(quote.to_owned()).filter(|quote| !is_blank(quote)),
            ..Evidence::default()
        }
    }
}

fn decision(entry: Entry) -> Option<Decision> {
    match entry {
        Entry::Decision(decision) => Some(decision),
        Entry::Thought(_) | Entry::Interaction(_) => None,
    }
}

fn result(entry: String, written: SemanticWritten) -> Consolidated {
    Consolidated {
        entry,
        relation: written.relation,
        memory_id: written.record.map(|record| record.id),
        candidate_id: written.candidate.map(|candidate| candidate.id),
    }
}
