//! Records whose time is over are not active, whether or not the sweeper has run (XC-20).

use chrono::TimeDelta;
use serde_json::{Value, json};

use sqlx::AssertSqlSafe;

use crate::support::{Client, Made, TestApp, each, fact, id, with};

const ITEMS: &str = "/v1/memory/items";

fn passing(app: &TestApp, content: &str) -> Value {
    let at = (app.app.clock.now() + TimeDelta::hours(1)).timestamp();
    with(fact(content), json!({ "expires_at": at }))
}

/// The same caller two hours later.
async fn later(app: &TestApp, made: &Made) -> Client {
    app.app.clock.shift(TimeDelta::hours(2));
    app.anyone().capability(&app.exchange(&made.key, json!({ "namespace": "default" })).await)
}

#[tokio::test]
async fn an_expired_record_is_not_active_anywhere_xc20() {
    for is_tidy in [false, true] {
        let app = TestApp::start().await;
        let made = app.tenant("alice").await;
        let keyed = with(passing(&app, "The door code is 4711."), json!({ "key": "door" }));
        let record = made.client.remember(keyed).await;
        assert_eq!(made.client.found("door code").await.len(), 1);
        let late = later(&app, &made).await;
        if is_tidy {
            memtide::job::tidy(&app.app).await;
        }
        for mode in ["hybrid", "lexical", "semantic"] {
            assert_eq!(late.search(json!({ "query": "door code", "mode": mode })).await.len(), 0, "{mode}");
        }
        for question in ["", "status=active", "scope=user:alice&key=door"] {
            assert_eq!(late.listed(question).await.len(), 0, "{question} {is_tidy}");
        }
        let expired = late.get(&format!("{ITEMS}?status=expired")).await.expect(200);
        assert_eq!(each(&expired["records"], "status"), ["expired"], "{is_tidy}");
        let path = format!("{ITEMS}/{}", id(&record));
        assert_eq!(late.get(&path).await.expect(200)["record"]["status"], "expired");
        // It can be neither changed, superseded nor restored.
        late.patch(&path, json!({ "expires_at": null })).await.refused(409, "conflict");
        late.post(&format!("{path}/restore"), json!({})).await.refused(409, "conflict");
        let next = with(fact("next"), json!({ "supersedes": record["id"] }));
        late.post(ITEMS, next).await.refused(409, "conflict");
        let context = late.post("/v1/memory/context", json!({ "query": "door code" })).await.expect(200);
        assert_eq!(context["items"], json!([]));
    }
}

#[tokio::test]
async fn the_place_of_an_expired_record_is_free() {
    let app = TestApp::start().await;
    let made = app.tenant("alice").await;
    let text = made.client.remember(passing(&app, "The code is 1.")).await;
    let keyed = made.client.remember(with(passing(&app, "2"), json!({ "key": "k" }))).await;
    let other = made.client.remember(with(passing(&app, "3"), json!({ "key": "other" }))).await;
    let old = made.client.remember(with(fact("4"), json!({ "key": "tmp" }))).await;
    let late = later(&app, &made).await;
    let new = late.post(ITEMS, fact("the code is 1.")).await.expect(201);
    assert_ne!(new["record"]["id"], text["id"]);
    let new = late.post(ITEMS, with(fact("two"), json!({ "key": "K" }))).await.expect(201);
    assert_ne!(new["record"]["id"], keyed["id"]);
    let moved = late.patch(&format!("{ITEMS}/{}", id(&old)), json!({ "key": "other" })).await.expect(200);
    assert_eq!(moved["record"]["key"], "other");
    let history = late.get(&format!("{ITEMS}/{}/history", id(&other))).await.expect(200);
    assert_eq!(each(&history["versions"], "change_kind"), ["expired", "created"]);
}

#[tokio::test]
async fn a_cursor_shows_nothing_that_has_expired_since() {
    let app = TestApp::start().await;
    let made = app.tenant("alice").await;
    let at = (app.app.clock.now() + TimeDelta::minutes(1)).timestamp();
    for n in 0..6 {
        made.client.remember(with(fact(&format!("code {n}")), json!({ "expires_at": at }))).await;
    }
    let page =
        made.client.post("/v1/memory/search", json!({ "query": "code", "limit": 2 })).await.expect(200);
    app.app.clock.shift(TimeDelta::minutes(2));
    let next = json!({ "query": "code", "limit": 2, "cursor": page["next_cursor"] });
    assert_eq!(made.client.search(next).await.len(), 0);
}

#[tokio::test]
async fn a_tenant_whose_records_cannot_expire_keeps_no_other_from_its_turn() {
    let app = TestApp::start_lexical().await;
    let (first, second) = (app.tenant("first").await, app.tenant("second").await);
    for made in [&first, &second] {
        made.client.remember(passing(&app, "The door code is 4711.")).await;
    }
    let mut superuser = app.db.superuser().await;
    let status = |made: &Made| format!("SELECT status FROM memories WHERE tenant_id = '{}'", made.id.uuid());
    let refuse = format!(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$;
         CREATE TRIGGER broken BEFORE UPDATE ON memories FOR EACH ROW
           WHEN (NEW.tenant_id = '{}') EXECUTE FUNCTION refuse()",
        first.id.uuid()
    );
    sqlx::raw_sql(AssertSqlSafe(refuse)).execute(&mut superuser).await.unwrap();
    app.app.clock.shift(TimeDelta::hours(2));
    for (repair, wanted) in [("", ["active", "expired"]), ("DROP TRIGGER broken ON memories", ["expired"; 2])]
    {
        sqlx::raw_sql(repair).execute(&mut superuser).await.unwrap();
        memtide::job::tidy(&app.app).await;
        for (made, wanted) in [&first, &second].into_iter().zip(wanted) {
            let found: String =
                sqlx::query_scalar(AssertSqlSafe(status(made))).fetch_one(&mut superuser).await.unwrap();
            assert_eq!(found, wanted);
        }
    }
}
