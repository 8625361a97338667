//! The embedder against providers that fail, stall and answer nonsense.

use std::time::{Duration, Instant};

use memtide::config::Secret;
use memtide::embed::{EmbedConfig, Embedder, Embedding, HttpConfig};
use memtide::error::Error;
use memtide::id::TenantId;
use serde_json::json;

use crate::support::stub::{EmbeddingStub, Reply, vectors};
use crate::support::{TestApp, each, fact};

async fn embedder(base_url: &str) -> Embedder {
    let config = HttpConfig {
        base_url: base_url.to_owned(),
        key: Some(Secret::new("sk-secret")),
        model: "stub".to_owned(),
        dimensions: 2,
        batch: 10,
        timeout: Duration::from_millis(300),
        retries: 2,
    };
    Embedder::connect(EmbedConfig::Http(config)).await.unwrap()
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| "x".repeat(number + 1)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "the texts of a test are short")]
fn expected(text: &str) -> Option<Embedding> {
    Embedding::new(vec![1.0, text.len() as f32])
}

/// What `embed_texts` makes of these replies: the wait it tells, or nothing if it got its vectors; and the requests.
async fn outcome(replies: impl IntoIterator<Item = Reply>) -> (Option<Duration>, usize) {
    let stub = EmbeddingStub::start(replies).await;
    let outcome = embedder(&stub.base_url).await.embed_texts(TenantId::new(), &texts(2)).await;
    let requests = stub.requests().len();
    match outcome {
        Ok(_) => (None, requests),
        Err(Error::Unavailable { what: "the embedder", retry_after }) => (Some(retry_after), requests),
        Err(error) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn texts_are_sent_in_batches_and_come_back_in_order() {
    let stub = EmbeddingStub::start([]).await;
    let embedder = embedder(&format!("{}/v1/", stub.base_url)).await;
    let texts = texts(25);
    let found = embedder.embed_texts(TenantId::new(), &texts).await.unwrap();

    let embeddings: Vec<_> = found.into_iter().map(|embedded| embedded.embedding).collect();
    let wanted: Vec<_> = texts.iter().map(|text| expected(text)).collect();
    assert_eq!(embeddings, wanted);
    let requests = stub.requests();
    assert_eq!(requests.iter().map(|request| request.texts.len()).collect::<Vec<_>>(), [10, 10, 5]);
    assert!(requests.iter().all(|request| request.model == "stub"));
    assert!(requests.iter().all(|request| request.authorization.as_deref() == Some("Bearer sk-secret")));
    assert_eq!(embedder.model().unwrap().dimensions, 2);
}

#[tokio::test]
async fn a_query_is_asked_once_for_each_tenant() {
    let stub = EmbeddingStub::start([]).await;
    let embedder = embedder(&stub.base_url).await;
    let (one, other) = (TenantId::new(), TenantId::new());
    // The second tenant must not learn from the time of its answer that the first has asked the same.
    for (tenant, asked) in [(one, 1), (one, 1), (other, 2), (one, 2), (other, 2)] {
        assert_eq!(embedder.embed_query(tenant, "where").await.ok(), expected("where"));
        assert_eq!(stub.requests().len(), asked);
    }
}

#[tokio::test]
async fn a_passing_fault_is_tried_again_and_a_lasting_one_is_not() {
    for fault in [
        Reply::Status(429, None),
        Reply::Status(503, Some(0)),
        Reply::Status(500, None),
        Reply::Stall,
        Reply::Broken,
    ] {
        assert_eq!(outcome([fault.clone()]).await, (None, 2), "{fault:?}");
    }
    for status in [302, 400, 401, 404, 422] {
        let (wait, requests) = outcome([Reply::Status(status, None)]).await;
        assert!(wait.is_some() && requests == 1, "{status}");
    }
}

#[tokio::test]
async fn the_retries_end() {
    let (wait, requests) = outcome(vec![Reply::Status(500, None); 9]).await;
    assert!(wait.is_some() && requests == 3);
}

#[tokio::test]
async fn the_wait_that_the_provider_asks_for_is_kept_and_a_long_one_is_passed_on() {
    let started = Instant::now();
    assert_eq!(outcome([Reply::Status(429, Some(1))]).await, (None, 2));
    assert!(started.elapsed() >= Duration::from_secs(1));

    assert_eq!(outcome([Reply::Status(429, Some(17))]).await, (Some(Duration::from_secs(17)), 1));
}

#[tokio::test]
async fn a_provider_that_is_down_is_unavailable() {
    let stub = EmbeddingStub::start([]).await;
    let embedder = embedder(&stub.base_url).await;
    drop(stub);
    tokio::task::yield_now().await;
    let error = embedder.embed_query(TenantId::new(), "anyone there").await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }));
}

#[tokio::test]
async fn a_provider_that_stalls_is_given_up() {
    let started = Instant::now();
    let (wait, requests) = outcome(vec![Reply::Stall; 3]).await;
    assert!(wait.is_some() && requests == 3);
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_wrong_number_or_size_of_vectors_is_unavailable() {
    let one = vectors(&texts(1)).to_string();
    let three = vectors(&texts(3)).to_string();
    let larger = vectors(&texts(2)).to_string().replace("[1,", "[1,1,");
    let twice = vectors(&texts(2)).to_string().replace("\"index\":1", "\"index\":0");
    let endless = "[".repeat(1 << 20);
    for body in [one, three, larger, twice, endless, "sorry".to_owned()] {
        let (wait, requests) = outcome([Reply::Body(body.clone())]).await;
        assert!(wait.is_some() && requests == 1, "{}", &body[..body.len().min(200)]);
    }
}

#[tokio::test]
async fn a_bad_vector_among_good_ones_costs_only_its_own_text() {
    for bad in ["NaN", "Infinity", "-Infinity", "70000", "null", "1e999"] {
        let body = vectors(&texts(3)).to_string().replace("[1,2]", &format!("[1,{bad}]"));
        let stub = EmbeddingStub::start([Reply::Body(body)]).await;
        let found = embedder(&stub.base_url).await.embed_texts(TenantId::new(), &texts(3)).await.unwrap();
        let embeddings: Vec<_> = found.into_iter().map(|embedded| embedded.embedding).collect();
        assert_eq!(embeddings, [expected("x"), None, expected("xxx")], "{bad}");
    }
}

#[tokio::test]
async fn a_query_without_a_usable_vector_is_unavailable_and_not_remembered() {
    let zero = vectors(&texts(1)).to_string().replace("[1,1]", "[0,0]");
    let stub = EmbeddingStub::start([Reply::Body(zero)]).await;
    let embedder = embedder(&stub.base_url).await;
    let error = embedder.embed_query(TenantId::new(), "x").await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }));
    assert_eq!(embedder.embed_query(TenantId::new(), "x").await.ok(), expected("x"));
}

#[tokio::test]
async fn a_long_text_is_cut_between_characters_and_says_so() {
    let stub = EmbeddingStub::start([]).await;
    let long = ["字".repeat(11_000), "short".to_owned()];
    let found = embedder(&stub.base_url).await.embed_texts(TenantId::new(), &long).await.unwrap();
    assert_eq!(found.iter().map(|embedded| embedded.truncated).collect::<Vec<_>>(), [true, false]);
    assert!(long[0].starts_with(&stub.requests()[0].texts[0]));
}

#[tokio::test]
async fn an_address_that_cannot_be_called_is_refused_at_the_start() {
    for base_url in ["", "localhost:8080", "ftp://example.com", "http://"] {
        let config = HttpConfig {
            base_url: base_url.to_owned(),
            key: None,
            model: "stub".to_owned(),
            dimensions: 2,
            batch: 1,
            timeout: Duration::from_secs(1),
            retries: 0,
        };
        assert!(Embedder::connect(EmbedConfig::Http(config)).await.is_err(), "{base_url}");
    }
}

#[tokio::test]
async fn without_an_embedder_both_calls_are_unavailable() {
    let off = Embedder::connect(EmbedConfig::Off).await.unwrap();
    assert!(off.model().is_none());
    assert!(matches!(off.embed_query(TenantId::new(), "x").await, Err(Error::Unavailable { .. })));
    assert!(matches!(off.embed_texts(TenantId::new(), &texts(1)).await, Err(Error::Unavailable { .. })));
}

#[tokio::test]
async fn a_vector_that_is_none_leaves_its_record_to_be_found_by_its_words_c034() {
    let bad = ["[NaN", "[Infinity", "[0", "[1e999", "[null"];
    for bad in bad {
        let good = "1,".repeat(383) + "1";
        let vector = |index: usize| {
            if index == 7 { format!("{bad}{}]", ",0".repeat(383)) } else { format!("[{good}]") }
        };
        let data: Vec<String> =
            (0..50).map(|index| format!(r#"{{"index":{index},"embedding":{}}}"#, vector(index))).collect();
        let stub =
            EmbeddingStub::wide(384, [Reply::Body(format!(r#"{{"data":[{}]}}"#, data.join(",")))]).await;
        let app = TestApp::start_with(stub.embedder("all-MiniLM-L6-v2").await).await;
        let alice = app.tenant("alice").await.client;
        let items: Vec<_> = (0..50).map(|n| fact(&format!("lamp {n}"))).collect();
        let stored = alice.post("/v1/memory/items/batch", json!({ "items": items })).await.expect(200);
        assert!(each(&stored["results"], "created").iter().all(|created| **created == true), "{stored}");
        let by_words = alice.search(json!({ "query": "lamp 7", "mode": "lexical" })).await;
        assert_eq!(by_words[0]["record"]["content"], "lamp 7");
        let near = json!({ "query": "something else", "mode": "semantic", "limit": 100 });
        let hits = alice.search(near).await;
        assert_eq!(hits.len(), 49, "{bad}");
        assert!(hits.iter().all(|hit| hit["record"]["content"] != "lamp 7"));
    }
}
