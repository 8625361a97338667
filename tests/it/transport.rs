//! Bodies, content types and encodings, as far as every JSON route has them in common.

use std::net::SocketAddr;

use axum::http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Reply, TestApp, each, fact, with};

const ITEMS: &str = "/v1/memory/items";

#[tokio::test]
async fn content_types_are_told_apart_c057() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let body = || fact("x").to_string();
    for good in [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "APPLICATION/JSON",
        "application/vnd.api+json",
    ] {
        let reply = alice.with("content-type", good).send(Method::POST, ITEMS, Some(body())).await;
        assert!(reply.status.is_success(), "{good}: {}", reply.text);
    }
    for bad in
        ["application/json; charset=latin1", "application/x-amz-json-1.1", "text/plain", "", "json", "*/*"]
    {
        let reply = alice.with("content-type", bad).send(Method::POST, ITEMS, Some(body())).await;
        reply.refused(415, "unsupported_media_type");
    }
    let twice = alice.with("content-type", "application/json").with("content-type", "text/plain");
    twice.send(Method::POST, ITEMS, Some(body())).await.refused(415, "unsupported_media_type");
}

#[tokio::test]
async fn a_byte_order_mark_is_as_if_absent_c013() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let body = [b"\xEF\xBB\xBF".as_slice(), fact("marked").to_string().as_bytes()].concat();
    alice.send_bytes(Method::POST, ITEMS, Some(body)).await.expect(201);
    let once = alice.with("idempotency-key", "K");
    let body = [b"\xEF\xBB\xBF".as_slice(), fact("once").to_string().as_bytes()].concat();
    once.send_bytes(Method::POST, ITEMS, Some(body)).await.expect(201);
    once.post(ITEMS, fact("once")).await.expect(201);
    let search = b"\xEF\xBB\xBF{\"query\":\"marked\"}".to_vec();
    alice.send_bytes(Method::POST, "/v1/memory/search", Some(search)).await.expect(200);
}

#[tokio::test]
async fn what_is_no_json_is_400_c055() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let whole = fact("x").to_string();
    let bodies: Vec<Vec<u8>> = vec![
        Vec::new(),
        whole.as_bytes()[..whole.len() - 1].to_vec(),
        format!("{whole} x").into_bytes(),
        format!("{whole}{whole}").into_bytes(),
        whole.replace('"', "'").into_bytes(),
        format!("// a fact\n{whole}").into_bytes(),
        whole.replace("\"x\"", "NaN").into_bytes(),
        whole.replace("\"x\"", "\"\u{1}\"").into_bytes(),
        whole.replace('x', "@").into_bytes().iter().map(|&b| if b == b'@' { 0xFF } else { b }).collect(),
    ];
    for (at, body) in bodies.into_iter().enumerate() {
        for path in [ITEMS, "/v1/memory/search", "/v1/memory/forget", "/v1/memory/items/batch"] {
            let reply = alice.send_bytes(Method::POST, path, Some(body.clone())).await;
            let message = reply.refused(400, "invalid_request");
            assert!(message.contains("JSON"), "{at} {path}: {message}");
        }
    }
    assert_eq!(alice.listed("").await.len(), 0);
}

#[tokio::test]
async fn members_that_are_there_twice_are_refused_c049() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let scope = r#""scope":{"kind":"user","key":"alice"}"#;
    let rows = [
        (format!(r#"{{{scope},{scope},"category":"custom","content":"x"}}"#), "scope"),
        (format!(r#"{{{scope},"category":"custom","content":"x","content":"y"}}"#), "content"),
        (
            r#"{"scope":{"kind":"user","kind":"agent","key":"a"},"category":"custom","content":"x"}"#.into(),
            "scope.kind",
        ),
    ];
    for (body, field) in rows {
        alice.send(Method::POST, ITEMS, Some(body)).await.names(422, field);
    }
    // Inside free values the last one counts.
    let body = format!(r#"{{{scope},"category":"custom","content":"x","metadata":{{"a":1,"a":2}}}}"#);
    let reply = alice.send(Method::POST, ITEMS, Some(body)).await.expect(201);
    assert_eq!(reply["record"]["metadata"], json!({ "a": 2 }));
}

#[tokio::test]
async fn numbers_and_nesting_are_kept_or_refused_r43_r08_c047() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let send = async |metadata: &str| {
        let body = with(fact("x"), json!({ "key": "k" })).to_string();
        let body = format!("{},\"metadata\":{metadata}}}", &body[..body.len() - 1]);
        alice.send(Method::POST, ITEMS, Some(body)).await
    };
    for number in ["9223372036854775807", "-9223372036854775808", "18446744073709551615", "0.1", "1e300"] {
        let reply = send(&format!("{{\"n\":{number}}}")).await;
        assert!(reply.status.is_success());
        let id = reply.body["record"]["id"].as_str().unwrap().to_owned();
        let got = alice.get(&format!("{ITEMS}/{id}")).await.expect(200);
        let expected: Value = serde_json::from_str(number).unwrap();
        assert_eq!(got["record"]["metadata"]["n"], expected, "{number}");
    }
    for number in ["18446744073709551616", "-9223372036854775809", "1e400"] {
        send(&format!("{{\"n\":{number}}}")).await.refused(400, "invalid_request");
    }
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    let reply = send(&nested(60)).await;
    assert!(reply.status.is_success());
    let id = reply.body["record"]["id"].as_str().unwrap().to_owned();
    alice.get(&format!("{ITEMS}/{id}/history")).await.expect(200);
    alice.listed("").await;
    for depth in [64, 100, 127, 200, 100_000] {
        send(&nested(depth)).await.refused(400, "invalid_request");
    }
}

#[tokio::test]
async fn unknown_routes_and_methods_are_refused_in_our_words_xa_e3() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    alice.get("/v1/memory/nothing").await.refused(404, "not_found");
    alice.get("/v1/memory/items/").await.refused(404, "not_found");
    let reply = alice.delete("/v1/memory/search").await;
    assert!(reply.headers["allow"].to_str().unwrap().contains("POST"));
    reply.refused(405, "method_not_allowed");
    let reply = alice.with("x-request-id", "abc-123").get(ITEMS).await;
    assert_eq!(reply.headers["x-request-id"], "abc-123");
}

#[tokio::test]
async fn a_body_over_2_mib_is_413_xc_a13() {
    let app = TestApp::start().await;
    let alice = app.tenant("alice").await.client;
    let reply: Reply = alice.post(ITEMS, fact(&"a".repeat(2 * 1024 * 1024))).await;
    let message = reply.refused(413, "payload_too_large");
    assert!(message.contains("2097152"), "{message}");
}

/// Sends bytes to the service, and gives what comes back until it closes or is quiet.
async fn raw(address: SocketAddr, request: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    for part in request {
        if stream.write_all(part).await.is_err() {
            break;
        }
    }
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let _ = tokio::time::timeout(std::time::Duration::from_secs(2), read).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn chunked_bodies_are_read_up_to_the_limit_c045() {
    let app = TestApp::start().await;
    let made = app.tenant("alice").await;
    let address = app.serve().await;
    let head = |more: &str| {
        format!(
            "POST {ITEMS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\n\
             x-akasha-capability: {}\r\n{more}\r\n",
            made.capability
        )
    };
    let body = fact("chunked").to_string();
    let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let chunked = head("transfer-encoding: chunked\r\n");
    let answer = raw(address, &[chunked.as_bytes(), chunk.as_bytes()]).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let large = format!("{:x}\r\n{}\r\n0\r\n\r\n", 3_000_000, "a".repeat(3_000_000));
    let answer = raw(address, &[chunked.as_bytes(), large.as_bytes()]).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");
    // Beside chunks a length does not count, as RFC 9112 has it; two lengths that disagree are no request.
    let both = head("transfer-encoding: chunked\r\ncontent-length: 5\r\n");
    let answer = raw(address, &[both.as_bytes(), chunk.as_bytes()]).await;
    assert!(answer.starts_with("HTTP/1.1 400") || answer.starts_with("HTTP/1.1 200"), "{answer}");
    let two = head("content-length: 5\r\ncontent-length: 6\r\n");
    let answer = raw(address, &[two.as_bytes(), body.as_bytes()]).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}

#[tokio::test]
async fn what_we_do_not_undo_is_refused() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    alice
        .with("content-encoding", "gzip")
        .post(ITEMS, fact("x"))
        .await
        .refused(415, "unsupported_media_type");
    alice.with("content-encoding", "identity").post(ITEMS, fact("x")).await.expect(201);
    for query in ["query=%ff", "query=%", "query=%4", "query=%zz"] {
        alice.get(&format!("{ITEMS}?{query}")).await.refused(400, "invalid_request");
    }
    alice.get(&format!("{ITEMS}?query=%C3%A9+x")).await.expect(200);
}

#[tokio::test]
async fn a_page_ends_early_when_its_texts_are_long() {
    let app = TestApp::start_lexical().await;
    let alice = app.tenant("alice").await.client;
    for n in 0..20 {
        let text = format!("{n} {}", "\u{1}".repeat(65_000));
        alice.remember(fact(&text)).await;
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = alice.get(&format!("{ITEMS}?limit=100{cursor}")).await.expect(200);
        let ids = each(&page["records"], "id");
        assert!(!ids.is_empty() && ids.len() <= 16, "{}", ids.len());
        seen.extend(ids.into_iter().map(ToString::to_string));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let different: std::collections::BTreeSet<&String> = seen.iter().collect();
    assert_eq!((seen.len(), different.len()), (20, 20));
}

#[tokio::test]
async fn the_zone_of_the_database_changes_nothing_c137() {
    let app = TestApp::start().await;
    let made = app.tenant("alice").await;
    let sent = with(fact("zoned"), json!({ "context": { "observed_at": "2026-10-25T00:59:59Z" } }));
    let record = made.client.remember(sent).await;
    let mut db = app.db.superuser().await;
    sqlx::raw_sql("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = %L', current_database(), 'Asia/Kathmandu'); END $$")
        .execute(&mut db)
        .await
        .unwrap();
    let (_, router) = app.second_node().await;
    let there = crate::support::Client::new(router).capability(&made.capability);
    let got = there.get(&format!("{ITEMS}/{}", crate::support::id(&record))).await.expect(200);
    assert_eq!(got["record"], record);
    assert_eq!(record["context"]["observed_at"], 1_792_889_999);
}
