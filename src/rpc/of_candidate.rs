//! Params that name a candidate beside what REST takes as the body of a request whose path names it.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The member that names the candidate.
const CANDIDATE_ID: &str = "candidate_id";

/// Which candidate, and what is to become of it. On the wire one object holds the members of both.
#[derive(Debug, Clone, Serialize)]
pub struct OfCandidate<T> {
    /// The candidate.
    pub candidate_id: String,
    /// What REST takes as the body.
    #[serde(flatten)]
    pub body: T,
}

/// Serde's own way to flatten keeps members in a buffer, and takes unknown ones. Here the body reads the object itself,
/// as strictly as over REST, and this one member is taken out on the way.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for OfCandidate<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Params(PhantomData))
    }
}

struct Params<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Params<T> {
    type Value = OfCandidate<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OfCandidate<T>, A::Error> {
        let mut candidate_id = None;
        let others = Others { map, candidate_id: &mut candidate_id };
        let body = T::deserialize(MapAccessDeserializer::new(others))?;
        let candidate_id = candidate_id.ok_or_else(|| A::Error::missing_field(CANDIDATE_ID))?;
        Ok(OfCandidate { candidate_id, body })
    }
}

/// The members that do not name the candidate.
struct Others<'a, A> {
    map: A,
    candidate_id: &'a mut Option<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Others<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        while let Some(name) = self.map.next_key::<String>()? {
            if name != CANDIDATE_ID {
                return seed.deserialize(name.into_deserializer()).map(Some);
            }
            if self.candidate_id.is_some() {
                return Err(A::Error::duplicate_field(CANDIDATE_ID));
            }
            *self.candidate_id = Some(self.map.next_value()?);
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

impl<T: JsonSchema> JsonSchema for OfCandidate<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Params", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        let id = json!({ "description": "The candidate.", "type": "string" });
        let object = schema.ensure_object();
        if let Some(properties) = object.entry("properties").or_insert_with(|| json!({})).as_object_mut() {
            properties.insert(CANDIDATE_ID.to_owned(), id);
        }
        if let Some(required) = object.entry("required").or_insert_with(|| json!([])).as_array_mut() {
            required.insert(0, json!(CANDIDATE_ID));
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::review::{Decide, Review};
    use crate::http::json::decode;

    #[test]
    fn both_parts_are_read_as_strictly_as_alone_xc06() {
        let review: OfCandidate<Review> = decode(br#"{"reason":"x","candidate_id":"c"}"#).expect("it fits");
        assert_eq!((review.candidate_id.as_str(), review.body.reason.as_deref()), ("c", Some("x")));
        for (body, named) in [
            (r#"{"reason":"x"}"#, "candidate_id"),
            (r#"{"candidate_id":"c","candidate_id":"d"}"#, "candidate_id"),
            (r#"{"candidate_id":7}"#, "candidate_id"),
            (r#"{"candidate_id":"c","more":1}"#, "more"),
            (r#"{"candidate_id":"c","reason":"x","reason":"y"}"#, "reason"),
            (r#"{"candidate_id":"c","reason":7}"#, "reason"),
            (r#"["c","x"]"#, "an object"),
        ] {
            let error = decode::<OfCandidate<Review>>(body.as_bytes()).expect_err(body);
            assert_eq!(error.code(), "unprocessable", "{body}");
            assert!(error.to_string().contains(named), "{body}: {error}");
        }
        for body in
            [r#"{"candidate_id":"c","decision":{"reject":null}}"#, r#"{"candidate_id":"c","decision":0}"#]
        {
            assert_eq!(
                decode::<OfCandidate<Decide>>(body.as_bytes()).expect_err(body).code(),
                "unprocessable"
            );
        }
    }
}
