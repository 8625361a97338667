//! Ids: UUIDv7 in a printed form of a prefix and 26 characters of Crockford base32, lower case.
//!
//! This is the only maker of ids.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// What an id points to.
pub trait Kind: Send + Sync + 'static {
    /// What stands before the underscore.
    const PREFIX: &'static str;
    /// What the thing is called in an error.
    const NAME: &'static str;
}

/// An id of one kind of thing. Ids sort by the time they were made.
pub struct Id<K>(Uuid, PhantomData<fn() -> K>);

/// The kinds of things that have ids.
pub mod kind {
    use super::Kind;

    /// A durable memory record.
    pub enum Memory {}
    /// A tenant.
    pub enum Tenant {}
    /// A capability token (its `jti`).
    pub enum Capability {}
    /// An API key, an operator key or a personal token.
    pub enum Key {}
    /// A row of the outbox.
    pub enum Event {}
    /// A candidate for a record.
    pub enum Candidate {}
    /// A cognitive session.
    pub enum Session {}
    /// A thought in a session.
    pub enum Thought {}
    /// A decision in a session.
    pub enum Decision {}
    /// An interaction in a session.
    pub enum Interaction {}
    /// A request to the API.
    pub enum Request {}
    /// A process that serves.
    pub enum Node {}
    /// A job.
    pub enum Job {}
    /// A text that records were made from.
    pub enum Source {}

    impl Kind for Memory {
        const PREFIX: &'static str = "mem";
        const NAME: &'static str = "memory";
    }
    impl Kind for Candidate {
        const PREFIX: &'static str = "cnd";
        const NAME: &'static str = "candidate";
    }
    impl Kind for Tenant {
        const PREFIX: &'static str = "ten";
        const NAME: &'static str = "tenant";
    }
    impl Kind for Capability {
        const PREFIX: &'static str = "cap";
        const NAME: &'static str = "capability";
    }
    impl Kind for Key {
        const PREFIX: &'static str = "key";
        const NAME: &'static str = "key";
    }
    impl Kind for Event {
        const PREFIX: &'static str = "evt";
        const NAME: &'static str = "event";
    }
    impl Kind for Session {
        const PREFIX: &'static str = "ses";
        const NAME: &'static str = "session";
    }
    impl Kind for Thought {
        const PREFIX: &'static str = "tht";
        const NAME: &'static str = "thought";
    }
    impl Kind for Decision {
        const PREFIX: &'static str = "dec";
        const NAME: &'static str = "decision";
    }
    impl Kind for Interaction {
        const PREFIX: &'static str = "int";
        const NAME: &'static str = "interaction";
    }
    impl Kind for Request {
        const PREFIX: &'static str = "req";
        const NAME: &'static str = "request";
    }
    impl Kind for Node {
        const PREFIX: &'static str = "nod";
        const NAME: &'static str = "node";
    }
    impl Kind for Job {
        const PREFIX: &'static str = "job";
        const NAME: &'static str = "job";
    }
    impl Kind for Source {
        const PREFIX: &'static str = "src";
        const NAME: &'static str = "source";
    }
}

/// The id of a durable memory record: `mem_…`.
pub type MemoryId = Id<kind::Memory>;
/// The id of a candidate: `cnd_…`.
pub type CandidateId = Id<kind::Candidate>;
/// The id of a cognitive session: `ses_…`.
pub type SessionId = Id<kind::Session>;
/// The id of a thought in a session: `tht_…`.
pub type ThoughtId = Id<kind::Thought>;
/// The id of a decision in a session: `dec_…`.
pub type DecisionId = Id<kind::Decision>;
/// The id of an interaction in a session: `int_…`.
pub type InteractionId = Id<kind::Interaction>;
/// The id of a tenant: `ten_…`.
pub type TenantId = Id<kind::Tenant>;
/// The id of a capability token: `cap_…`.
pub type CapabilityId = Id<kind::Capability>;
/// The id of a key or personal token: `key_…`.
pub type KeyId = Id<kind::Key>;
/// The id of an outbox row: `evt_…`.
pub type EventId = Id<kind::Event>;
/// The id of a job: `job_…`.
pub type JobId = Id<kind::Job>;
/// The id of a text that records were made from: `src_…`.
pub type SourceId = Id<kind::Source>;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const DIGITS: usize = 26;

impl<K> Id<K> {
    /// A new id, later than every id this process made before.
    #[expect(clippy::new_without_default, reason = "a default that differs each time would surprise")]
    #[expect(clippy::disallowed_methods, reason = "this is the one maker of ids")]
    pub fn new() -> Self {
        Self(Uuid::now_v7(), PhantomData)
    }

    /// The id that a stored UUID stands for.
    pub fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid, PhantomData)
    }

    /// The UUID that is stored.
    pub fn uuid(self) -> Uuid {
        self.0
    }
}

/// Why a text is not an id of the wanted kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseIdError {
    /// It is an id, of something else: to the caller it simply does not exist.
    #[error("is the id of something else")]
    OtherKind,
    /// It is no id at all.
    #[error("is not an id: a prefix, an underscore and 26 characters are wanted")]
    Malformed,
}

impl<K: Kind> FromStr for Id<K> {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let (prefix, digits) = text.split_once('_').ok_or(ParseIdError::Malformed)?;
        let number = parse_digits(digits).ok_or(ParseIdError::Malformed)?;
        if prefix != K::PREFIX {
            let looks_like_ours = prefix.len() == 3 && prefix.bytes().all(|b| b.is_ascii_lowercase());
            return Err(if looks_like_ours { ParseIdError::OtherKind } else { ParseIdError::Malformed });
        }
        Ok(Self::from_uuid(Uuid::from_u128(number)))
    }
}

/// The one number these digits spell; other spellings of it (upper case, `o` for `0`) are refused.
fn parse_digits(digits: &str) -> Option<u128> {
    if digits.len() != DIGITS || digits.as_bytes()[0] > b'7' {
        return None;
    }
    digits.bytes().try_fold(0_u128, |number, digit| {
        let value = ALPHABET.iter().position(|&d| d == digit)?;
        Some(number << 5 | value as u128)
    })
}

impl<K: Kind> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0.as_u128();
        let mut digits = [0; DIGITS];
        for (place, digit) in digits.iter_mut().rev().enumerate() {
            *digit = ALPHABET[(number >> (5 * place)) as usize & 31];
        }
        let digits = std::str::from_utf8(&digits).expect("the alphabet is ASCII");
        write!(f, "{}_{digits}", K::PREFIX)
    }
}

impl<K: Kind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Id<K> {}
impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<K> Eq for Id<K> {}
impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}
impl<K> Hash for Id<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<K: Kind> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, K: Kind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl<K: Kind> JsonSchema for Id<K> {
    fn schema_name() -> Cow<'static, str> {
        let name = K::NAME;
        format!("{}{}Id", name[..1].to_uppercase(), &name[1..]).into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": format!("^{}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$", K::PREFIX),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_id_survives_printing_and_parsing(number: u128) {
            let id = MemoryId::from_uuid(Uuid::from_u128(number));
            prop_assert_eq!(id.to_string().parse(), Ok(id));
        }

        #[test]
        fn parsing_never_panics(text in ".{0,40}") {
            let _ = text.parse::<MemoryId>();
        }
    }

    #[test]
    fn ids_sort_by_age_in_their_printed_form() {
        let ids: Vec<String> = (0..100).map(|_| MemoryId::new().to_string()).collect();
        assert!(ids.is_sorted());
    }

    #[test]
    fn other_spellings_and_other_kinds_are_refused() {
        let id = MemoryId::from_uuid(Uuid::from_u128(0)).to_string();
        assert_eq!(id, "mem_00000000000000000000000000");
        assert_eq!(id.to_uppercase().parse::<MemoryId>(), Err(ParseIdError::Malformed));
        assert_eq!(id.replacen('0', "o", 1).parse::<MemoryId>(), Err(ParseIdError::Malformed));
        assert_eq!(id.replacen('0', "8", 1).parse::<MemoryId>(), Err(ParseIdError::Malformed));
        assert_eq!(id.parse::<TenantId>(), Err(ParseIdError::OtherKind));
        assert_eq!("mem_é".parse::<MemoryId>(), Err(ParseIdError::Malformed));
    }
}
