//! What the API says of itself.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{TestApp, find_env};

/// After a wanted change: `INSTA_UPDATE=always make test`, and look at the difference before it is committed.
#[tokio::test]
async fn the_openapi_document_is_as_committed() {
    let document = TestApp::start().await.anyone().get("/openapi.json").await.expect(200);
    insta::assert_json_snapshot!("openapi", document);
}

#[tokio::test]
async fn every_reference_in_the_openapi_document_leads_somewhere() {
    let document = TestApp::start().await.anyone().get("/openapi.json").await.expect(200);
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(references.len() > 50);
    for reference in references {
        let path = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(path).is_some(), "{reference} leads nowhere");
    }
}

#[tokio::test]
async fn the_openrpc_document_refers_to_the_same_schemas_c049() {
    let app = TestApp::start_lexical().await;
    let (rpc, rest) = (app.anyone().get("/openrpc.json").await, app.anyone().get("/openapi.json").await);
    let (rpc, rest) = (rpc.expect(200), rest.expect(200));
    let mut references = Vec::new();
    collect(&rpc, &mut references);
    for reference in references {
        assert!(rpc.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference} leads nowhere");
    }
    let methods: Vec<&str> =
        rpc["methods"].as_array().unwrap().iter().map(|method| method["name"].as_str().unwrap()).collect();
    let table: Vec<&str> = memtide::rpc::method::methods().map(|method| method.name).collect();
    assert_eq!(methods, table);
    let shared = rpc["components"]["schemas"].as_object().unwrap();
    let both =
        shared.iter().filter_map(|(name, schema)| Some((schema, rest["components"]["schemas"].get(name)?)));
    let both: Vec<_> = both.collect();
    assert!(both.len() > 25, "{}", both.len());
    for (one, other) in both {
        assert_eq!(one, other);
    }
}

/// XC-52. After a wanted change: `INSTA_UPDATE=always make test`, and look at the difference before it is committed.
#[test]
fn the_schemas_are_as_committed_xc52() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let made = memtide::rpc::document::schemas();
    for name in [
        "record",
        "scope",
        "search_params",
        "remember_params",
        "forget_params",
        "semantic_fields",
        "semantic_write_params",
        "candidate",
    ] {
        assert!(made.contains_key(&format!("memory_{name}.json")), "C-040 to C-048: {name}");
    }
    if find_env("INSTA_UPDATE").as_deref() == Some("always") {
        fs::create_dir_all(&folder).unwrap();
        for file in fs::read_dir(&folder).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
        for (name, schema) in &made {
            fs::write(folder.join(name), format!("{schema:#}\n")).unwrap();
        }
    }
    let mut committed: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    committed.sort();
    assert_eq!(committed, made.keys().cloned().collect::<Vec<_>>(), "schemas/ is stale");
    for (name, schema) in &made {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), *schema, "schemas/{name} is stale");
    }
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            references.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|value| collect(value, references));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, references)),
        _ => {}
    }
}
