//! A provider that speaks the OpenAI API: `POST {base}/v1/embeddings`.

mod answer;

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use rustls::crypto::ring;
use serde::Serialize;

use super::{
    ConnectError, Embedded, Embedding, HttpConfig, Model, RETRY_LATER, RETRY_SOON, head, unavailable,
};
use crate::error::Result;

const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// A caller is waiting: a provider that asks for more than this gets no second attempt.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A number in JSON is about 12 bytes long, 25 at most.
const BYTES_A_NUMBER: usize = 32;

/// What an answer holds beside its numbers.
const BYTES_A_TEXT: usize = 4096;

/// A provider and how to ask it.
pub struct Http {
    client: Client,
    url: Url,
    model: Model,
    batch: usize,
    backoff: ExponentialBuilder,
}

#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    input: &'a [&'a str],
}

/// Why an attempt gave no vectors. The reason is for the log: it holds no text, no key and no address.
enum Fault {
    /// The next attempt may succeed; the provider may have said when.
    Passing(String, Option<Duration>),
    /// It would fail again.
    Lasting(String),
}

impl Http {
    /// Prepares to call the provider. It need not be up yet.
    pub fn new(config: HttpConfig) -> Result<Self, ConnectError> {
        let refused = |reason: &str| ConnectError::Provider(reason.to_owned());
        let mut url = Url::parse(&config.base_url)
            .map_err(|error| ConnectError::Provider(format!("its address: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("its address must start with http:// or https://"));
        }
        let base = url.path().trim_end_matches('/');
        let path = format!("{}/v1/embeddings", base.strip_suffix("/v1").unwrap_or(base));
        url.set_path(&path);

        let mut headers = HeaderMap::new();
        if let Some(key) = config.key {
            let mut bearer = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
                .map_err(|_| refused("its key holds characters that a header cannot carry"))?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        // Whoever came first has installed the same one.
        let _ = ring::default_provider().install_default();
        let client = Client::builder()
            .default_headers(headers)
            .timeout(config.timeout)
            .redirect(redirect::Policy::none())
            .build()
            .map_err(|error| ConnectError::Provider(error.to_string()))?;
        let backoff = ExponentialBuilder::default()
            .with_jitter()
            .with_min_delay(FIRST_PAUSE)
            .with_max_delay(LONGEST_PAUSE)
            .with_max_times(config.retries);
        let model = Model { name: config.model, dimensions: config.dimensions };
        Ok(Self { client, url, model, batch: config.batch.max(1), backoff })
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

    /// One request, repeated while that may help.
    async fn ask(&self, texts: &[&str]) -> Result<Vec<Option<Embedding>>> {
        (|| self.attempt(texts))
            .retry(self.backoff)
            .when(|fault| matches!(fault, Fault::Passing(..)))
            .adjust(|fault, pause| pause.and_then(|pause| fault.pause(pause)))
            .await
            .map_err(|fault| {
                let (reason, retry_after) = match fault {
                    Fault::Passing(reason, wanted) => (reason, wanted.unwrap_or(RETRY_SOON)),
                    Fault::Lasting(reason) => (reason, RETRY_LATER),
                };
                tracing::warn!(texts = texts.len(), reason, "the embedding provider gave no vectors");
                unavailable(retry_after)
            })
    }

    async fn attempt(&self, texts: &[&str]) -> Result<Vec<Option<Embedding>>, Fault> {
        let question = Question { model: &self.model.name, input: texts };
        let response = self.client.post(self.url.clone()).json(&question).send().await.map_err(passing)?;
        let status = response.status();
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            return Err(Fault::Passing(format!("it answers {status}"), retry_after(&response)));
        }
        if !status.is_success() {
            return Err(Fault::Lasting(format!("it answers {status}")));
        }
        let limit = texts.len() * (self.model.dimensions * BYTES_A_NUMBER + BYTES_A_TEXT);
        let body = read(response, limit).await?;
        answer::read(&body, texts.len(), self.model.dimensions).map_err(Fault::Lasting)
    }
}

impl Fault {
    /// How long to wait before the next attempt, if it is worth waiting.
    fn pause(&self, planned: Duration) -> Option<Duration> {
        match self {
            Self::Passing(_, Some(wanted)) if *wanted > LONGEST_PAUSE => None,
            Self::Passing(_, Some(wanted)) => Some(planned.max(*wanted)),
            _ => Some(planned),
        }
    }
}

fn passing(error: reqwest::Error) -> Fault {
    let kind = if error.is_timeout() { "it took too long" } else { "it cannot be reached" };
    Fault::Passing(format!("{kind}: {}", error.without_url()), None)
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The body, as long as it is no longer than an answer can be.
async fn read(mut response: Response, limit: usize) -> Result<String, Fault> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(passing)? {
        if body.len() + chunk.len() > limit {
            return Err(Fault::Lasting("its answer is too long".to_owned()));
        }
        body.extend_from_slice(&chunk);
    }
    String::from_utf8(body).map_err(|_| Fault::Lasting("its answer is not UTF-8".to_owned()))
}
