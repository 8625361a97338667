//! A provider that speaks the OpenAI API: how it is called, and when it is called again.
//!
//! No reason that is told holds a key, an address or what was asked.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use rustls::crypto::ring;
use serde::Serialize;

use crate::config::Secret;

const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Somebody is waiting: a provider that asks for more than this gets no second attempt.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Where a provider is, and how patiently it is asked.
#[derive(Debug, Clone)]
pub struct Access {
    /// The address before `/v1/…`; it may end in `/v1`.
    pub base_url: String,
    /// What is sent as a bearer token.
    pub key: Option<Secret>,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How often an attempt that may yet succeed is repeated.
    pub retries: usize,
}

/// One route of a provider.
pub struct Provider {
    client: Client,
    url: Url,
    backoff: ExponentialBuilder,
}

/// Why there was no usable answer.
#[derive(Debug, Clone)]
pub struct Fault {
    /// What went wrong.
    pub kind: FaultKind,
    /// The same for the log.
    pub reason: String,
    /// How long the provider wants to be left alone.
    pub retry_after: Option<Duration>,
}

/// What can go wrong with a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// It took too long.
    Slow,
    /// It could not be reached, or went away.
    Unreachable,
    /// It has too much to do.
    Busy,
    /// It failed.
    Failing,
    /// It does not want the request.
    Refusing,
    /// Its answer is not what was asked for.
    Senseless,
}

impl Provider {
    /// Prepares to call a route such as `/v1/embeddings`. The provider need not be up yet.
    pub fn new(access: Access, route: &str) -> Result<Self, String> {
        let mut url = Url::parse(&access.base_url).map_err(|error| format!("its address: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("its address must start with http:// or https://".to_owned());
        }
        let base = url.path().trim_end_matches('/');
        let path = format!("{}{route}", base.strip_suffix("/v1").unwrap_or(base));
        url.set_path(&path);

        let mut headers = HeaderMap::new();
        if let Some(key) = access.key {
            let mut bearer = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
                .map_err(|_| "its key holds characters that a header cannot carry")?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        // Whoever came first has installed the same one.
        let _ = ring::default_provider().install_default();
        let client = Client::builder()
            .default_headers(headers)
            .timeout(access.timeout)
            .redirect(redirect::Policy::none())
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self { client, url, backoff: backoff(access.retries) })
    }

    /// What `read` makes of the answer's body, of so many bytes at most; asked again while that may help.
    pub async fn ask<T>(
        &self,
        question: &impl Serialize,
        limit_bytes: usize,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Fault> {
        (|| async {
            let response = self.client.post(self.url.clone()).json(question).send().await?;
            let body = body(checked(response)?, limit_bytes).await?;
            read(&body).map_err(|reason| Fault::new(FaultKind::Senseless, reason))
        })
        .retry(self.backoff)
        .when(Fault::is_passing)
        .adjust(|fault: &Fault, pause| pause.and_then(|pause| fault.pause(pause)))
        .await
    }
}

impl Fault {
    fn new(kind: FaultKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), retry_after: None }
    }

    /// Whether the next attempt may succeed.
    pub fn is_passing(&self) -> bool {
        !matches!(self.kind, FaultKind::Refusing | FaultKind::Senseless)
    }

    /// How long to wait before the next attempt, if it is worth waiting.
    fn pause(&self, planned: Duration) -> Option<Duration> {
        match self.retry_after {
            Some(wanted) if wanted > LONGEST_PAUSE => None,
            Some(wanted) => Some(planned.max(wanted)),
            None => Some(planned),
        }
    }
}

impl From<reqwest::Error> for Fault {
    fn from(error: reqwest::Error) -> Self {
        let (kind, what) = if error.is_timeout() {
            (FaultKind::Slow, "it took too long")
        } else {
            (FaultKind::Unreachable, "it cannot be reached")
        };
        Self::new(kind, format!("{what}: {}", error.without_url()))
    }
}

/// Pauses that grow, and differ by chance, so that nodes that failed together do not ask together.
fn backoff(retries: usize) -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .with_max_times(retries)
}

fn checked(response: Response) -> Result<Response, Fault> {
    let status = response.status();
    let kind = match status {
        _ if status.is_success() => return Ok(response),
        StatusCode::TOO_MANY_REQUESTS => FaultKind::Busy,
        _ if status.is_server_error() => FaultKind::Failing,
        _ => FaultKind::Refusing,
    };
    Err(Fault { retry_after: retry_after(&response), ..Fault::new(kind, format!("it answers {status}")) })
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The body, as long as it is no longer than an answer can be.
async fn body(mut response: Response, limit_bytes: usize) -> Result<String, Fault> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > limit_bytes {
            return Err(Fault::new(FaultKind::Senseless, "its answer is too long"));
        }
        body.extend_from_slice(&chunk);
    }
    String::from_utf8(body).map_err(|_| Fault::new(FaultKind::Senseless, "its answer is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use backon::BackoffBuilder;

    use super::*;

    #[test]
    fn pauses_differ_by_chance() {
        let pauses: BTreeSet<Duration> = (0..100).filter_map(|_| backoff(3).build().next()).collect();
        assert!(pauses.len() > 50, "{pauses:?}");
        assert!(pauses.iter().all(|pause| (FIRST_PAUSE..=2 * FIRST_PAUSE).contains(pause)), "{pauses:?}");
    }
}
