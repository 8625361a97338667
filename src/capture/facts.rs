//! From what an extractor found to semantic writes. Pure.

use std::ops::Range;

use serde_json::{Map, Value, json};

use crate::candidate::semantic::{Evidence, MAX_QUOTE_BYTES, SemanticFields, SemanticWrite, Span};
use crate::candidate::word::{Certainty, Disposition, Intent, ScopeHint};
use crate::extract::{By, Extraction, Fact};
use crate::memory::text::is_blank;
use crate::memory::{Provenance, Scope, SourceContextKind, SourceKind};
use crate::source::Source;
use crate::time::UnixTime;

/// How many facts of one text are stored, at most, so that no transaction is long.
pub const MAX_FACTS: usize = 256;

/// The writes for the facts of a text that are sure enough, and how many are left out because there are too many.
pub fn writes(
    source: &Source,
    content: &str,
    owner: &Scope,
    extraction: &Extraction,
) -> (Vec<SemanticWrite>, usize) {
    let sure = extraction.facts.iter().filter(|fact| fact.certainty != Certainty::Low);
    let mut writes: Vec<SemanticWrite> =
        sure.map(|fact| write(source, content, owner, extraction.by, fact)).collect();
    let left_out = writes.len().saturating_sub(MAX_FACTS);
    writes.truncate(MAX_FACTS);
    (writes, left_out)
}

/// What is to be said of a job beside what it found.
pub fn note(fallback: Option<String>, left_out: usize) -> Option<String> {
    let left_out = (left_out > 0).then(|| format!("{left_out} facts were left out"));
    let parts: Vec<String> = fallback.into_iter().chain(left_out).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn write(source: &Source, content: &str, owner: &Scope, by: By, fact: &Fact) -> SemanticWrite {
    let conversation = source.client.conversation_id.clone();
    let quote = quote(content, &fact.span);
    SemanticWrite {
        scope: owner.clone(),
        semantic: SemanticFields {
            intent: Intent::ImplicitCandidate,
            explicitness: fact.explicitness,
            category: fact.category,
            subject: fact.subject,
            attribute: fact.attribute,
            custom_attribute: fact.custom_attribute.clone(),
            // It is the user who captures.
            scope_hint: ScopeHint::UserGlobal,
            durability: fact.durability,
            sensitivity: fact.sensitivity,
            certainty: fact.certainty,
        },
        content: fact.content.clone(),
        value: None,
        evidence: vec![Evidence {
            source_thread_id: conversation.clone(),
            source_ref: Some(source.id.to_string()),
            quote: Some(quote.to_owned()).filter(|quote| !is_blank(quote)),
            span: Some(Span { start: fact.span.start as u64, end: fact.span.end as u64 }),
            ..Evidence::default()
        }],
        provenance: Some(Provenance {
            source_thread_id: conversation,
            source_item_id: Some(source.id.to_string()),
            source_kind: Some(SourceKind::BackgroundExtractor),
            ..Provenance::default()
        }),
        source_context_kind: Some(SourceContextKind::GeneratedSummary),
        confidence: None,
        importance: Some(fact.importance),
        disposition: Disposition::AcceptActive,
        context: None,
        metadata: Some(metadata(source, by, fact)),
        client_provided_key: None,
        status: None,
        score: None,
        idempotency_key: None,
    }
}

fn metadata(source: &Source, by: By, fact: &Fact) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("type".to_owned(), json!(fact.kind.as_str()));
    metadata.insert("extractor".to_owned(), json!(by.as_str()));
    if let Some(due) = fact.due {
        metadata.insert("due".to_owned(), json!(UnixTime(due)));
    }
    if !source.client.is_empty() {
        metadata.insert("client".to_owned(), json!(source.client));
    }
    metadata
}

/// The words of a fact in its text, as much of them as a quote can hold.
fn quote<'t>(content: &'t str, span: &Range<usize>) -> &'t str {
    let words = content.get(span.clone()).unwrap_or_default();
    &words[..words.floor_char_boundary(MAX_QUOTE_BYTES)]
}
