//! A client of the HTTP API, as small as the demo, the evaluation and the bench need.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use reqwest::Method;
use reqwest::header::HeaderValue;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A batch of long texts on a slow machine takes several seconds.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A running server and the key that opens its namespaces.
pub struct Stack {
    http: reqwest::Client,
    url: String,
    api_key: String,
}

/// One namespace of the server, entered with a capability.
pub struct Namespace {
    http: reqwest::Client,
    url: String,
    capability: HeaderValue,
}

#[derive(Deserialize)]
struct Token {
    capability: String,
}

impl Stack {
    /// Reads where the server is, and the API key, from a file of `NAME=value` lines such as `.dev/env`.
    pub fn read(env_file: &Path) -> Result<Self> {
        let text = fs::read_to_string(env_file).with_context(|| {
            format!("cannot read {}: is the stack running? (make run)", env_file.display())
        })?;
        // reqwest is built without a cryptography of its own; a second call finds one installed, which is as well.
        rustls::crypto::ring::default_provider().install_default().ok();
        let http = reqwest::Client::builder().timeout(TIMEOUT).build()?;
        Ok(Self { http, url: variable(&text, "MEMTIDE_URL")?, api_key: variable(&text, "MEMTIDE_API_KEY")? })
    }

    /// Exchanges the key for a capability to one namespace.
    pub async fn enter(&self, namespace: &str) -> Result<Namespace> {
        let url = format!("{}/v1/auth/token", self.url);
        let body = json!({ "namespace": namespace, "ttl_seconds": 3600 });
        let request = self.http.post(url).bearer_auth(&self.api_key).json(&body);
        let token: Token = answer(request).await.context("cannot exchange MEMTIDE_API_KEY")?;
        let capability = HeaderValue::from_str(&token.capability)?;
        Ok(Namespace { http: self.http.clone(), url: self.url.clone(), capability })
    }
}

impl Namespace {
    /// Sends a JSON body and decodes the answer.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T> {
        self.call(Method::POST, path, Some(body)).await
    }

    /// Makes one request and decodes the answer; any status but success is an error.
    pub async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T> {
        let url = format!("{}{path}", self.url);
        let request = self.http.request(method, url).header("x-akasha-capability", &self.capability);
        let request = if let Some(body) = body { request.json(body) } else { request };
        answer(request).await.with_context(|| path.to_owned())
    }
}

async fn answer<T: DeserializeOwned>(request: reqwest::RequestBuilder) -> Result<T> {
    let response = request.send().await?;
    let status = response.status();
    if !status.is_success() {
        bail!("{status}: {}", response.text().await?);
    }
    Ok(response.json().await?)
}

/// The value of a variable in a file that shells can source.
fn variable(text: &str, name: &str) -> Result<String> {
    let value = text.lines().find_map(|line| {
        line.trim_start_matches("export ").strip_prefix(name)?.strip_prefix('=').map(str::trim)
    });
    let value = value.with_context(|| format!("{name} is not set"))?;
    Ok(value.trim_matches(['"', '\'']).to_owned())
}
