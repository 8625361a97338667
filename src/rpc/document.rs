//! The OpenRPC document and the JSON Schemas, made from the table of methods (C-049, XC-52).

use std::collections::BTreeMap;

use axum::Router;
use axum::routing::get;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};

use super::error::RpcError;
use super::method::{Method, methods};
use crate::app::App;
use crate::event::{CandidateCreated, EntryAdded, MemoryChanged, MemoryForgotten, SessionChanged};
use crate::http::extract::Json;
use crate::http::openapi::needs;
use crate::http::route::{MakeSchema, schema_of};

/// Where the schemas of both documents are defined: under the same names, by the same types.
const COMPONENTS: &str = "/components/schemas";

/// The notifications: name, what they tell, and the shape of their params.
const NOTIFICATIONS: [(&str, &str, MakeSchema); 6] = [
    (
        "memory/changed",
        "A record was created, updated, superseded, deleted, restored or expired",
        schema_of::<MemoryChanged>,
    ),
    ("memory/candidate_created", "Something was proposed", schema_of::<CandidateCreated>),
    ("memory/forgotten", "Records were forgotten", schema_of::<MemoryForgotten>),
    ("cognitive/session_started", "A session was started", schema_of::<SessionChanged>),
    ("cognitive/entry_added", "Something was written down in a session", schema_of::<EntryAdded>),
    ("cognitive/session_closed", "A session was closed", schema_of::<SessionChanged>),
];

/// The document at `/openrpc.json`.
pub fn page() -> Router<App> {
    let document = openrpc();
    Router::new().route("/openrpc.json", get(move || async move { Json(document) }))
}

/// The document: OpenRPC 1.3, with notifications as an extension of it.
pub fn openrpc() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = COMPONENTS.into();
    let mut generator = settings.into_generator();
    let methods: Vec<Value> = methods().map(|method| describe(&mut generator, method)).collect();
    let notifications: Vec<Value> = NOTIFICATIONS
        .iter()
        .map(|(name, summary, params)| {
            json!({ "name": name, "summary": summary, "params": [by_name(&params(&mut generator))] })
        })
        .collect();
    generator.subschema_for::<RpcError>();
    json!({
        "openrpc": "1.3.2",
        "info": {
            "title": "Memtide's memory protocol",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "JSON-RPC 2.0 over HTTP (POST /v1/rpc) and WebSocket (GET /v1/rpc/ws). Notifications come over WebSocket, and as server-sent events at /v1/memory/events.",
            "license": { "name": "Apache-2.0" },
        },
        "servers": [{ "name": "HTTP", "url": "/v1/rpc" }, { "name": "WebSocket", "url": "/v1/rpc/ws" }],
        "methods": methods,
        "x-notifications": notifications,
        "components": { "schemas": generator.take_definitions(true) },
    })
}

fn describe(generator: &mut SchemaGenerator, method: &Method) -> Value {
    json!({
        "name": method.name,
        "summary": method.summary,
        "description": needs(method.needs),
        "paramStructure": "by-name",
        "params": [by_name(&(method.params)(generator))],
        "result": { "name": "result", "schema": (method.result)(generator) },
        "errors": [{ "code": -32602, "message": "invalid params" }, { "code": -32003, "message": "forbidden" }],
    })
}

/// All params are one object.
fn by_name(schema: &Schema) -> Value {
    json!({ "name": "params", "required": true, "schema": schema })
}

/// The JSON Schema of every type of the protocol, by the name of its file in `schemas/`.
pub fn schemas() -> BTreeMap<String, Value> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    for method in methods() {
        (method.params)(&mut generator);
        (method.result)(&mut generator);
    }
    for (_, _, params) in NOTIFICATIONS {
        params(&mut generator);
    }
    generator.subschema_for::<super::RequestShape>();
    generator.subschema_for::<super::Answer>();
    let definitions = generator.take_definitions(true);
    definitions.into_iter().map(|(name, schema)| (file_name(&name), alone(&name, schema))).collect()
}

/// A schema that stands in a file of its own, and refers to others by theirs.
fn alone(name: &str, mut schema: Value) -> Value {
    refer_to_files(&mut schema);
    let mut whole = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "title": name });
    if let (Value::Object(whole), Value::Object(members)) = (&mut whole, schema) {
        whole.extend(members);
    }
    whole
}

fn refer_to_files(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(target)) = members.get_mut("$ref")
                && let Some(name) = target.strip_prefix("#/$defs/")
            {
                *target = file_name(name);
            }
            members.values_mut().for_each(refer_to_files);
        }
        Value::Array(values) => values.iter_mut().for_each(refer_to_files),
        _ => {}
    }
}

/// `MemoryRecord` is in `memory_record.json`.
fn file_name(name: &str) -> String {
    let mut file = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && at > 0 {
            file.push('_');
        }
        file.extend(letter.to_lowercase());
    }
    file + ".json"
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::JsonSchema;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct OneThing {
        other: Vec<AnotherThing>,
    }

    #[derive(JsonSchema)]
    struct AnotherThing {}

    #[test]
    fn schemas_refer_to_files_in_snake_case() {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        generator.subschema_for::<OneThing>();
        let schema = alone("OneThing", generator.take_definitions(true)["OneThing"].clone());
        assert_eq!(schema["properties"]["other"]["items"]["$ref"], "another_thing.json");
        assert_eq!(file_name("MemoryRecord"), "memory_record.json");
    }
}
