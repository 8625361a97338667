//! Signing keys: published, rotated without a failed request, and of no use to a forger (C080, C082).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use chrono::TimeDelta;
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::{Value, json};

use super::whoami;
use crate::support::{Client, TestApp};

fn kid(token: &str) -> String {
    jsonwebtoken::decode_header(token).unwrap().kid.unwrap()
}

async fn published(caller: &Client) -> JwkSet {
    serde_json::from_value(caller.get("/.well-known/jwks.json").await.expect(200)).unwrap()
}

#[tokio::test]
async fn anybody_can_verify_a_capability_with_the_published_key() {
    let app = TestApp::start_lexical().await;
    let tenant = app.tenant("open").await;
    let raw = app.anyone().get("/.well-known/jwks.json").await;
    assert!(!raw.text.contains("\"d\""), "a private part is published: {}", raw.text);
    let keys = published(&app.anyone()).await;
    let key = DecodingKey::from_jwk(keys.find(&kid(&tenant.capability)).unwrap()).unwrap();
    let mut validation = Validation::new(Algorithm::EdDSA);
    validation.set_audience(&["memtide-api"]);
    let claims = jsonwebtoken::decode::<Value>(&tenant.capability, &key, &validation).unwrap().claims;
    assert_eq!((&claims["tid"], &claims["ns"]), (&json!(tenant.id), &json!("default")));
}

#[tokio::test]
async fn a_rotation_fails_no_request() {
    let app = TestApp::start_lexical().await;
    let tenant = app.tenant("busy").await;
    let (node, router) = app.second_node().await;
    let done = Arc::new(AtomicBool::new(false));
    let nodes = [app.anyone(), Client::new(router)];
    let load: Vec<_> = nodes
        .iter()
        .zip([&nodes[1], &nodes[0]])
        .map(|(buys, uses)| {
            let (key, uses, done) = (buys.bearer(&tenant.key), uses.clone(), Arc::clone(&done));
            let old = uses.capability(&tenant.capability);
            tokio::spawn(async move {
                let mut requests = 0;
                while !done.load(Ordering::Relaxed) || requests < 20 {
                    let bought =
                        key.post("/v1/auth/token", json!({ "namespace": "default" })).await.expect(200);
                    // What one node signs, the other one accepts at once.
                    whoami(&uses.capability(bought["capability"].as_str().unwrap())).await;
                    whoami(&old).await;
                    requests += 1;
                }
            })
        })
        .collect();
    let operator = app.operator().await;
    let mut kids = vec![kid(&tenant.capability)];
    for _ in 0..3 {
        let rotated = operator.post("/v1/admin/signing_keys/rotate", json!({})).await.expect(200);
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        app.app.clock.shift(TimeDelta::seconds(11));
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        let signed_with = kid(&app.exchange(&tenant.key, json!({ "namespace": "default" })).await);
        assert_eq!(signed_with, rotated["kid"], "the new key signs once everybody knows it");
        kids.push(signed_with);
    }
    done.store(true, Ordering::Relaxed);
    for client in load {
        client.await.unwrap();
    }
    let keys = published(&app.anyone()).await;
    assert!(kids.iter().all(|kid| keys.find(kid).is_some()), "old keys verify until their tokens have ended");
    node.stop();
}

#[tokio::test]
async fn a_key_is_withdrawn_when_the_last_token_it_signed_has_ended() {
    let app = TestApp::start_lexical().await;
    let tenant = app.tenant("late").await;
    let operator = app.operator().await;
    let old = kid(&tenant.capability);
    operator.post("/v1/admin/signing_keys/rotate", json!({})).await.expect(200);
    app.app.clock.shift(TimeDelta::minutes(59));
    operator.post("/v1/admin/signing_keys/rotate", json!({})).await.expect(200);
    assert!(published(&app.anyone()).await.find(&old).is_some());
    app.app.clock.shift(TimeDelta::minutes(2));
    operator.post("/v1/admin/signing_keys/rotate", json!({})).await.expect(200);
    assert!(published(&app.anyone()).await.find(&old).is_none());
    tenant.client.get("/v1/auth/whoami").await.refused(401, "unauthorized");
}

/// The whole table is a unit test; here is that each sort of it is refused at the door, in the same words.
#[tokio::test]
async fn a_forged_capability_is_refused_in_the_same_words() {
    let app = TestApp::start_lexical().await;
    let tenant = app.tenant("real").await;
    let parts: Vec<&str> = tenant.capability.split('.').collect();
    let [header, payload, signature] = parts[..] else { panic!("three parts") };
    let change = |part: &str, name: &str, value: Value| {
        let mut object: Value = serde_json::from_slice(&BASE64.decode(part).unwrap()).unwrap();
        object[name] = value;
        BASE64.encode(object.to_string())
    };
    let foreign = memtide::id::TenantId::new();
    let mut forged = vec![
        format!("{header}.{payload}."),
        format!("{header}.{payload}.{}", BASE64.encode([0; 64])),
        format!("{header}.{}.{signature}", change(payload, "tid", json!(foreign))),
        format!("{header}.{}.{signature}", change(payload, "exp", json!(9_999_999_999_u64))),
        format!("{header}.{payload}.{signature}.{signature}.{signature}"),
        format!("{header}.{payload}.{}", "A".repeat(60_000)),
        "..".to_owned(),
    ];
    for alg in ["none", "None", "nOnE", "HS256", "ES256", ""] {
        forged.push(format!("{}.{payload}.", change(header, "alg", json!(alg))));
        forged.push(format!("{}.{payload}.{signature}", change(header, "alg", json!(alg))));
    }
    let kids = ["../../dev/null", "/etc/passwd", "x' OR 1=1 --", "https://example.org/keys", &"0".repeat(32)];
    for kid in kids {
        forged.push(format!("{}.{payload}.{signature}", change(header, "kid", json!(kid))));
    }
    for kid in [json!(7), json!(["a"]), json!(null)] {
        forged.push(format!("{}.{payload}.{signature}", change(header, "kid", kid)));
    }
    let mut answers = std::collections::BTreeSet::new();
    for token in forged {
        let reply = app.anyone().capability(&token).with("x-request-id", "same").get("/v1/auth/whoami").await;
        assert_eq!(reply.status.as_u16(), 401, "{token}");
        answers.insert(reply.text);
    }
    assert_eq!(answers.len(), 1, "{answers:?}");
    whoami(&tenant.client).await;
}
