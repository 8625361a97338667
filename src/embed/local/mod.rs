//! The model in this process: BERT with weights in half precision and sums in `f32`, on threads of its own.
//!
//! Callers turn text into tokens and wait; the threads take what waits in small batches, queries first and tenants
//! in turn (`schedule.rs`). Nothing is padded, so that a batch costs what its tokens cost.

mod forward;
mod schedule;
mod shape;
mod tensors;
mod tokenizer;
mod weights;
mod worker;

use tokio::sync::oneshot;
use tokio::task::{spawn_blocking, yield_now};

use self::schedule::Lane;
use self::shape::Shape;
use self::tokenizer::{TextTokenizer, Tokens};
use self::weights::Weights;
use self::worker::Workers;
use super::{ConnectError, Embedded, Embedding, LocalConfig, Model, RETRY_SOON, unavailable};
use crate::error::Result;
use crate::id::TenantId;

/// The model that the set-up script fetches, by the SHA-256 of its weights.
const KNOWN: (&str, &str) =
    ("53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", "all-MiniLM-L6-v2");

/// A model in memory and the threads that run it.
pub struct Local {
    model: Model,
    tokenizer: TextTokenizer,
    workers: Workers,
}

impl Local {
    /// Reads the model and starts its threads.
    pub async fn load(config: LocalConfig) -> Result<Self, ConnectError> {
        spawn_blocking(move || Self::load_now(&config)).await.unwrap_or_else(|failure| {
            let path = "the model".into();
            Err(ConnectError::Model { path, reason: failure.to_string() })
        })
    }

    fn load_now(config: &LocalConfig) -> Result<Self, ConnectError> {
        let folder = &config.model_dir;
        let shape = Shape::read(folder)?;
        let tokenizer = TextTokenizer::read(folder, &shape)?;
        let fingerprint = tensors::fingerprint(&folder.join("model.safetensors"))?;
        let model = Model { name: name(&fingerprint, &shape), dimensions: shape.hidden_size };
        let workers = Workers::start(Weights::read(folder, shape)?, config.workers.max(1))?;
        Ok(Self { model, tokenizer, workers })
    }

    /// The model that is loaded.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The embedding of a query, ahead of everything that is to be stored.
    pub async fn embed_query(&self, tenant: TenantId, text: &str) -> Result<Option<Embedding>> {
        let tokens = self.tokenizer.tokens(text)?;
        let vectors = self.workers.submit(Lane::Queries, tenant, vec![tokens.ids])?;
        Ok(self.wait(vectors).await?.pop().flatten())
    }

    /// The embeddings of texts to be stored.
    pub async fn embed_texts(&self, tenant: TenantId, texts: &[String]) -> Result<Vec<Embedded>> {
        let (mut ids, mut truncated) = (Vec::with_capacity(texts.len()), Vec::with_capacity(texts.len()));
        for text in texts {
            let Tokens { ids: tokens, truncated: cut } = self.tokenizer.tokens(text)?;
            ids.push(tokens);
            truncated.push(cut);
            // A long text takes a millisecond; others are waiting for this thread.
            yield_now().await;
        }
        let vectors = self.workers.submit(Lane::Ingest, tenant, ids)?;
        let embeddings = self.wait(vectors).await?;
        let pairs = embeddings.into_iter().zip(truncated);
        Ok(pairs.map(|(embedding, truncated)| Embedded { embedding, truncated }).collect())
    }

    /// All vectors, or none if the threads failed on one.
    async fn wait(&self, vectors: Vec<oneshot::Receiver<Vec<f32>>>) -> Result<Vec<Option<Embedding>>> {
        let mut embeddings = Vec::with_capacity(vectors.len());
        for vector in vectors {
            let vector = vector.await.map_err(|_| unavailable(RETRY_SOON))?;
            embeddings.push(Embedding::new(vector));
        }
        Ok(embeddings)
    }
}

/// A name that no other weights have.
fn name(fingerprint: &str, shape: &Shape) -> String {
    if fingerprint == KNOWN.0 {
        return KNOWN.1.to_owned();
    }
    format!("bert-l{}-h{}-{}", shape.layers, shape.hidden_size, &fingerprint[..12])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::Embedder;
    use crate::error::Error;
    use serde::Deserialize;
    use std::path::PathBuf;

    #[derive(Deserialize)]
    struct Golden {
        items: Vec<Item>,
    }

    #[derive(Deserialize)]
    struct Item {
        text: String,
        token_ids: Vec<u32>,
        embedding: Vec<f32>,
    }

    fn golden() -> Vec<Item> {
        let golden = include_str!("../../../tests/it/data/embedding-golden.json");
        serde_json::from_str::<Golden>(golden).expect("the file is shipped with the tests").items
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "config.rs reads the product's settings; this is the test's"
    )]
    fn model_dir() -> PathBuf {
        std::env::var("MEMTIDE_MODEL_DIR").expect("`make test` sets MEMTIDE_MODEL_DIR").into()
    }

    async fn local() -> Local {
        Local::load(LocalConfig { model_dir: model_dir(), workers: 1 }).await.expect("the model loads")
    }

    #[track_caller]
    fn assert_close(found: &Embedding, item: &Item) {
        let pairs = || found.as_slice().iter().zip(&item.embedding);
        let cosine: f32 = pairs().map(|(a, b)| a * b).sum();
        let difference = pairs().map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(cosine >= 0.9999 && difference <= 5e-4, "{cosine} {difference} for {:?}", item.text);
    }

    #[tokio::test]
    async fn the_golden_texts_have_their_tokens_and_vectors_alone_and_in_ragged_batches() {
        let (local, tenant, items) = (local().await, TenantId::new(), golden());
        for item in &items {
            assert_eq!(local.tokenizer.tokens(&item.text).expect("tokens").ids, item.token_ids);
            let found = local.embed_query(tenant, &item.text).await.expect("up").expect("a vector");
            assert_close(&found, item);
        }
        for size in [2, 3, 7, 20] {
            for items in items.chunks(size) {
                let texts: Vec<String> = items.iter().map(|item| item.text.clone()).collect();
                let found = local.embed_texts(tenant, &texts).await.expect("up");
                for (found, item) in found.iter().zip(items) {
                    assert_close(found.embedding.as_ref().expect("a vector"), item);
                }
            }
        }
    }

    #[tokio::test]
    async fn the_model_has_a_name_and_a_size() {
        let embedder = Embedder::Local(local().await, crate::embed::QueryCache::new());
        let model = embedder.model().expect("a model");
        assert_eq!((model.name.as_str(), model.dimensions), ("all-MiniLM-L6-v2", 384));
    }

    #[tokio::test]
    async fn a_long_text_is_cut_and_says_so() {
        let (local, tenant) = (local().await, TenantId::new());
        let texts = [
            "word ".repeat(254),
            "word ".repeat(255),
            " ".repeat(1 << 20),
            "字".repeat(33_000),
            String::new(),
        ];
        let found = local.embed_texts(tenant, &texts).await.expect("up");
        let truncated: Vec<bool> = found.iter().map(|found| found.truncated).collect();
        assert_eq!(truncated, [false, true, true, true, false]);
        assert!(found.iter().all(|found| found.embedding.is_some()));
    }

    #[tokio::test]
    async fn a_whole_batch_is_admitted() {
        let texts = vec!["a somewhat longer text of a dozen words or so, with commas".to_owned(); 64];
        let found = local().await.embed_texts(TenantId::new(), &texts).await.expect("up");
        assert_eq!(found.len(), 64);
        assert!(local().await.embed_texts(TenantId::new(), &[]).await.expect("up").is_empty());
    }

    #[tokio::test]
    async fn a_panic_fails_its_batch_and_not_the_next() {
        let (local, tenant) = (local().await, TenantId::new());
        let outside = vec![vec![u32::MAX]];
        let vectors = local.workers.submit(Lane::Queries, tenant, outside).expect("room");
        let error = local.wait(vectors).await.expect_err("there is no such token");
        assert!(matches!(error, Error::Unavailable { .. }));
        assert!(local.embed_query(tenant, "still there").await.expect("up").is_some());
    }

    #[tokio::test]
    async fn a_folder_without_a_model_is_refused_by_the_name_of_the_file() {
        let config = LocalConfig { model_dir: "/nonexistent".into(), workers: 1 };
        let Err(error) = Local::load(config).await else { panic!("there is no model") };
        assert_eq!(error.to_string(), "cannot read /nonexistent/config.json");
    }
}
