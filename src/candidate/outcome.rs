//! A fact that may become a record, and how it becomes one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::key::{FactKey, fact_key, fingerprint, hex};
use super::policy::is_secret;
use super::semantic::{CanonicalKey, Evidence, SemanticFields};
use super::{Stored, merge_evidence, store};
use crate::app::App;
use crate::auth::{Actor, Permit};
use crate::db::TenantTx;
use crate::error::{Error, Result};
use crate::memory::accept::{self, Incoming};
use crate::memory::draft::MAX_METADATA_BYTES;
use crate::memory::remember::{Remember, Remembered};
use crate::memory::text::normal_form;
use crate::memory::write::Changes;
use crate::memory::{Context, Provenance, Record, Scope, Sensitivity, SourceContextKind};

/// The member of a record's metadata that says what it means.
const SEMANTIC: &str = "semantic";
/// The member of a record's metadata that says where it comes from.
const EVIDENCE: &str = "evidence";

/// What a fact is made of.
pub struct Parts {
    pub scope: Scope,
    pub semantic: SemanticFields,
    pub content: String,
    pub value: Option<Value>,
    pub evidence: Vec<Evidence>,
    pub provenance: Provenance,
    pub source_context_kind: Option<SourceContextKind>,
    pub confidence: Option<f64>,
    pub importance: Option<f64>,
    pub context: Option<Context>,
    pub client: Map<String, Value>,
}

/// A fact that may become a record: checked, named and embedded.
#[derive(Clone)]
pub struct Fact {
    pub scope: Scope,
    pub semantic: SemanticFields,
    pub value: Option<Value>,
    pub evidence: Vec<Evidence>,
    pub key: FactKey,
    pub fingerprint: [u8; 32],
    pub incoming: Incoming,
}

/// What is known of a fact.
pub enum Known {
    Nothing,
    /// An active record says it.
    Same(Box<Record>),
    /// An active record says something else under its key.
    Other(Box<Record>),
}

/// What a record keeps of the fact it was made from.
#[derive(Serialize, Deserialize)]
struct Meaning {
    fingerprint: String,
    /// The content for which this holds, as a hash: a corrected record may mean something else.
    content_sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    fields: SemanticFields,
}

impl Fact {
    /// Checks a fact, and gives it its vector unless it is a secret.
    pub async fn prepare(app: &App, permit: &Permit, parts: Parts) -> Result<Self> {
        let mut fact = Self::check(app, permit, parts)?;
        fact.embed(app, permit).await?;
        Ok(fact)
    }

    /// Gives it its vector, unless it is a secret. No connection is held meanwhile.
    pub async fn embed(&mut self, app: &App, permit: &Permit) -> Result<()> {
        Self::embed_all(app, permit, std::iter::once(self)).await
    }

    /// Gives many their vectors, in one call to the embedder.
    pub async fn embed_all<'a>(
        app: &App,
        permit: &Permit,
        facts: impl Iterator<Item = &'a mut Self>,
    ) -> Result<()> {
        let open = facts.filter(|fact| !is_secret(fact.semantic.sensitivity));
        Incoming::embed_all(app, permit, open.map(|fact| &mut fact.incoming)).await
    }

    /// The same as [`Self::prepare`], without a vector.
    pub fn check(app: &App, permit: &Permit, parts: Parts) -> Result<Self> {
        let category = parts.semantic.category;
        let key = fact_key(&parts.scope, &parts.semantic, &parts.content, parts.value.as_ref());
        let fingerprint = fingerprint(&parts.scope, category, &key.key, &key.normal_value);
        let meaning = Meaning {
            fingerprint: hex(&fingerprint),
            content_sha256: content_hash(parts.content.trim()),
            value: parts.value.clone(),
            fields: parts.semantic.clone(),
        };
        let mut metadata = parts.client;
        metadata.insert(SEMANTIC.to_owned(), serde_json::to_value(meaning).map_err(Error::internal)?);
        // What is a secret is not kept, so that it needs no token that sees secrets.
        let sensitivity = if is_secret(parts.semantic.sensitivity) {
            Sensitivity::Normal
        } else {
            parts.semantic.record_sensitivity()
        };
        let new = Remember {
            scope: parts.scope.clone(),
            category,
            namespace: None,
            key: Some(key.key.clone()),
            content: parts.content,
            sensitivity: Some(sensitivity),
            confidence: parts.confidence,
            importance: parts.importance,
            provenance: Some(parts.provenance),
            source_context_kind: parts.source_context_kind,
            idempotency_key: None,
            supersedes: None,
            metadata: Some(with_evidence(metadata, &parts.evidence)?),
            context: parts.context,
            expires_at: None,
            embedding: None,
            embedding_model: None,
        };
        Ok(Self {
            incoming: Incoming::check(app, permit, new)?,
            scope: parts.scope,
            semantic: parts.semantic,
            value: parts.value,
            evidence: parts.evidence,
            key,
            fingerprint,
        })
    }

    /// The same fact in the name of who proposed it.
    pub fn by(mut self, author: Option<Actor>) -> Self {
        self.incoming.set_author(author);
        self
    }

    /// The same fact with the evidence of a candidate as it is by now, and as sensitive.
    pub fn proven_by(&self, candidate: &Stored) -> Result<Self> {
        let mut fact = self.clone();
        fact.evidence.clone_from(&candidate.detail.evidence);
        fact.semantic.raise(candidate.sensitivity);
        let mut metadata = fact.incoming.record().metadata.clone().unwrap_or_default();
        if let Some(fields) = metadata.get_mut(SEMANTIC).and_then(|meaning| meaning.get_mut("fields")) {
            *fields = serde_json::to_value(&fact.semantic).map_err(Error::internal)?;
        }
        fact.incoming.amend(with_evidence(metadata, &fact.evidence)?, candidate.sensitivity);
        Ok(fact)
    }

    /// What it says, as it is stored.
    pub fn content(&self) -> &str {
        &self.incoming.record().content
    }

    /// Its name, as it is answered.
    pub fn canonical_key(&self, permit: &Permit) -> CanonicalKey {
        CanonicalKey {
            key: self.key.key.clone(),
            scope: self.scope.clone(),
            namespace: permit.namespace().clone(),
            category: self.semantic.category,
            cardinality: self.key.cardinality,
        }
    }

    /// Whether a record says the same: equal texts in normal form, or equal values under the same key.
    pub fn is_said_by(&self, record: &Record) -> bool {
        let said = normal_form(&record.content);
        if said == normal_form(self.content()) {
            return true;
        }
        let meaning = record.metadata.as_ref().and_then(|metadata| metadata.get(SEMANTIC)).cloned();
        let meaning = meaning.and_then(|meaning| serde_json::from_value::<Meaning>(meaning).ok());
        match meaning.filter(|meaning| meaning.content_sha256 == content_hash(&record.content)) {
            Some(meaning) => meaning.fingerprint == hex(&self.fingerprint),
            None => said == self.key.normal_value,
        }
    }

    /// Looks for what is known of it, and keeps that from changing.
    pub async fn look_up(&self, tx: &mut TenantTx, changes: &mut Changes) -> Result<Known> {
        let by_key = accept::lock_by_key(tx, changes, &self.scope, &self.key.key).await?;
        if let Some(record) = by_key.as_ref().filter(|record| self.is_said_by(record)) {
            return Ok(Known::Same(Box::new(record.clone())));
        }
        let category = self.semantic.category;
        if let Some(record) = accept::lock_by_text(tx, changes, &self.scope, category, self.content()).await?
        {
            return Ok(Known::Same(Box::new(record)));
        }
        Ok(by_key.map_or(Known::Nothing, |record| Known::Other(Box::new(record))))
    }

    /// Whether a user forgot it.
    pub async fn is_forgotten(&self, tx: &mut TenantTx) -> Result<bool> {
        let category = self.semantic.category;
        let forgotten = accept::forgotten(tx, &self.scope, category, &self.key.key, self.content()).await?;
        Ok(forgotten.iter().any(|record| self.is_said_by(record)))
    }

    /// Makes it a record, in the place of the one that says something else under its key.
    pub async fn accept(
        &self,
        tx: &mut TenantTx,
        permit: &Permit,
        changes: &mut Changes,
        old: Option<&Record>,
    ) -> Result<Remembered> {
        let remembered = accept::accept(tx, permit, changes, &self.incoming, old).await?;
        if let Some(old) = remembered.superseded_memory_id {
            store::supersede(tx, old).await?;
        }
        Ok(remembered)
    }
}

/// Adds evidence of something this sensitive to a record, which is as sensitive from then on. Tells whether any was new.
pub async fn add_evidence(
    tx: &mut TenantTx,
    permit: &Permit,
    changes: &mut Changes,
    record: Record,
    more: &[Evidence],
    sensitivity: Sensitivity,
) -> Result<(Record, bool)> {
    permit.require(&record.scope, record.sensitivity)?;
    let before = record.metadata.clone().unwrap_or_default();
    let known = before.get(EVIDENCE).cloned();
    let mut evidence: Vec<Evidence> =
        known.and_then(|known| serde_json::from_value(known).ok()).unwrap_or_default();
    if !merge_evidence(&mut evidence, more) {
        return Ok((record, false));
    }
    let metadata = with_evidence(before.clone(), &evidence)?;
    if metadata == before {
        return Ok((record, false));
    }
    Ok((accept::amend(tx, permit, changes, record, metadata, sensitivity).await?, true))
}

/// Metadata with as much of the evidence as fits beside the rest, the first first.
fn with_evidence(mut metadata: Map<String, Value>, evidence: &[Evidence]) -> Result<Map<String, Value>> {
    metadata.remove(EVIDENCE);
    let size = |value: &Map<String, Value>| serde_json::to_vec(value).map(|json| json.len());
    // The name, its quotes, a colon, a comma and two brackets.
    let mut left =
        MAX_METADATA_BYTES.saturating_sub(size(&metadata).map_err(Error::internal)? + EVIDENCE.len() + 6);
    let mut kept = Vec::new();
    for piece in evidence {
        let piece = serde_json::to_value(piece).map_err(Error::internal)?;
        let length = piece.to_string().len() + 1;
        if length > left {
            break;
        }
        left -= length;
        kept.push(piece);
    }
    if !kept.is_empty() {
        metadata.insert(EVIDENCE.to_owned(), Value::Array(kept));
    }
    Ok(metadata)
}

fn content_hash(content: &str) -> String {
    hex(&Sha256::digest(normal_form(content)))
}
