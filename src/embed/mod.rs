//! The embedder: turns text into vectors, in this process or through a provider.
//!
//! - Every vector it returns is an [`Embedding`]: finite, of unit length, storable.
//! - A text the model has no usable vector for is no fault: it comes back without one, and the record is kept.
//! - A fault of the whole call is [`Error::Unavailable`]; search goes on without vectors, and a write says so.
//! - No call holds a database connection, and no log line holds a text or a key.

mod cache;
mod http;
mod local;
mod vector;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use self::cache::QueryCache;
use self::http::Http;
use self::local::Local;
pub use self::vector::{Embedded, Embedding};
use crate::config::Secret;
use crate::error::{Error, Result};
use crate::id::TenantId;

/// Which embedder to use, and how.
#[derive(Debug, Clone)]
pub enum EmbedConfig {
    /// A model in this process.
    Local(LocalConfig),
    /// A provider that speaks the OpenAI API.
    Http(HttpConfig),
    /// None: search is lexical only.
    Off,
}

/// Where the model of this process is, and how much of the machine it may use.
#[derive(Debug, Clone)]
pub struct LocalConfig {
    /// A sentence-transformers folder of the BERT architecture.
    pub model_dir: PathBuf,
    /// How many threads run the model, at least one.
    pub workers: usize,
}

/// How to reach a provider.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// The address before `/v1/embeddings`; it may end in `/v1`.
    pub base_url: String,
    /// What is sent as a bearer token.
    pub key: Option<Secret>,
    /// The model to ask for.
    pub model: String,
    /// How many numbers its vectors have.
    pub dimensions: usize,
    /// How many texts go into one request, at least one.
    pub batch: usize,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How often an attempt that may yet succeed is repeated.
    pub retries: usize,
}

/// The space that vectors are in; only vectors of the same model can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// What is stored beside each vector.
    pub name: String,
    /// How many numbers a vector has.
    pub dimensions: usize,
}

/// Why the embedder cannot start, in words for the operator.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// A file of the model cannot be read.
    #[error("cannot read {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file of the model is not what is wanted.
    #[error("{path} cannot be used: {reason}")]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The system gives no thread to run the model on.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// The settings of the provider cannot work.
    #[error("the embedding provider cannot be used: {0}")]
    Provider(String),
}

/// The one embedder of a server.
pub enum Embedder {
    /// A model in this process.
    Local(Local, QueryCache),
    /// A provider that speaks the OpenAI API.
    Http(Http, QueryCache),
    /// None.
    Off,
}

impl Embedder {
    /// Loads the model, or prepares to call the provider (which need not be up).
    pub async fn connect(config: EmbedConfig) -> Result<Self, ConnectError> {
        Ok(match config {
            EmbedConfig::Local(config) => Self::Local(Local::load(config).await?, QueryCache::new()),
            EmbedConfig::Http(config) => Self::Http(Http::new(config)?, QueryCache::new()),
            EmbedConfig::Off => Self::Off,
        })
    }

    /// The model that all vectors are of; absent when there is no embedder.
    pub fn model(&self) -> Option<&Model> {
        match self {
            Self::Local(local, _) => Some(local.model()),
            Self::Http(http, _) => Some(http.model()),
            Self::Off => None,
        }
    }

    /// The embedding of a query, from memory if the tenant asked the same before.
    pub async fn embed_query(&self, tenant: TenantId, text: &str) -> Result<Embedding> {
        let (Self::Local(_, cache) | Self::Http(_, cache)) = self else { return Err(off()) };
        if let Some(embedding) = cache.find(tenant, text) {
            return Ok(embedding);
        }
        let embedded = match self {
            Self::Local(local, _) => local.embed_query(tenant, text).await?,
            Self::Http(http, _) => http.embed_query(text).await?,
            Self::Off => return Err(off()),
        };
        let embedding = embedded.ok_or_else(|| unavailable(RETRY_SOON))?;
        cache.keep(tenant, text, &embedding);
        Ok(embedding)
    }

    /// The embeddings of texts to be stored, in their order.
    pub async fn embed_texts(&self, tenant: TenantId, texts: &[String]) -> Result<Vec<Embedded>> {
        match self {
            Self::Local(local, _) => local.embed_texts(tenant, texts).await,
            Self::Http(http, _) => http.embed_texts(texts).await,
            Self::Off => Err(off()),
        }
    }
}

/// A model reads a few hundred tokens, and more than this is never that few words. Without a limit the
/// tokenizer would read a book to its end, and a provider would refuse it.
const MAX_TEXT_BYTES: usize = 16 << 10;

const RETRY_SOON: Duration = Duration::from_secs(1);

/// Nobody turns an embedder on within the second.
const RETRY_LATER: Duration = Duration::from_mins(1);

/// The part of a text that a model may look at, and whether that is not all of it.
fn head(text: &str) -> (&str, bool) {
    let head = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
    (head, head.len() < text.len())
}

fn unavailable(retry_after: Duration) -> Error {
    Error::Unavailable { what: "the embedder", retry_after }
}

fn off() -> Error {
    unavailable(RETRY_LATER)
}

impl std::fmt::Debug for Embedder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Embedder({:?})", self.model())
    }
}
