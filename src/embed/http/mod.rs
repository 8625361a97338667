//! A provider that speaks the OpenAI API: `POST {base}/v1/embeddings`.

mod answer;

use serde::Serialize;

use super::{
    ConnectError, Embedded, Embedding, HttpConfig, Model, RETRY_LATER, RETRY_SOON, head, unavailable,
};
use crate::error::Result;
use crate::provider::{Access, Provider};

/// A number in JSON is about 12 bytes long, 25 at most.
const BYTES_A_NUMBER: usize = 32;

/// What an answer holds beside its numbers.
const BYTES_A_TEXT: usize = 4096;

/// A provider and how to ask it.
pub struct Http {
    provider: Provider,
    model: Model,
    batch: usize,
}

#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    input: &'a [&'a str],
}

impl Http {
    /// Prepares to call the provider. It need not be up yet.
    pub fn new(config: HttpConfig) -> Result<Self, ConnectError> {
        let access = Access {
            base_url: config.base_url,
            key: config.key,
            timeout: config.timeout,
            retries: config.retries,
        };
        let provider = Provider::new(access, "/v1/embeddings").map_err(ConnectError::Provider)?;
        let model = Model { name: config.model, dimensions: config.dimensions };
        Ok(Self { provider, model, batch: config.batch.max(1) })
    }

    /// The model that the provider is asked for.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The embedding of a query.
    pub async fn embed_query(&self, text: &str) -> Result<Option<Embedding>> {
        Ok(self.ask(&[head(text).0]).await?.pop().flatten())
    }

    /// The embeddings of texts to be stored.
    pub async fn embed_texts(&self, texts: &[String]) -> Result<Vec<Embedded>> {
        let mut all = Vec::with_capacity(texts.len());
        for texts in texts.chunks(self.batch) {
            let (heads, truncated): (Vec<_>, Vec<_>) = texts.iter().map(|text| head(text)).unzip();
            let embeddings = self.ask(&heads).await?.into_iter();
            all.extend(
                embeddings.zip(truncated).map(|(embedding, truncated)| Embedded { embedding, truncated }),
            );
        }
        Ok(all)
    }

    async fn ask(&self, texts: &[&str]) -> Result<Vec<Option<Embedding>>> {
        let question = Question { model: &self.model.name, input: texts };
        let dimensions = self.model.dimensions;
        let limit_bytes = texts.len() * (dimensions * BYTES_A_NUMBER + BYTES_A_TEXT);
        let read = |body: &str| answer::read(body, texts.len(), dimensions);
        self.provider.ask(&question, limit_bytes, read).await.map_err(|fault| {
            let otherwise = if fault.is_passing() { RETRY_SOON } else { RETRY_LATER };
            tracing::warn!(
                texts = texts.len(),
                reason = fault.reason,
                "the embedding provider gave no vectors"
            );
            unavailable(fault.retry_after.filter(|_| fault.is_passing()).unwrap_or(otherwise))
        })
    }
}
