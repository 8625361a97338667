//! Which header is the authority (R-13a, R-33): every row of the table in `http/caller.rs`.

use std::sync::Arc;

use memtide::config::Secret;
use memtide::embed::Embedder;
use serde_json::{Value, json};

use super::{read_only, whoami};
use crate::support::{Client, TestApp};

/// What can stand in the headers, by a name.
struct Hands {
    app: TestApp,
    things: Vec<(&'static str, String)>,
}

impl Hands {
    async fn of(app: TestApp) -> Self {
        let (ann, ben) = (app.tenant("ann").await, app.tenant("ben").await);
        let token = |name: &str| json!({ "name": name, "namespace": "default", "capabilities": read_only() });
        let key = json!({ "name": "k", "namespaces": ["*"], "capabilities": read_only() });
        let (revoked_id, revoked) = app.api_key(ann.id, key).await;
        let (operator_id, ended) = app.operator_key().await;
        let operator = memtide::auth::OperatorPermit::command_line();
        memtide::auth::revoke_key(&app.app, &operator, ann.id, revoked_id).await.unwrap();
        memtide::auth::revoke_operator_key(&app.app, &operator, operator_id).await.unwrap();
        let things = vec![
            ("capability", ann.capability),
            ("another capability", app.exchange(&ann.key, json!({ "namespace": "default" })).await),
            ("a foreign capability", ben.capability),
            ("key", ann.key),
            ("a foreign key", ben.key),
            ("a revoked key", revoked),
            ("token", app.personal_token(ann.id, token("ann")).await.1),
            ("a foreign token", app.personal_token(ben.id, token("ben")).await.1),
            ("an operator key", app.operator_key().await.1),
            ("a revoked operator key", ended),
            ("garbage", "a.b.c".to_owned()),
            ("plain garbage", "garbage".to_owned()),
            ("the deployment's", DEPLOYMENT.to_owned()),
        ];
        Self { app, things }
    }

    fn get(&self, name: &str) -> &str {
        let found = self.things.iter().find(|(known, _)| *known == name);
        &found.unwrap_or_else(|| panic!("{name}?")).1
    }

    fn holding(&self, capability: &str, bearer: &str) -> Client {
        let mut caller = self.app.anyone();
        if capability != "-" {
            caller = caller.capability(self.get(capability));
        }
        if bearer != "-" {
            caller = caller.bearer(self.get(bearer));
        }
        caller
    }

    async fn check(&self, rows: &[(&str, &str, &str)]) {
        for (capability, bearer, wanted) in rows {
            let reply = self.holding(capability, bearer).get("/v1/auth/whoami").await;
            let got = match reply.body["error"]["code"].as_str() {
                Some(code) => format!("{} {code}", reply.status.as_u16()),
                None if reply.body["jti"].is_null() => "200 token".to_owned(),
                None => "200 capability".to_owned(),
            };
            assert_eq!(got, *wanted, "{capability} with {bearer}: {}", reply.text);
        }
    }
}

const DEPLOYMENT: &str = "the-deployment-token-of-this-test";

/// The capability header, the bearer, the answer.
const ROWS: &[(&str, &str, &str)] = &[
    ("capability", "-", "200 capability"),
    ("capability", "capability", "200 capability"),
    ("capability", "key", "200 capability"),
    ("capability", "token", "200 capability"),
    ("capability", "another capability", "400 invalid_request"),
    ("capability", "a foreign capability", "400 invalid_request"),
    ("capability", "a foreign key", "403 database_mismatch"),
    ("capability", "a foreign token", "403 database_mismatch"),
    ("capability", "a revoked key", "401 unauthorized"),
    ("capability", "plain garbage", "401 unauthorized"),
    ("capability", "an operator key", "403 forbidden"),
    ("capability", "a revoked operator key", "401 unauthorized"),
    ("garbage", "-", "401 unauthorized"),
    ("garbage", "key", "401 unauthorized"),
    ("garbage", "token", "401 unauthorized"),
    ("key", "-", "401 unauthorized"),
    ("token", "-", "401 unauthorized"),
    ("an operator key", "-", "401 unauthorized"),
    ("-", "capability", "200 capability"),
    ("-", "token", "200 token"),
    ("-", "key", "401 unauthorized"),
    ("-", "an operator key", "403 forbidden"),
    ("-", "a revoked operator key", "401 unauthorized"),
    ("-", "garbage", "401 unauthorized"),
    ("-", "plain garbage", "401 unauthorized"),
    ("-", "-", "401 unauthorized"),
    // Nobody has set such a token here.
    ("capability", "the deployment's", "401 unauthorized"),
    ("-", "the deployment's", "401 unauthorized"),
];

/// The same where the deployment demands its token: it may stand in for no authority, and no authority needs it.
const ROWS_WITH_DEPLOYMENT_TOKEN: &[(&str, &str, &str)] = &[
    ("capability", "the deployment's", "200 capability"),
    ("capability", "-", "401 unauthorized"),
    ("capability", "plain garbage", "401 unauthorized"),
    ("capability", "capability", "200 capability"),
    ("capability", "key", "200 capability"),
    ("capability", "token", "200 capability"),
    ("capability", "a foreign key", "403 database_mismatch"),
    ("capability", "a revoked key", "401 unauthorized"),
    ("garbage", "the deployment's", "401 unauthorized"),
    ("-", "the deployment's", "401 unauthorized"),
    ("-", "capability", "200 capability"),
    ("-", "token", "200 token"),
    ("-", "key", "401 unauthorized"),
    ("-", "-", "401 unauthorized"),
];

#[tokio::test]
async fn the_capability_header_comes_first_and_the_bearer_must_fit() {
    let hands = Hands::of(TestApp::start_lexical().await).await;
    hands.check(ROWS).await;
    let message = hands.holding("-", "key").get("/v1/auth/whoami").await.refused(401, "unauthorized");
    assert!(message.contains("/v1/auth/token"), "it says what to do: {message}");
}

#[tokio::test]
async fn a_deployment_token_is_demanded_from_whoever_has_no_authority_as_bearer() {
    let demand =
        |config: &mut memtide::config::Config| config.http.access_token = Some(Secret::new(DEPLOYMENT));
    let app = TestApp::start_configured(Arc::new(Embedder::Off), demand).await;
    let hands = Hands::of(app).await;
    hands.check(ROWS_WITH_DEPLOYMENT_TOKEN).await;
    let ask = json!({ "namespace": "default" });
    hands.holding("-", "key").post("/v1/auth/token", ask.clone()).await.expect(200);
    hands.holding("-", "the deployment's").post("/v1/auth/token", ask).await.refused(401, "unauthorized");
    hands.holding("-", "an operator key").get("/v1/admin/tenants").await.expect(200);
    let deployment = hands.holding("-", "the deployment's");
    deployment.get("/v1/admin/tenants").await.refused(401, "unauthorized");
    for path in ["/livez", "/readyz", "/.well-known/jwks.json", "/openapi.json"] {
        assert_eq!(hands.app.anyone().get(path).await.status.as_u16(), 200, "{path}");
    }
}

#[tokio::test]
async fn a_header_that_is_given_twice_is_invalid() {
    let hands = Hands::of(TestApp::start_lexical().await).await;
    let good = hands.holding("capability", "key");
    whoami(&good).await;
    for twice in [good.capability(hands.get("capability")), good.bearer(hands.get("key"))] {
        twice.get("/v1/auth/whoami").await.refused(400, "invalid_request");
    }
    let operator = hands.holding("-", "an operator key").bearer(hands.get("an operator key"));
    operator.get("/v1/admin/tenants").await.refused(400, "invalid_request");
}

#[tokio::test]
async fn the_scheme_is_bearer_in_any_case() {
    let hands = Hands::of(TestApp::start_lexical().await).await;
    let capability = hands.get("capability");
    for scheme in ["Bearer", "bearer", "BEARER"] {
        whoami(&hands.app.anyone().with("authorization", &format!("{scheme} {capability}"))).await;
    }
    for value in [format!("Basic {capability}"), capability.to_owned(), "Bearer".to_owned(), String::new()] {
        let caller = hands.app.anyone().with("authorization", &value);
        caller.get("/v1/auth/whoami").await.refused(401, "unauthorized");
    }
}

///
#[tokio::test]
async fn whoami_says_everything_that_a_token_says() {
    let app = TestApp::start().await;
    let tenant = app.tenant("me").await;
    let said = whoami(&tenant.client).await;
    let names: Vec<&String> = said.as_object().unwrap().keys().collect();
    let wanted = [
        "actor",
        "capabilities",
        "control",
        "embedding",
        "expires_at",
        "jti",
        "namespace",
        "sensitivity",
        "tenant",
    ];
    assert_eq!(names, wanted);
    assert_eq!((&said["tenant"], &said["namespace"]), (&json!(tenant.id), &json!("default")));
    assert_eq!((&said["control"], &said["actor"]), (&json!(true), &json!({ "kind": "user" })));
    assert_eq!(said["embedding"], json!({ "model": "all-MiniLM-L6-v2", "dimensions": 384 }));
    let expected: Value = serde_json::to_value(memtide::auth::Rights::all()).unwrap();
    assert_eq!(said["capabilities"], expected);
}
