//! Times on the wire: out as Unix seconds; in as Unix seconds or RFC 3339 with an offset.

use std::borrow::Cow;

use chrono::{DateTime, SubsecRound, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A time, kept to the microsecond and shown to the second. Years 1 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixTime(pub DateTime<Utc>);

/// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, in seconds.
const RANGE: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

impl UnixTime {
    fn from_seconds(seconds: i64) -> Option<Self> {
        RANGE.contains(&seconds).then(|| DateTime::from_timestamp(seconds, 0)).flatten().map(Self)
    }

    fn from_rfc3339(text: &str) -> Option<Self> {
        let time = DateTime::parse_from_rfc3339(text).ok()?.with_timezone(&Utc);
        // A leap second is a time that nothing downstream can hold.
        let is_leap_second = time.timestamp_subsec_nanos() >= 1_000_000_000;
        (RANGE.contains(&time.timestamp()) && !is_leap_second).then(|| Self(time.trunc_subsecs(6)))
    }
}

impl From<DateTime<Utc>> for UnixTime {
    fn from(time: DateTime<Utc>) -> Self {
        Self(time)
    }
}

impl Serialize for UnixTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.0.timestamp())
    }
}

impl<'de> Deserialize<'de> for UnixTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor)
    }
}

struct Visitor;

impl de::Visitor<'_> for Visitor {
    type Value = UnixTime;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a time in whole Unix seconds, or RFC 3339 with an offset")
    }

    fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<UnixTime, E> {
        UnixTime::from_seconds(seconds).ok_or_else(|| E::custom("is outside of the years 1 to 9999"))
    }

    fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<UnixTime, E> {
        self.visit_i64(i64::try_from(seconds).unwrap_or(i64::MAX))
    }

    fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<UnixTime, E> {
        Err(E::invalid_type(Unexpected::Float(seconds), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<UnixTime, E> {
        UnixTime::from_rfc3339(text).ok_or_else(|| E::custom("is not a time of RFC 3339 with an offset"))
    }
}

impl JsonSchema for UnixTime {
    fn schema_name() -> Cow<'static, str> {
        "UnixTime".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A time: whole Unix seconds. On input also RFC 3339 with an offset.",
            "anyOf": [{ "type": "integer" }, { "type": "string", "format": "date-time" }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<UnixTime, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn times_are_exact_or_refused_c139() {
        let seconds = |json| parse(json).map(|time| time.0.timestamp()).ok();
        assert_eq!(seconds("1700000000"), Some(1_700_000_000));
        assert_eq!(seconds("\"2023-11-14T22:13:20Z\""), Some(1_700_000_000));
        assert_eq!(seconds("\"2023-11-14t22:13:20z\""), Some(1_700_000_000));
        assert_eq!(seconds("\"2023-11-15T12:13:20+14:00\""), Some(1_700_000_000));
        let refused = [
            "\"2023-11-14T22:13:20\"",
            "\"2026-02-30T00:00:00Z\"",
            "\"2026-01-01T24:00:00Z\"",
            "\"0000-01-01T00:00:00Z\"",
            "\"9999-12-31T23:59:60Z\"",
            "\"10000-01-01T00:00:00Z\"",
            "\"yesterday\"",
            "253402300800",
            "1.5",
            "true",
            "1e400",
        ];
        for json in refused {
            assert!(parse(json).is_err(), "{json}");
        }
        let fraction = parse("\"2026-01-01T00:00:00.123456789Z\"").expect("a fraction is allowed");
        assert_eq!(fraction.0.timestamp_subsec_nanos(), 123_456_000);
    }
}
