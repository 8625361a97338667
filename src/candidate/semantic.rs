//! A semantic write: what is sent, and what is answered (C-046, C-047, R-28, PC-38).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Candidate;
use super::word::{
    Attribute, Cardinality, Certainty, Disposition, Durability, Explicitness, Intent, Relation, ScopeHint,
    SensitivityHint, Subject,
};
use crate::auth::Namespace;
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::memory::draft::{check_name, clean};
use crate::memory::{Category, Context, Provenance, Record, Scope, Sensitivity, SourceContextKind};

/// How many pieces of evidence one write brings, at most.
pub const MAX_EVIDENCE: usize = 16;
/// The longest quote, in bytes.
pub const MAX_QUOTE_BYTES: usize = 2_048;
/// The longest name of an attribute of the client's own, in bytes.
pub const MAX_ATTRIBUTE_BYTES: usize = 64;
/// The largest value, in bytes of compact JSON.
pub const MAX_VALUE_BYTES: usize = 4_096;

/// What a text means, as far as the writer knows (C-046, C-071).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemorySemanticFields")]
#[serde(deny_unknown_fields)]
pub struct SemanticFields {
    /// What the speaker wants done with it.
    pub intent: Intent,
    /// Whether it was said outright.
    pub explicitness: Explicitness,
    /// What sort of thing it says.
    pub category: Category,
    /// Whom or what it is about.
    pub subject: Subject,
    /// What it says about the subject.
    pub attribute: Attribute,
    /// Names the attribute when it is `custom`: 1 to 64 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_attribute: Option<String>,
    /// Whose memory the writer takes it to be.
    #[serde(default)]
    pub scope_hint: ScopeHint,
    /// How long it is likely to hold.
    pub durability: Durability,
    /// How carefully it is to be treated.
    pub sensitivity: SensitivityHint,
    /// How sure the writer is of having understood.
    pub certainty: Certainty,
}

/// Where a text comes from (C-073). At least one member is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryEvidence")]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The conversation: at most 256 bytes, as the three below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_thread_id: Option<String>,
    /// The turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_turn_id: Option<String>,
    /// The item within the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_item_id: Option<String>,
    /// Anything else that names the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_ref: Option<String>,
    /// The words themselves: at most 2,048 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// Where they stand in the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
}

/// A part of a text, in whatever the client counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryEvidenceSpan")]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// Where it begins.
    pub start: u64,
    /// Where it ends; not before it begins.
    pub end: u64,
}

/// A proposal with its meaning. The service makes key, relation, score and final state (C-077).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemorySemanticWriteParams")]
#[serde(deny_unknown_fields)]
pub struct SemanticWrite {
    /// Whose memory it is to be.
    pub scope: Scope,
    /// What it means.
    pub semantic: SemanticFields,
    /// What it says: 1 to 65,536 bytes after trimming.
    pub content: String,
    /// The value alone, which is compared in place of the content: at most 4 KiB of JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Where it comes from: 1 to 16 pieces.
    #[schemars(length(min = 1, max = 16))]
    pub evidence: Vec<Evidence>,
    /// Where the record comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// What sort of text it was taken from; a user's own words unless given, if a user writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_context_kind: Option<SourceContextKind>,
    /// How sure the writer is, 0 to 1; 1 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// How much it matters, 0 to 1; 0.5 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importance: Option<f64>,
    /// What the writer asks the service to do.
    #[serde(default)]
    pub disposition: Disposition,
    /// Where in a conversation it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// The client's own data: at most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Kept as metadata, without effect (XC-39), as the two below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_provided_key: Option<String>,
    /// Kept as metadata, without effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Kept as metadata, without effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The same as the `Idempotency-Key` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// The name that the service gives a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCanonicalKey")]
pub struct CanonicalKey {
    /// `scope:category:subject:attribute`, and the item where there can be several.
    pub key: String,
    /// Whose fact it is.
    pub scope: Scope,
    /// The token's namespace.
    pub namespace: Namespace,
    /// What sort of thing it says.
    pub category: Category,
    /// How many values it can have.
    pub cardinality: Cardinality,
}

/// What became of a semantic write (PC-38).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemorySemanticWriteResult")]
pub struct SemanticWritten {
    /// How it relates to what was known.
    pub relation: Relation,
    /// The name the service gave it.
    pub canonical_key: CanonicalKey,
    /// SHA-256 over scope, key, category and value, in hexadecimal digits.
    pub semantic_fingerprint: String,
    /// The active record that says it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Record>,
    /// The candidate, if it went to the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<Candidate>,
    /// Whether a record or a candidate was made; a suppressed write makes none that counts.
    pub created: bool,
    /// The record whose place it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_memory_id: Option<MemoryId>,
    /// Whether its evidence was added to what was there.
    pub evidence_merged: bool,
}

impl SemanticFields {
    /// How carefully a record with this meaning is to be shown.
    pub fn record_sensitivity(&self) -> Sensitivity {
        match self.sensitivity {
            SensitivityHint::Personal => Sensitivity::Personal,
            SensitivityHint::Secret => Sensitivity::SecretLike,
            SensitivityHint::Regulated => Sensitivity::Regulated,
            SensitivityHint::None | SensitivityHint::Low | SensitivityHint::Unknown => Sensitivity::Normal,
        }
    }

    /// Makes it at least this sensitive.
    pub fn raise(&mut self, to: Sensitivity) {
        if to > self.record_sensitivity() {
            self.sensitivity = match to {
                Sensitivity::Normal => SensitivityHint::None,
                Sensitivity::Personal => SensitivityHint::Personal,
                Sensitivity::SecretLike => SensitivityHint::Secret,
                Sensitivity::Regulated => SensitivityHint::Regulated,
            };
        }
    }

    fn check(&self) -> Result<()> {
        let field = "semantic.custom_attribute";
        match &self.custom_attribute {
            Some(_) if self.attribute != Attribute::Custom => {
                Err(Error::invalid(field, "is given, and the attribute is not custom"))
            }
            Some(name) => check_name(field, Some(name), MAX_ATTRIBUTE_BYTES),
            None => Ok(()),
        }
    }
}

impl SemanticWrite {
    /// Checks what only a semantic write has, and cleans its quotes.
    pub fn check(&mut self) -> Result<()> {
        self.semantic.check()?;
        check_value("value", self.value.as_ref())?;
        if self.evidence.is_empty() || self.evidence.len() > MAX_EVIDENCE {
            let rule = format!("must hold 1 to {MAX_EVIDENCE} pieces");
            let actual = self.evidence.len() as u64;
            return Err(Error::over_limit("evidence", rule, MAX_EVIDENCE as u64, actual));
        }
        for (place, evidence) in self.evidence.iter_mut().enumerate() {
            evidence.check().map_err(|error| error.inside(&format!("evidence[{place}]")))?;
        }
        check_name("client_provided_key", self.client_provided_key.as_deref(), 256)?;
        check_name("status", self.status.as_deref(), 256)
    }
}

impl Evidence {
    fn check(&mut self) -> Result<()> {
        let names = [
            ("source_thread_id", &self.source_thread_id),
            ("source_turn_id", &self.source_turn_id),
            ("source_item_id", &self.source_item_id),
            ("source_ref", &self.source_ref),
        ];
        for (field, name) in names {
            check_name(field, name.as_deref(), 256)?;
        }
        self.quote = self.quote.take().map(|quote| clean("quote", &quote, MAX_QUOTE_BYTES)).transpose()?;
        if self.span.is_some_and(|span| span.end < span.start) {
            return Err(Error::invalid("span", "must not end before it begins"));
        }
        if *self == Self::default() {
            return Err(Error::invalid("", "must have at least one member"));
        }
        Ok(())
    }
}

/// A value that is compared: not too large, and without U+0000, which Postgres cannot hold in JSON.
pub fn check_value(field: &'static str, value: Option<&Value>) -> Result<()> {
    let Some(value) = value else { return Ok(()) };
    let json = value.to_string();
    if json.len() > MAX_VALUE_BYTES {
        let rule = format!("is larger than {MAX_VALUE_BYTES} bytes");
        return Err(Error::over_limit(field, rule, MAX_VALUE_BYTES as u64, json.len() as u64));
    }
    let members = Map::from_iter([("value".to_owned(), value.clone())]);
    if crate::memory::text::holds_nul(&members) {
        return Err(Error::invalid(field, "holds U+0000"));
    }
    Ok(())
}
