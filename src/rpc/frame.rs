//! JSON-RPC 2.0 as it comes and goes: requests, batches, answers.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{Error, Fault};
use crate::http::sound::Sound;

/// How many requests one batch holds, at most (XC-01).
pub const MAX_BATCH: usize = 50;

/// The longest id that is a string, in bytes (XC-03).
const MAX_ID_BYTES: usize = 128;

/// What one message holds.
#[derive(Debug)]
pub enum Message {
    /// One request.
    Single(Result<Request, BadRequest>),
    /// One to fifty requests, each good or bad for itself.
    Batch(Vec<Result<Request, BadRequest>>),
}

/// A request, or without an id a notification.
#[derive(Debug)]
pub struct Request {
    /// What the answer is to carry; absent in a notification, which is not answered.
    pub id: Option<Id>,
    /// The name of the method.
    pub method: String,
    /// Its parameters, not yet looked at.
    pub params: Option<Box<RawValue>>,
}

/// Something that is no request.
#[derive(Debug)]
pub struct BadRequest {
    /// Its id, as far as it could be made out; else null.
    pub id: Id,
    /// What is wrong with it.
    pub error: Error,
}

/// A string, an integer or null, as it was sent (XC-03).
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Id(Box<RawValue>);

/// Why a message holds no request at all.
#[derive(Debug)]
pub enum Unreadable {
    /// It is no JSON.
    Broken(String),
    /// It is a batch without requests, or with too many: how many.
    BatchSize(usize),
}

impl Id {
    /// Null: the id of an answer to something that has none.
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        self.get() == "null"
    }

    /// As it was sent.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    fn check(raw: Box<RawValue>) -> Result<Self, Error> {
        let text = raw.get();
        let is_integer = || text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
        let is_short = || serde_json::from_str::<Cow<'_, str>>(text).is_ok_and(|id| id.len() <= MAX_ID_BYTES);
        match text.as_bytes() {
            b"null" => Ok(Self(raw)),
            [b'"', ..] if is_short() => Ok(Self(raw)),
            [b'-' | b'0'..=b'9', ..] if is_integer() => Ok(Self(raw)),
            _ => Err(Error::invalid(
                "id",
                format!("must be a string of at most {MAX_ID_BYTES} bytes, an integer or null"),
            )),
        }
    }
}

impl JsonSchema for Id {
    fn schema_name() -> Cow<'static, str> {
        "RpcId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A string of at most 128 bytes, an integer or null; echoed as sent.",
            "anyOf": [{ "type": "string" }, { "type": "integer" }, { "type": "null" }],
        })
    }
}

/// Reads a message. What is sound JSON is looked at request by request, so that a bad one leaves the others alone.
pub fn read(message: &[u8]) -> Result<Message, Unreadable> {
    let broken = |error: &dyn fmt::Display| Unreadable::Broken(error.to_string());
    let message = message.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(message);
    let text = std::str::from_utf8(message).map_err(|error| broken(&error))?;
    serde_json::from_str::<Sound>(text).map_err(|error| broken(&error))?;
    if !text.trim_start().starts_with('[') {
        return Ok(Message::Single(request(text)));
    }
    let requests: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| broken(&error))?;
    if requests.is_empty() || requests.len() > MAX_BATCH {
        return Err(Unreadable::BatchSize(requests.len()));
    }
    Ok(Message::Batch(requests.into_iter().map(|raw| request(raw.get())).collect()))
}

fn request(text: &str) -> Result<Request, BadRequest> {
    let bad = |id: Option<Id>, error| BadRequest { id: id.unwrap_or_else(Id::null), error };
    let envelope: Envelope = match serde_json::from_str(text) {
        Ok(envelope) => envelope,
        Err(error) => {
            let text = error.to_string();
            let rule = text.rsplit_once(" at line ").map_or(text.as_str(), |(rule, _)| rule).to_owned();
            return Err(bad(None, Error::Invalid(Fault::new("", rule))));
        }
    };
    let id = envelope.id.map(Id::check).transpose().map_err(|error| bad(None, error))?;
    if let Some(member) = envelope.unknown {
        let rule = "is none of jsonrpc, id, method, params";
        return Err(bad(id, Error::invalid(member, rule)));
    }
    let text =
        |raw: Option<Box<RawValue>>| raw.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    if text(envelope.jsonrpc).as_deref() != Some("2.0") {
        return Err(bad(id, Error::invalid("jsonrpc", "must be \"2.0\"")));
    }
    let Some(method) = text(envelope.method) else {
        return Err(bad(id, Error::invalid("method", "must be a string")));
    };
    Ok(Request { id, method, params: envelope.params })
}

/// The members of a request, whatever they are. Told apart are those that are null and those that are absent.
#[derive(Default)]
struct Envelope {
    jsonrpc: Option<Box<RawValue>>,
    id: Option<Box<RawValue>>,
    method: Option<Box<RawValue>>,
    params: Option<Box<RawValue>>,
    unknown: Option<String>,
}

impl<'de> Deserialize<'de> for Envelope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

struct EnvelopeVisitor;

impl<'de> Visitor<'de> for EnvelopeVisitor {
    type Value = Envelope;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Envelope, A::Error> {
        let mut envelope = Envelope::default();
        while let Some(name) = members.next_key::<String>()? {
            let value: Box<RawValue> = members.next_value()?;
            let place = match name.as_str() {
                "jsonrpc" => &mut envelope.jsonrpc,
                "id" => &mut envelope.id,
                "method" => &mut envelope.method,
                "params" => &mut envelope.params,
                _ => {
                    envelope.unknown = Some(name);
                    continue;
                }
            };
            if place.replace(value).is_some() {
                return Err(de::Error::custom(format!("duplicate field `{name}`")));
            }
        }
        Ok(envelope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn single(text: &str) -> Result<Request, BadRequest> {
        match read(text.as_bytes()).expect(text) {
            Message::Single(request) => request,
            Message::Batch(_) => panic!("{text} is no batch"),
        }
    }

    #[test]
    fn an_absent_id_is_a_notification_and_null_is_an_id_c065() {
        let request = single(r#"{"jsonrpc":"2.0","method":"m"}"#).expect("a notification");
        assert!(request.id.is_none() && request.params.is_none());
        let request = single(r#"{"jsonrpc":"2.0","method":"m","id":null,"params":null}"#).expect("a request");
        assert_eq!(request.id.expect("null is one").0.get(), "null");
        assert_eq!(request.params.expect("null is one").get(), "null");
    }

    #[test]
    fn ids_are_strings_integers_or_null_and_echoed_xc03() {
        let request = |id: &str| single(&format!(r#"{{"jsonrpc":"2.0","method":"m","id":{id}}}"#));
        let long = format!("{:?}", "x".repeat(128));
        for id in ["0", "-1", "18446744073709551615", r#""""#, r#""\u0041\n""#, "null", &long] {
            assert_eq!(request(id).expect(id).id.expect(id).0.get(), id);
        }
        let longer = format!("{:?}", "x".repeat(129));
        for id in ["1.5", "1.0", "1e3", "18446744073709551616", "true", "[]", "{}", &longer] {
            assert_eq!(request(id).expect_err(id).id.0.get(), "null", "{id}");
        }
    }

    #[test]
    fn what_is_no_request_is_told_from_what_is_no_json() {
        for text in ["", "{", r#"{"a":"\ud83d"}"#, "{'a':1}", "[1", "NaN", "1e999", "\u{0}"] {
            assert!(matches!(read(text.as_bytes()), Err(Unreadable::Broken(_))), "{text}");
        }
        assert!(matches!(read(b"\xff"), Err(Unreadable::Broken(_))));
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(matches!(read(deep.as_bytes()), Err(Unreadable::Broken(_))));
        for text in [
            "1",
            "null",
            r#""x""#,
            "{}",
            r#"{"jsonrpc":"1.0","method":"m"}"#,
            r#"{"jsonrpc":2.0,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","method":1}"#,
            r#"{"jsonrpc":"2.0","method":"m","method":"m"}"#,
            r#"{"jsonrpc":"2.0","method":"m","id":1,"id":2}"#,
            r#"{"jsonrpc":"2.0","method":"m","more":1}"#,
        ] {
            assert!(single(text).is_err(), "{text}");
        }
        assert!(matches!(read(b" []"), Err(Unreadable::BatchSize(0))));
        let batch = format!("[{}]", ["1"; 51].join(","));
        assert!(matches!(read(batch.as_bytes()), Err(Unreadable::BatchSize(51))));
        assert!(single("\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"m\"}").is_ok());
    }

    proptest! {
        #[test]
        fn no_message_panics(message: Vec<u8>) {
            let _ = read(&message);
        }
    }
}
