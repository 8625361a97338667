//! A language model behind any API like OpenAI's: `POST {base}/v1/chat/completions`.
//!
//! The text is data: it goes out as a string in JSON, which it cannot leave, and what comes back only points into it.
//! A fact is the sentence of the text that a quote stands in; whatever the model says beside that decides how the
//! sentence is filed, never what is stored.

mod answer;
mod prompt;
mod quote;

use std::time::Duration;

use super::{Fact, secret};
use crate::config::Secret;
use crate::error::{Error, Result};
use crate::provider::{Access, Fault, FaultKind, Provider};

/// How to reach a model, and how much it may be asked.
#[derive(Debug, Clone)]
pub struct LlmConfig {
    /// The address before `/v1/chat/completions`; it may end in `/v1`.
    pub base_url: String,
    /// What is sent as a bearer token.
    pub key: Option<Secret>,
    /// The model to ask for.
    pub model: String,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How long all of a text may take.
    pub deadline: Duration,
    /// How often an attempt that may yet succeed is repeated.
    pub retries: usize,
    /// How many tokens of a text go into one request, as estimated.
    pub window_tokens: usize,
    /// How many tokens an answer may have.
    pub answer_tokens: usize,
}

/// A model and how to ask it.
pub struct Llm {
    provider: Provider,
    model: String,
    deadline: Duration,
    window_tokens: usize,
    answer_tokens: usize,
}

/// A token is about four bytes of text, rarely more than twelve; JSON may escape each of them.
const BYTES_A_TOKEN: usize = 64;

/// What an answer holds beside what the model says.
const BYTES_AROUND: usize = 64 << 10;

impl Llm {
    /// Prepares to call the model. It need not be up yet.
    pub fn new(config: &LlmConfig) -> Result<Self> {
        let access = Access {
            base_url: config.base_url.clone(),
            key: config.key.clone(),
            timeout: config.timeout,
            retries: config.retries,
        };
        let provider = Provider::new(access, "/v1/chat/completions")
            .map_err(|reason| Error::internal(format!("the language model cannot be used: {reason}")))?;
        Ok(Self {
            provider,
            model: config.model.clone(),
            deadline: config.deadline,
            window_tokens: config.window_tokens,
            answer_tokens: config.answer_tokens,
        })
    }

    /// The facts of a text, or why there are none, in words that hold nothing of the text and nothing the provider
    /// said.
    pub async fn facts(&self, text: &str, framing: Option<&str>) -> Result<Vec<Fact>, &'static str> {
        let asked = tokio::time::timeout(self.deadline, self.ask_all(text, framing)).await;
        match asked {
            Ok(Ok(facts)) => Ok(facts),
            Ok(Err(fault)) => {
                tracing::warn!(
                    reason = fault.reason,
                    "the language model found no facts; the rules stand in"
                );
                Err(in_words(fault.kind))
            }
            Err(_) => {
                tracing::warn!("the language model took too long for a text; the rules stand in");
                Err(in_words(FaultKind::Slow))
            }
        }
    }

    async fn ask_all(&self, text: &str, framing: Option<&str>) -> Result<Vec<Fact>, Fault> {
        let limit_bytes = self.answer_tokens * BYTES_A_TOKEN + BYTES_AROUND;
        let mut found = Vec::new();
        for window in prompt::windows(text, self.window_tokens) {
            // Who captures has masked it; nothing that looks like a secret leaves in any case.
            let (part, _) = secret::mask(&text[window]);
            let question = prompt::question(&self.model, &part, framing, self.answer_tokens);
            found.extend(self.provider.ask(&question, limit_bytes, answer::read).await?);
        }
        let named = found.len();
        let facts = quote::facts(text, found);
        if facts.len() < named {
            tracing::info!(named, kept = facts.len(), "the language model named what the text does not say");
        }
        Ok(facts)
    }
}

impl std::fmt::Debug for Llm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Llm({})", self.model)
    }
}

fn in_words(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Slow => "the model did not answer in time",
        FaultKind::Unreachable => "the model could not be reached",
        FaultKind::Busy => "the model was busy",
        FaultKind::Failing => "the model failed",
        FaultKind::Refusing => "the model refused the request",
        FaultKind::Senseless => "the model's answer could not be used",
    }
}
