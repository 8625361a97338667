//! Secrets are masked before anything is stored, indexed or embedded (C169).

use serde_json::json;
use sqlx::AssertSqlSafe;

use crate::support::stub::EmbeddingStub;
use crate::support::{TestApp, redis};

/// Each with what must be nowhere.
const SECRETS: [(&str, &str); 5] = [
    ("I prefer to deploy with the key AKIAIOSFODNN7EXAMPLE in eu-west-1.", "AKIAIOSFODNN7EXAMPLE"),
    (
        "I prefer the header Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlc2lnbmF0dXJl",
        "c2lnbmF0dXJlc2lnbmF0dXJl",
    ),
    ("I prefer to pay with card 4111 1111 1111 1111 at Amazon.", "4111 1111 1111 1111"),
    ("I prefer password = hunter2-canary for staging.", "hunter2-canary"),
    ("I prefer postgres://app:s3cr3t-canary@db.internal/app for tests.", "s3cr3t-canary"),
];

const PEM: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIBOgIBAAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu\n-----END RSA PRIVATE KEY-----";

const HARMLESS: [&str; 4] = [
    "No Firebase API key in the build.",
    "The server reads $DATABASE_URL and ${API_KEY} from its environment.",
    "Fixed in 3f786850e387550fdab836ed7e6dc881de23001b.",
    "The run was 01900000-0000-7000-8000-000000000001.",
];

#[tokio::test]
async fn no_secret_of_a_capture_is_anywhere_and_its_sort_is_named_c169() {
    let stub = EmbeddingStub::start([]).await;
    let app = TestApp::start_with(stub.embedder("stub").await).await;
    let client = app.tenant("alice").await.client;
    let lines = SECRETS.iter().map(|(line, _)| *line).chain([PEM]).chain(HARMLESS);
    let text = lines.collect::<Vec<_>>().join("\n");
    let body = json!({ "task_content": text, "task_description": SECRETS[3].0,
        "client": { "conversation_id": "c1", "conversation_title": SECRETS[0].0 } });
    let once = client.with("idempotency-key", "once");
    let taken = once.post("/v1/memory/capture", body).await.expect(202);
    app.work().await;
    let job = client.job(taken["job_id"].as_str().unwrap()).await;
    assert_eq!(job["status"], "done", "{job}");
    let kinds = ["api key", "card number", "password", "private key", "token"];
    let mut masked: Vec<&str> =
        job["masked"].as_array().unwrap().iter().map(|kind| kind.as_str().unwrap()).collect();
    masked.sort_unstable();
    assert_eq!(masked, kinds);

    let mut places = dump(&app).await;
    places.push(("redis".to_owned(), format!("{:?}", redis::dump(&app).await)));
    places.push(("the provider".to_owned(), format!("{:?}", stub.requests())));
    assert!(places.iter().any(|(_, rows)| rows.contains("for staging")), "the rest of the fact survives");
    let canaries = SECRETS.iter().map(|(_, canary)| *canary).chain(["MIIBOgIBAAJBAKj34"]);
    for canary in canaries {
        for (place, rows) in &places {
            assert!(!rows.contains(canary), "{canary} is in {place}");
        }
    }
    let sources = &places.iter().find(|(table, _)| table == "sources").unwrap().1;
    for line in HARMLESS {
        assert!(sources.contains(line), "{line} is harmless");
    }
}

/// Every row of every table, as text.
async fn dump(app: &TestApp) -> Vec<(String, String)> {
    let mut superuser = app.db.superuser().await;
    let sql =
        "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace";
    let tables: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut superuser).await.unwrap();
    let mut rows = Vec::new();
    for table in tables {
        let sql = format!("SELECT coalesce(string_agg(t::text, E'\\n'), '') FROM {table} t");
        let text = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut superuser).await.unwrap();
        rows.push((table, text));
    }
    rows
}
