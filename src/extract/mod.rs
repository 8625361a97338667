//! Finds in a text what is worth keeping, and what must not be kept.
//!
//! - A fact is a sentence of the text. Nothing is put into words that the text does not hold.
//! - What [`secret`] finds is masked by whoever hands a text to be kept without anybody looking at it (C169).

mod fact;
pub mod llm;
pub mod rules;
pub mod secret;

pub use self::fact::{By, Extraction, Fact, ItemKind};
use self::llm::{Llm, LlmConfig};
use crate::error::{Error, Result};

/// Which extractor to use, and how.
#[derive(Debug, Clone)]
pub enum ExtractConfig {
    /// The rules of this crate.
    Rules,
    /// A language model.
    Llm(LlmConfig),
}

/// What finds facts in a text. The one of a server.
#[derive(Debug)]
pub enum Extractor {
    /// The rules of this crate.
    Rules,
    /// A language model, for which the rules stand in when it gives no usable answer.
    Llm(Box<Llm>),
}

impl Extractor {
    /// Prepares the extractor. A model need not be up yet.
    pub fn new(config: &ExtractConfig) -> Result<Self> {
        Ok(match config {
            ExtractConfig::Rules => Self::Rules,
            ExtractConfig::Llm(config) => Self::Llm(Box::new(Llm::new(config)?)),
        })
    }

    /// The facts of a text. `framing` says what it is about; it is data like the text.
    pub async fn extract(&self, text: &str, framing: Option<&str>) -> Result<Extraction> {
        let fallback = match self {
            Self::Rules => None,
            Self::Llm(llm) => match llm.facts(text, framing).await {
                Ok(facts) => return Ok(Extraction { facts, by: By::Llm, fallback: None }),
                Err(reason) => Some(reason.to_owned()),
            },
        };
        Ok(Extraction { facts: by_rules(text.to_owned()).await?, by: By::Rules, fallback })
    }
}

/// A long text takes longer than the threads that serve requests can spare.
async fn by_rules(text: String) -> Result<Vec<Fact>> {
    tokio::task::spawn_blocking(move || rules::facts(&text)).await.map_err(Error::internal)
}
