//! What the API says of itself.

use serde_json::Value;

use crate::support::TestApp;

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
