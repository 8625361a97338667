//! The name of a fact, and what makes two proposals the same (PC-38, R-05, R-54). Pure.
//!
//! The canonical key depends on scope, category, subject and attribute, and on nothing that a client could choose to
//! get another key for the same fact: not on its scope hint, not on a key of its own.

use std::fmt::Write;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::semantic::SemanticFields;
use super::word::{Attribute, Cardinality, Subject};
use crate::memory::text::normal_form;
use crate::memory::{Category, Scope, ScopeKind};

/// How many hexadecimal digits of a hash tell items apart: 64 bits within one scope, category and attribute.
const ITEM_DIGITS: usize = 16;

/// How long a custom attribute may be in a key, which is at most 256 bytes in all.
const MAX_CUSTOM_BYTES: usize = 160;

/// The name of a fact, how many values it can have, and which one this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactKey {
    /// The name.
    pub key: String,
    /// How many values it can have.
    pub cardinality: Cardinality,
    /// What is compared of it, in normal form.
    pub normal_value: String,
}

/// Gives a fact its name.
pub fn fact_key(scope: &Scope, semantic: &SemanticFields, content: &str, value: Option<&Value>) -> FactKey {
    let attribute = match (&semantic.custom_attribute, semantic.attribute) {
        (Some(name), Attribute::Custom) => custom_attribute(name),
        _ => attribute(semantic.attribute).to_owned(),
    };
    let is_named = semantic.attribute != Attribute::Custom || semantic.custom_attribute.is_some();
    // There is one current user, agent, workspace and project in a scope, but there are many persons.
    let is_one = matches!(
        semantic.subject,
        Subject::CurrentUser | Subject::CurrentAgent | Subject::Workspace | Subject::Project
    );
    let cardinality = match (is_named, is_one) {
        (true, true) => Cardinality::SingleValue,
        (true, false) => Cardinality::MultiValue,
        (false, _) => Cardinality::SetMembership,
    };
    let (owner, category, subject) =
        (owner(scope.kind), semantic.category.as_str(), subject(semantic.subject));
    let mut key = format!("{owner}:{category}:{subject}:{attribute}");
    // Where there can be several, the text tells them apart: `likes the sea` and `hates the sea` have one value.
    let normal_value = match cardinality {
        Cardinality::SingleValue => normal_value(content, value),
        Cardinality::MultiValue | Cardinality::SetMembership => {
            let text = normal_form(content);
            key.push(':');
            key.push_str(&hex(&Sha256::digest(&text))[..ITEM_DIGITS]);
            text
        }
    };
    FactKey { key, cardinality, normal_value }
}

/// The name of an attribute of the client's own: no other attribute has it, neither of the client's nor of ours.
fn custom_attribute(name: &str) -> String {
    let name = normal_form(name);
    let mut written = String::from("custom.");
    for c in name.chars() {
        match c {
            ' ' => written.push('+'),
            ':' => written.push_str("~."),
            '+' | '~' => written.extend(['~', c]),
            _ => written.push(c),
        }
    }
    if written.len() <= MAX_CUSTOM_BYTES {
        return written;
    }
    // A sign may have a normal form of many letters.
    format!("custom.~#{}", hex(&Sha256::digest(&name)[..16]))
}

fn normal_value(content: &str, value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => normal_form(content),
        Some(Value::String(text)) => normal_form(text),
        // serde_json keeps the members of an object sorted, which makes this the canonical form.
        Some(other) => other.to_string(),
    }
}

/// The same proposal has the same fingerprint, and no other has it.
pub fn fingerprint(scope: &Scope, category: Category, key: &str, normal_value: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [scope.kind.as_str(), &scope.key, category.as_str(), key, normal_value] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// In hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn owner(kind: ScopeKind) -> &'static str {
    match kind {
        ScopeKind::User => "user/global",
        ScopeKind::Agent => "agent/global",
        ScopeKind::Workspace => "project/workspace",
        ScopeKind::Thread => "thread",
        ScopeKind::Task => "task",
    }
}

fn subject(subject: Subject) -> &'static str {
    match subject {
        Subject::CurrentUser => "self",
        Subject::CurrentAgent => "agent",
        Subject::Workspace => "workspace",
        Subject::Project => "project",
        Subject::Person => "person",
        Subject::Organization => "organization",
        Subject::Artifact => "artifact",
        Subject::Custom => "custom",
    }
}

fn attribute(attribute: Attribute) -> &'static str {
    match attribute {
        Attribute::Name => "name",
        Attribute::Birthday => "birthday",
        Attribute::PreferredLanguage => "preferred_language",
        Attribute::CommunicationStyle => "communication_style",
        Attribute::MigrationPolicy => "migration_policy",
        Attribute::ReviewStyle => "review_style",
        Attribute::PhaseNaming => "phase_naming",
        Attribute::Custom => "custom",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::word::{Certainty, Durability, Explicitness, Intent, ScopeHint, SensitivityHint};
    use serde_json::json;

    fn fields(subject: Subject, attribute: Attribute) -> SemanticFields {
        SemanticFields {
            intent: Intent::ExplicitStore,
            explicitness: Explicitness::Explicit,
            category: Category::Identity,
            subject,
            attribute,
            custom_attribute: None,
            scope_hint: ScopeHint::UserGlobal,
            durability: Durability::LongLived,
            sensitivity: SensitivityHint::None,
            certainty: Certainty::High,
        }
    }

    fn alice() -> Scope {
        "user:alice".parse().expect("a scope")
    }

    fn key(fields: &SemanticFields, content: &str) -> FactKey {
        fact_key(&alice(), fields, content, None)
    }

    #[test]
    fn a_single_fact_is_named_by_what_it_is_about_pc38() {
        let fields = fields(Subject::CurrentUser, Attribute::Name);
        let found = key(&fields, "My name is Ada.");
        assert_eq!(found.key, "user/global:identity:self:name");
        assert_eq!(found.cardinality, Cardinality::SingleValue);
        let hinted = SemanticFields { scope_hint: ScopeHint::ProjectWorkspace, ..fields };
        assert_eq!(key(&hinted, "Another text.").key, found.key, "neither hint nor text choose the key");
    }

    #[test]
    fn different_facts_never_share_a_key_r54() {
        let custom = fields(Subject::CurrentUser, Attribute::Custom);
        let keys =
            ["Likes tea.", "Likes no tea.", "Rent 900", "Rent 9000"].map(|text| key(&custom, text).key);
        for (at, one) in keys.iter().enumerate() {
            assert!(one.starts_with("user/global:identity:self:custom:"), "{one}");
            assert!(keys[at + 1..].iter().all(|other| other != one));
        }
        assert_eq!(key(&custom, "likes  TEA.").key, keys[0], "equal normal forms are one fact");
        let named = SemanticFields { custom_attribute: Some("Favourite: editor".to_owned()), ..custom };
        assert_eq!(key(&named, "Vim.").key, "user/global:identity:self:custom.favourite~.+editor");
        let person = fields(Subject::Person, Attribute::Birthday);
        assert_ne!(key(&person, "Bob: 1 May").key, key(&person, "Eve: 1 May").key);
    }

    #[test]
    fn two_names_of_attributes_are_one_only_in_their_normal_form_r05() {
        let named = |name: &str| {
            let custom = fields(Subject::CurrentUser, Attribute::Custom);
            key(&SemanticFields { custom_attribute: Some(name.to_owned()), ..custom }, "x").key
        };
        let names =
            ["sensor:1", "sensor_1", "sensor 1", "sensor+1", "sensor~.1", "sensor~:1", "name", "custom"];
        for (at, one) in names.iter().enumerate() {
            assert!(names[at + 1..].iter().all(|other| named(other) != named(one)), "{one}");
        }
        assert_eq!(named("  Sensor   1 "), named("sensor 1"));
        assert_ne!(named("name"), key(&fields(Subject::CurrentUser, Attribute::Name), "x").key);
        assert_ne!(named("custom"), key(&fields(Subject::CurrentUser, Attribute::Custom), "x").key);
    }

    #[test]
    fn the_longest_key_fits_a_record() {
        let most = crate::candidate::semantic::MAX_ATTRIBUTE_BYTES;
        // The sign has a normal form of eighteen letters.
        for name in ["x".repeat(most), ":".repeat(most), "ﷺ".repeat(most / 3)] {
            let fields = SemanticFields {
                category: Category::RecurringInstruction,
                custom_attribute: Some(name),
                ..fields(Subject::Organization, Attribute::Custom)
            };
            let scope = "workspace:w".parse().expect("a scope");
            assert!(fact_key(&scope, &fields, "x", None).key.len() <= 256);
        }
    }

    #[test]
    fn values_are_compared_in_their_normal_form_r05() {
        let print = |content: &str, value: Option<Value>| {
            fingerprint(&alice(), Category::Identity, "k", &normal_value(content, value.as_ref()))
        };
        assert_eq!(print("x", Some(json!("Ada"))), print("y", Some(json!(" ADA "))));
        assert_ne!(print("x", Some(json!("20260719"))), print("x", Some(json!(20_260_720))));
        assert_ne!(print("x", Some(json!({ "a": 1 }))), print("x", Some(json!({ "a": 2 }))));
        assert_eq!(print("Ada", None), print("ada", Some(Value::Null)));
        let bob: Scope = "user:bob".parse().expect("a scope");
        assert_ne!(
            fingerprint(&alice(), Category::Identity, "k", "v"),
            fingerprint(&bob, Category::Identity, "k", "v")
        );
    }
}
