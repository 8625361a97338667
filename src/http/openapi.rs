//! The OpenAPI document, made from the table of routes, and its page.

use axum::Router;
use axum::routing::get;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use utoipa_swagger_ui::{Config, SwaggerUi};

use super::error::ErrorReply;
use super::extract::Json;
use super::route::{MakeSchema, Needs, Route};
use crate::app::App;

/// The page at `/docs` and the document at `/openapi.json`, both served from the program.
pub fn page(routes: impl Iterator<Item = &'static Route>) -> Router<App> {
    let document = document(routes);
    let page: Router<App> = SwaggerUi::new("/docs").config(Config::from("/openapi.json")).into();
    page.route("/openapi.json", get(move || async move { Json(document) }))
}

/// The document: OpenAPI 3.1, whose schemas are those of JSON Schema 2020-12.
fn document(routes: impl Iterator<Item = &'static Route>) -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    let failure = reference(&mut generator, make::<ErrorReply>);
    let mut paths: Map<String, Value> = Map::new();
    for route in routes {
        let operation = operation(&mut generator, route, &failure);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Memtide",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A memory backend for AI agents: a live working memory, and durable memory that is searched by meaning and by words.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {
                "capability": { "type": "apiKey", "in": "header", "name": "x-akasha-capability" },
                "bearer": { "type": "http", "scheme": "bearer" },
            },
        },
    })
}

fn make<T: schemars::JsonSchema>(generator: &mut SchemaGenerator) -> schemars::Schema {
    generator.subschema_for::<T>()
}

fn reference(generator: &mut SchemaGenerator, schema: MakeSchema) -> Value {
    json!({ "application/json": { "schema": schema(generator) } })
}

fn operation(generator: &mut SchemaGenerator, route: &Route, failure: &Value) -> Value {
    let mut success = json!({ "description": "Done" });
    if let Some(reply) = route.reply {
        success["content"] = reference(generator, reply);
    }
    let mut responses = json!({ "default": { "description": "Refused or failed", "content": failure } });
    responses[route.status.to_string()] = success;
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
        "description": needs(route.needs),
        "security": security(route.needs),
        "parameters": parameters(generator, route),
        "responses": responses,
    });
    if let Some(body) = route.body {
        operation["requestBody"] = json!({ "required": true, "content": reference(generator, body) });
    }
    operation
}

/// `POST /v1/memory/items/{id}/restore` is `post_memory_items_id_restore`.
fn operation_id(route: &Route) -> String {
    let words = route.path.split('/').filter(|part| !part.is_empty() && *part != "v1");
    let name: Vec<String> = words.map(|word| word.replace(['{', '}', '.', '-'], "")).collect();
    format!("{}_{}", route.method.as_str().to_ascii_lowercase(), name.join("_"))
}

/// What a caller must hold, in words.
pub fn needs(needs: Needs) -> String {
    match needs {
        Needs::Nothing => "Needs no token.".to_owned(),
        Needs::ApiKey => "Needs an API key as bearer.".to_owned(),
        Needs::Capability => "Needs any capability or personal token.".to_owned(),
        Needs::Right(area, action) => format!("Needs `{action}` on `{area}`."),
        Needs::Rights(rights) => {
            let each = rights.iter().map(|(area, action)| format!("`{action}` on `{area}`"));
            format!("Needs {}.", each.collect::<Vec<_>>().join(" and "))
        }
        Needs::RightAndControl(area, action) => format!("Needs `{action}` on `{area}`, and control."),
        Needs::Control => "Needs control of the tenant.".to_owned(),
        Needs::Operator => "Needs an operator key as bearer.".to_owned(),
    }
}

fn security(needs: Needs) -> Value {
    match needs {
        Needs::Nothing => json!([]),
        Needs::ApiKey | Needs::Operator => json!([{ "bearer": [] }]),
        Needs::Capability
        | Needs::Right(..)
        | Needs::Rights(_)
        | Needs::RightAndControl(..)
        | Needs::Control => {
            json!([{ "capability": [] }, { "bearer": [] }])
        }
    }
}

fn parameters(generator: &mut SchemaGenerator, route: &Route) -> Vec<Value> {
    let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = names
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    if let Some(query) = route.query {
        parameters.extend(query_parameters(generator, query));
    }
    if route.idempotent {
        parameters.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "description": "The same key and body within 24 hours has one effect and gets the first answer.",
            "schema": { "type": "string", "minLength": 1, "maxLength": crate::idempotency::MAX_KEY_BYTES },
        }));
    }
    if route.conditional {
        parameters.push(json!({
            "name": "If-Match",
            "in": "header",
            "description": "The version the record must have.",
            "schema": { "type": "string" },
        }));
    }
    parameters
}

/// The members of the query's type, each a parameter of its own.
fn query_parameters(generator: &mut SchemaGenerator, query: MakeSchema) -> Vec<Value> {
    let schema = query(generator).to_value();
    let name =
        schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default().to_owned();
    let definition = generator.definitions_mut().remove(&name).unwrap_or(schema);
    let required = definition["required"].as_array().cloned().unwrap_or_default();
    let members = definition["properties"].as_object().cloned().unwrap_or_default();
    let parameter = |(name, schema): (String, Value)| {
        let is_required = required.contains(&Value::String(name.clone()));
        json!({
            "name": name,
            "in": "query",
            "required": is_required,
            "description": schema["description"],
            "schema": schema,
        })
    };
    members.into_iter().map(parameter).collect()
}
