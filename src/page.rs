//! Pages of a list: how many, and from where.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::id::TenantId;
use crate::seal::Seal;

/// How long a cursor can be used (XC-15).
const CURSOR_LIFE: TimeDelta = TimeDelta::minutes(15);

/// The longest cursor that is looked at, in bytes. The longest that is given out, with 160 hits of a search still to be
/// shown, is two thirds of it.
const CURSOR_MAX_BYTES: usize = 32_768;

/// How many things a page holds: 20 unless given, at most 100; larger is capped, fractions are floored, anything
/// below 1 is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Limit(#[schemars(range(min = 1))] u32);

impl Limit {
    /// What a page holds unless told.
    pub const DEFAULT: Self = Self(20);
    /// What a page holds at most.
    pub const MAX: u32 = 100;

    /// The number.
    pub fn get(self) -> usize {
        self.0 as usize
    }

    /// A number that the service itself knows to be right.
    pub const fn of(number: u32) -> Self {
        assert!(0 < number && number <= Self::MAX, "it is 1 to 100");
        Self(number)
    }

    fn from_number(number: f64) -> Result<Self, &'static str> {
        if number >= 1.0 && number.is_finite() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is 1 to 100 here"
            )]
            return Ok(Self(number.min(f64::from(Self::MAX)) as u32));
        }
        Err("must be a number from 1")
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl std::str::FromStr for Limit {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map_err(|_| "must be a number from 1").and_then(Self::from_number)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).and_then(|number| Self::from_number(number).map_err(de::Error::custom))
    }
}

/// A parameter of a query string, which is given also when it is empty; an optional one would be taken for absent.
pub fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

/// Which page of a list is wanted.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageRequest {
    /// How many things; 20 unless told, at most 100.
    #[serde(default)]
    pub limit: Option<Limit>,
    /// What the page before gave to continue with.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// A page of a list of an operator's.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Page<T> {
    /// The things.
    pub items: Vec<T>,
    /// What to ask for the next page with; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl PageRequest {
    /// How many rows to read: one more than the page holds, which tells whether there is a next one.
    pub fn rows(&self) -> i64 {
        i64::from(self.limit.unwrap_or_default().0) + 1
    }

    /// The page that these rows make; `cursor` continues after the last thing on it.
    pub fn page<T>(&self, mut rows: Vec<T>, cursor: impl FnOnce(&T) -> Result<String>) -> Result<Page<T>> {
        let limit = self.limit.unwrap_or_default().get();
        let is_last = rows.len() <= limit;
        rows.truncate(limit);
        let next_cursor = match rows.last() {
            Some(last) if !is_last => Some(cursor(last)?),
            _ => None,
        };
        Ok(Page { items: rows, next_cursor })
    }
}

/// What a cursor belongs to: it opens for no other tenant, list or question.
#[derive(Debug, Clone)]
pub struct CursorScope(Vec<u8>);

impl CursorScope {
    /// The scope of one question to one list. `question` is everything that selects and orders, without the limit.
    pub fn new(tenant: TenantId, list: &str, question: &impl Serialize) -> Result<Self> {
        let question = serde_json::to_vec(question).map_err(Error::internal)?;
        let mut hash = Sha256::new();
        hash.update(tenant.uuid());
        hash.update(list);
        hash.update([0]);
        hash.update(question);
        Ok(Self(hash.finalize().to_vec()))
    }

    /// A cursor for this scope that continues at a place.
    pub fn cursor(&self, seal: &Seal, now: DateTime<Utc>, place: &impl Serialize) -> Result<String> {
        let value = serde_json::to_vec(&(now.timestamp(), place)).map_err(Error::internal)?;
        Ok(BASE64_URL_SAFE_NO_PAD.encode(seal.close(&value, &self.0)?))
    }

    /// The place at which a cursor of this scope continues.
    pub fn place<P: DeserializeOwned>(&self, seal: &Seal, now: DateTime<Utc>, cursor: &str) -> Result<P> {
        let bad = || {
            Error::invalid("cursor", "is not a cursor of this list, or it has expired: start again without")
        };
        if cursor.len() > CURSOR_MAX_BYTES {
            return Err(bad());
        }
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(cursor).map_err(|_| bad())?;
        let value = seal.open(&sealed, &self.0).ok_or_else(bad)?;
        let (made_at, place): (i64, P) = serde_json::from_slice(&value).map_err(|_| bad())?;
        let age = now.timestamp() - made_at;
        if age > CURSOR_LIFE.num_seconds() { Err(bad()) } else { Ok(place) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Secret;

    #[test]
    fn limits_are_capped_floored_or_refused_c051() {
        let limit = |json: &str| serde_json::from_str::<Limit>(json).map(Limit::get).ok();
        for (json, expected) in [("5", 5), ("5.0", 5), ("5e0", 5), ("5.5", 5), ("1e3", 100), ("1e19", 100)] {
            assert_eq!(limit(json), Some(expected), "{json}");
        }
        for json in ["0", "-0", "-1", "0.5", "\"5\"", "true", "[]"] {
            assert_eq!(limit(json), None, "{json}");
        }
    }

    #[test]
    fn a_cursor_opens_for_its_question_only_and_for_15_minutes_c143() {
        let seal = Seal::new(&Secret::new("a secret of at least 32 bytes....."));
        let (tenant, now) = (TenantId::new(), DateTime::UNIX_EPOCH);
        let scope = CursorScope::new(tenant, "items", &"question").expect("a scope");
        let cursor = scope.cursor(&seal, now, &7).expect("a cursor");
        assert!(matches!(scope.place(&seal, now, &cursor), Ok(7)));
        let late = now + CURSOR_LIFE + TimeDelta::seconds(1);
        assert!(scope.place::<i32>(&seal, late, &cursor).is_err());
        let others = [
            CursorScope::new(TenantId::new(), "items", &"question"),
            CursorScope::new(tenant, "other", &"question"),
            CursorScope::new(tenant, "items", &"another"),
        ];
        for other in others {
            assert!(other.expect("a scope").place::<i32>(&seal, now, &cursor).is_err());
        }
        for bad in ["", "AAAA", "%%%", &cursor[1..], &"A".repeat(1_000_000)] {
            assert!(scope.place::<i32>(&seal, now, bad).is_err());
        }
    }
}
