//! What a semantic write makes of what it meets: C-070 to C-077, PC-38, R-05, R-06.

use serde_json::{Value, json};

use super::{acting, identity, meaning};
use crate::support::{Follower, TestApp, fact, pending, proposal, with};

async fn start() -> (TestApp, crate::support::Made) {
    let app = TestApp::start_lexical().await;
    let made = app.tenant("semantic").await;
    (app, made)
}

#[tokio::test]
async fn the_service_owns_key_score_and_state_c077_xc39() {
    let (_app, made) = start().await;
    let claimed = json!({
        "client_provided_key": "my-key", "status": "approved", "score": 0.25,
        "metadata": { "key": "mine", "score": 1, "status": "approved" },
    });
    let written = made.client.propose(with(pending("Likes the sea."), claimed.clone())).await;
    let same = made.client.propose(pending("likes  the SEA.")).await;
    assert_eq!(written["canonical_key"], same["canonical_key"]);
    assert_eq!(written["semantic_fingerprint"], same["semantic_fingerprint"]);
    assert_eq!((&same["relation"], &same["created"]), (&json!("duplicate"), &json!(false)));
    let candidate = &written["candidate"];
    assert_ne!(candidate["key"], "my-key");
    assert_eq!(candidate["status"], "pending");
    assert_eq!(candidate["score"], 1.0);
    let kept = &candidate["metadata"]["client"];
    assert_eq!(
        (&kept["client_provided_key"], &kept["client_status"]),
        (&json!("my-key"), &json!("approved"))
    );
    assert_eq!(kept["key"], "mine");
    let named = made.client.propose(identity("Ada")).await;
    assert_eq!(
        named["canonical_key"],
        json!({
            "key": "user/global:identity:self:name", "scope": { "kind": "user", "key": "alice" },
            "namespace": "default", "category": "identity", "cardinality": "single_value",
        })
    );
    assert_eq!(named["record"]["key"], "user/global:identity:self:name");
    assert_eq!(named["semantic_fingerprint"].as_str().unwrap().len(), 64);
    for hint in ["project_workspace", "agent_global", "unknown"] {
        let again = made.client.propose(meaning(identity("Ada"), json!({ "scope_hint": hint }))).await;
        assert_eq!(
            (&again["relation"], &again["record"]["id"]),
            (&json!("duplicate"), &named["record"]["id"])
        );
    }
}

#[tokio::test]
async fn equal_values_are_one_record_and_their_evidence_is_merged_pc38() {
    let (app, made) = start().await;
    let address = app.serve().await;
    let mut events = Follower::open(false, address, &made.capability, None).await;
    let first = made.client.propose(identity("Ada")).await;
    assert_eq!(events.told().await["params"]["change_kind"], "created");
    let other_words = json!({
        "content": "Call her Ada.", "value": " ADA ", "evidence": [{ "source_turn_id": "9", "quote": "Call me Ada" }],
    });
    let second = made.client.propose(with(identity("Ada"), other_words.clone())).await;
    assert_eq!((&second["relation"], &second["created"]), (&json!("duplicate"), &json!(false)));
    assert_eq!((&second["evidence_merged"], &second["record"]["version"]), (&json!(true), &json!(2)));
    assert_eq!(second["record"]["id"], first["record"]["id"]);
    assert_eq!(second["record"]["content"], first["record"]["content"]);
    assert_eq!(second["record"]["metadata"]["evidence"].as_array().unwrap().len(), 2);
    assert!(second.get("candidate").is_none());
    assert_eq!(events.told().await["params"]["change_kind"], "updated");
    let third = made.client.propose(with(identity("Ada"), other_words)).await;
    assert_eq!((&third["evidence_merged"], &third["record"]["version"]), (&json!(false), &json!(2)));
    // A text that was remembered directly is known too.
    let remembered =
        made.client.remember(with(fact("Likes the sea."), json!({ "category": "preference" }))).await;
    let known = made.client.propose(proposal("likes the sea.")).await;
    assert_eq!((&known["relation"], &known["record"]["id"]), (&json!("duplicate"), &remembered["id"]));
}

#[tokio::test]
async fn another_value_supersedes_only_when_it_is_to_pc38() {
    let (_app, made) = start().await;
    let ada = made.client.propose(identity("Ada")).await;
    let eve = made.client.propose(with(identity("Eve"), json!({ "disposition": "accept_active" }))).await;
    assert_eq!((&eve["relation"], &eve["created"]), (&json!("compatible_update"), &json!(true)));
    assert_eq!(eve["superseded_memory_id"], ada["record"]["id"]);
    assert_eq!(eve["candidate"]["metadata"]["candidate_policy"]["score_parts"]["relation"], 0.05);
    let path = format!("/v1/memory/items/{}", ada["record"]["id"].as_str().unwrap());
    let old = made.client.get(&path).await.expect(200);
    assert_eq!(
        (&old["record"]["status"], &old["record"]["superseded_by"]),
        (&json!("superseded"), &eve["record"]["id"])
    );
    let of_ada = format!("/v1/memory/candidates/{}", ada["candidate"]["id"].as_str().unwrap());
    assert_eq!(made.client.get(&of_ada).await.expect(200)["candidate"]["status"], "superseded");
    let implied =
        meaning(identity("Zoe"), json!({ "explicitness": "implicit", "intent": "implicit_candidate" }));
    let zoe = made.client.propose(with(implied, json!({ "disposition": "accept_active" }))).await;
    assert_eq!(zoe["relation"], "contradiction");
    assert_eq!(zoe["candidate"]["reason"], "review_disabled_contradiction");
    assert_eq!(made.client.found("name").await, ["The user's name is Eve."]);
}

/// R-05, C097: a digit, a negation or a name apart are two facts.
#[tokio::test]
async fn nothing_is_merged_because_it_is_close_r05() {
    let app = TestApp::start().await;
    let made = app.tenant("close").await;
    let facts = [
        "The rent is 900.",
        "The rent is 9000.",
        "The router is at 192.168.7.1.",
        "The router is at 192.168.9.1.",
        "Drinks coffee.",
        "Drinks no coffee.",
        "Works with Bob.",
        "Works with Eve.",
    ];
    for content in facts {
        let accepted =
            meaning(proposal(content), json!({ "explicitness": "explicit", "intent": "explicit_store" }));
        let written = made.client.propose(with(accepted, json!({ "disposition": "accept_active" }))).await;
        assert_eq!((&written["relation"], &written["created"]), (&json!("novel"), &json!(true)), "{written}");
    }
    assert_eq!(made.client.listed("limit=100").await.len(), facts.len());
}

/// R-06, C107: a machine does not bring back what a user forgot; a user does.
#[tokio::test]
async fn what_was_forgotten_stays_forgotten_for_machines_r06_c107() {
    let (app, made) = start().await;
    let extractor = acting(&app, &made, "extractor").await;
    let ada = made.client.propose(identity("Ada")).await;
    let sea = made
        .client
        .remember(with(fact("Likes the sea."), json!({ "category": "preference", "key": "own" })))
        .await;
    for record in [&ada["record"], &sea] {
        let path = format!("/v1/memory/items/{}", record["id"].as_str().unwrap());
        made.client.delete(&path).await.expect(200);
    }
    let explicit = json!({ "disposition": "accept_active" });
    for proposal in [
        identity("Ada"),
        with(identity("Ada"), explicit.clone()),
        pending("likes the SEA."),
        with(proposal("Likes the sea."), explicit.clone()),
    ] {
        let written = extractor.propose(proposal).await;
        assert_eq!(written["relation"], "suppressed_by_rejection", "{written}");
        assert_eq!(written["candidate"]["status"], "auto_rejected");
        assert_eq!(written["candidate"]["reason"], "suppressed_duplicate");
        assert_eq!((&written["created"], written.get("record")), (&json!(false), None));
    }
    assert!(made.client.listed("").await.is_empty());
    assert_eq!(
        extractor.propose(identity("Eve")).await["relation"],
        "novel",
        "another value is another fact"
    );
    let back = made.client.propose(with(identity("Ada"), explicit)).await;
    assert_eq!(back["record"]["status"], "active", "the user's own word counts: {back}");
    made.client.remember(with(fact("Likes the sea."), json!({ "category": "preference" }))).await;
}

#[tokio::test]
async fn a_pending_candidate_gathers_evidence_and_an_explicit_write_settles_it() {
    let (_app, made) = start().await;
    let first = made.client.propose(pending("Likes the sea.")).await;
    let more = json!({ "evidence": [{ "source_ref": "mail 7" }] });
    let second = made.client.propose(with(pending("Likes the sea."), more)).await;
    assert_eq!((&second["relation"], &second["evidence_merged"]), (&json!("duplicate"), &json!(true)));
    assert_eq!(second["candidate"]["id"], first["candidate"]["id"]);
    assert_eq!(second["candidate"]["evidence"].as_array().unwrap().len(), 2);
    let explicit = meaning(proposal("Likes the sea."), json!({ "explicitness": "explicit" }));
    let settled = made.client.propose(with(explicit, json!({ "disposition": "accept_active" }))).await;
    assert_eq!(settled["candidate"]["id"], first["candidate"]["id"], "no second row");
    assert_eq!(
        (&settled["candidate"]["status"], &settled["record"]["status"]),
        (&json!("approved"), &json!("active"))
    );
}

/// XC-32: what is rejected over and over is one row that counts.
#[tokio::test]
async fn repeated_rejections_are_counted_not_stored_xc32() {
    let (app, made) = start().await;
    let assistant = acting(&app, &made, "assistant").await;
    let first = assistant.propose(proposal("Likes the sea.")).await;
    assert_eq!(first["candidate"]["status"], "review_disabled_rejected");
    for repeats in 1..=3 {
        let again = assistant.propose(proposal("Likes the sea.")).await;
        assert_eq!(
            (&again["candidate"]["id"], &again["created"]),
            (&first["candidate"]["id"], &json!(false))
        );
        assert_eq!(again["candidate"]["metadata"]["lifecycle"]["repeats"], repeats);
    }
    let all = made.client.get("/v1/memory/candidates").await.expect(200);
    assert_eq!(all["candidates"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_nothing_is_stored_r28() {
    let (app, made) = start().await;
    let named = |proposal: Value, field: &'static str, status: u16| (proposal, field, status);
    let evidence = |evidence: Value| with(proposal("x"), json!({ "evidence": evidence }));
    let seventeen: Vec<Value> = (0..17).map(|at| json!({ "source_ref": at.to_string() })).collect();
    let cases = [
        named(evidence(json!([])), "evidence", 400),
        named(evidence(json!(seventeen)), "evidence", 400),
        named(evidence(json!([{}])), "evidence[0]", 400),
        named(evidence(json!([{ "quote": "  " }])), "evidence[0].quote", 400),
        named(evidence(json!([{ "span": { "start": 2, "end": 1 } }])), "evidence[0].span", 400),
        named(evidence(json!([{ "quote": "x".repeat(2_049) }])), "evidence[0].quote", 400),
        named(with(proposal("x"), json!({ "content": " \u{200b} " })), "content", 400),
        named(with(proposal("x"), json!({ "content": "x".repeat(65_537) })), "content", 413),
        named(with(proposal("x"), json!({ "confidence": 1.5 })), "confidence", 400),
        named(with(proposal("x"), json!({ "disposition": "store" })), "disposition", 400),
        named(with(proposal("x"), json!({ "unknown": 1 })), "unknown", 422),
        named(meaning(proposal("x"), json!({ "intent": "maybe" })), "semantic.intent", 400),
        named(meaning(proposal("x"), json!({ "mood": 1 })), "semantic.mood", 422),
        named(
            meaning(proposal("x"), json!({ "custom_attribute": "x".repeat(65) })),
            "semantic.custom_attribute",
            400,
        ),
        named(meaning(identity("Ada"), json!({ "custom_attribute": "x" })), "semantic.custom_attribute", 400),
        named(with(proposal("x"), json!({ "value": "x".repeat(5_000) })), "value", 400),
        named(with(proposal("x"), json!({ "metadata": { "a": "x".repeat(17_000) } })), "metadata", 400),
    ];
    for (proposal, field, status) in cases {
        made.client.post("/v1/memory/semantic_write", proposal.clone()).await.names(status, field);
        let error = made.client.answer("memory/semantic_write", proposal).await;
        assert_eq!(error["error"]["data"]["details"]["field"], field, "{error}");
        assert_eq!(error["error"]["code"], if status == 413 { -32013 } else { -32602 });
    }
    assert_eq!(made.client.get("/v1/memory/candidates").await.expect(200)["candidates"], json!([]));
    let narrow = json!({ "namespace": "default", "scopes": [{ "kind": "user", "key": "bob" }] });
    let narrow = app.anyone().capability(&app.exchange(&made.key, narrow).await);
    narrow.post("/v1/memory/semantic_write", proposal("x")).await.refused(403, "forbidden");
    let normal = json!({ "namespace": "default", "sensitivity": ["normal"] });
    let normal = app.anyone().capability(&app.exchange(&made.key, normal).await);
    let personal = meaning(proposal("x"), json!({ "sensitivity": "personal" }));
    normal.post("/v1/memory/semantic_write", personal).await.refused(403, "forbidden");
}

#[tokio::test]
async fn a_write_has_one_effect_for_its_key_r11() {
    let (_app, made) = start().await;
    let keyed = with(pending("Likes the sea."), json!({ "idempotency_key": "k" }));
    let first = made.client.propose(keyed.clone()).await;
    let again = made.client.post("/v1/memory/semantic_write", keyed.clone()).await;
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(again.expect(200), first);
    let other = with(pending("Likes tea."), json!({ "idempotency_key": "k" }));
    made.client.post("/v1/memory/semantic_write", other.clone()).await.refused(422, "idempotency_mismatch");
    assert_eq!(
        made.client.call("memory/semantic_write", keyed.clone()).await["relation"],
        "duplicate",
        "another route"
    );
    made.client.refused("memory/semantic_write", other, -32009, "idempotency_mismatch").await;
}

/// R-39, R-54: evidence is as good as its source.
#[tokio::test]
async fn evidence_is_classed_by_its_source_r39() {
    let (app, made) = start().await;
    let assistant = acting(&app, &made, "assistant").await;
    let class =
        |written: &Value| written["candidate"]["metadata"]["candidate_policy"]["evidence_class"].clone();
    let unquoted = json!({ "evidence": [{ "source_ref": "r" }] });
    let cases = [
        (&made.client, json!({}), "direct_user_assertion"),
        (&made.client, unquoted, "missing_or_weak"),
        (
            &made.client,
            json!({ "provenance": { "source_kind": "user_correction" } }),
            "direct_user_correction",
        ),
        (&made.client, json!({ "source_context_kind": "generated_summary" }), "generated_summary"),
        (&made.client, json!({ "source_context_kind": "tool_result" }), "missing_or_weak"),
        (&made.client, json!({ "source_context_kind": "tarot" }), "missing_or_weak"),
        (&assistant, json!({}), "missing_or_weak"),
        (&assistant, json!({ "source_context_kind": "direct_user_conversation" }), "direct_user_assertion"),
    ];
    for (at, (client, more, expected)) in cases.into_iter().enumerate() {
        let written = client.propose(with(pending(&format!("Fact number {at}.")), more)).await;
        assert_eq!(class(&written), expected, "{at}");
    }
}

/// PC-36, C169: what looks like a key is kept out, whatever the writer takes it for.
#[tokio::test]
async fn a_secret_is_recognised_whatever_it_is_called_pc36_c169() {
    let (_app, made) = start().await;
    let key = "AKIAIOSFODNN7EXAMPLE";
    let explicit = json!({ "explicitness": "explicit", "intent": "explicit_store" });
    for write in [
        json!({ "content": format!("The key is {key}.") }),
        json!({ "content": "The key is here.", "value": key }),
        json!({ "content": "The key is there.", "evidence": [{ "quote": format!("use {key}") }] }),
    ] {
        let write = with(meaning(proposal("x"), explicit.clone()), write);
        let written = made.client.propose(with(write, json!({ "disposition": "accept_active" }))).await;
        let candidate = &written["candidate"];
        assert_eq!(
            (&candidate["status"], &candidate["reason"]),
            (&json!("auto_rejected"), &json!("secret_like_or_regulated")),
            "{written}"
        );
        assert!(written.get("record").is_none() && !written.to_string().contains(key), "{written}");
    }
    assert!(made.client.listed("").await.is_empty());
}
