//! Finds in a text what is worth keeping, and what must not be kept.
//!
//! - A fact is a sentence of the text. Nothing is put into words that the text does not hold.
//! - What [`secret`] finds is masked by whoever hands a text to be kept without anybody looking at it (C169).

mod fact;
pub mod rules;
pub mod secret;

pub use self::fact::{By, Extraction, Fact, ItemKind};
use crate::error::{Error, Result};

/// What finds facts in a text. The one of a server.
#[derive(Debug)]
pub enum Extractor {
    /// The rules of this crate.
    Rules,
}

impl Extractor {
    /// The facts of a text. `framing` says what it is about; it is data like the text.
    pub async fn extract(&self, text: &str, _framing: Option<&str>) -> Result<Extraction> {
        match self {
            Self::Rules => {
                Ok(Extraction { facts: by_rules(text.to_owned()).await?, by: By::Rules, fallback: None })
            }
        }
    }
}

/// A long text takes longer than the threads that serve requests can spare.
async fn by_rules(text: String) -> Result<Vec<Fact>> {
    tokio::task::spawn_blocking(move || rules::facts(&text)).await.map_err(Error::internal)
}
