//! Secrets in a text: what nobody wants to find in a memory, or in what is embedded (C169). Pure.
//!
//! A value is a secret by its form (keys of known providers, JWTs, private keys, cards, passwords in URLs) or by the
//! word before it (`password = …`, `api key …`). A commit hash, a UUID or a number alone is none, and neither is a
//! reference such as `$API_KEY`.

mod card;
mod pattern;

use std::ops::Range;

use serde::Serialize;

/// What sort of secret it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretKind {
    /// The key of a service.
    ApiKey,
    /// A bearer token or another proof of a session.
    Token,
    /// A private key.
    PrivateKey,
    /// The number of a payment card.
    CardNumber,
    /// A password, in a sentence, a setting or a URL.
    Password,
}

impl SecretKind {
    /// Its name for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ApiKey => "api key",
            Self::Token => "token",
            Self::PrivateKey => "private key",
            Self::CardNumber => "card number",
            Self::Password => "password",
        }
    }
}

/// A secret and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// What sort it is.
    pub kind: SecretKind,
}

/// The secrets of a text, in order, none over another.
pub fn find(text: &str) -> Vec<Secret> {
    let mut found: Vec<Secret> = pattern::find(text).chain(card::find(text)).collect();
    // Stable: of two at one place, the one whose form is known gives its name.
    found.sort_by_key(|secret| secret.range.start);
    let mut secrets: Vec<Secret> = Vec::with_capacity(found.len());
    for secret in found {
        match secrets.last_mut() {
            Some(last) if secret.range.start < last.range.end => {
                last.range.end = last.range.end.max(secret.range.end);
            }
            _ => secrets.push(secret),
        }
    }
    secrets
}

/// The text with `[secret: api key]` in the place of each secret, and what sorts were there, in order.
pub fn mask(text: &str) -> (String, Vec<SecretKind>) {
    let mut masked = String::with_capacity(text.len());
    let (mut at, mut kinds) = (0, Vec::new());
    for secret in find(text) {
        masked.push_str(&text[at..secret.range.start]);
        masked.extend(["[secret: ", secret.kind.as_str(), "]"]);
        at = secret.range.end;
        kinds.push(secret.kind);
    }
    masked.push_str(&text[at..]);
    (masked, kinds)
}

#[cfg(test)]
mod tests;
