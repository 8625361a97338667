//! Secrets that clients hold: their form, and what is kept of them.
//!
//! A secret reads `mt_<sort>_<12 id>_<secret>_<6 checksum>`. The checksum is looked at first, so that a mistyped or
//! made-up text costs no look-up; the id finds the row; only then is the secret compared.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;

use crate::error::{Error, Result};

/// What a secret is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// Buys capabilities.
    ApiKey,
    /// Runs the deployment.
    OperatorKey,
    /// Is an authority by itself.
    PersonalToken,
}

impl Sort {
    const ALL: [Self; 3] = [Self::ApiKey, Self::OperatorKey, Self::PersonalToken];

    fn prefix(self) -> &'static str {
        match self {
            Self::ApiKey => "mt_key_",
            Self::OperatorKey => "mt_op_",
            Self::PersonalToken => "mt_pat_",
        }
    }

    /// 190 bits behind argon2; 256 for the one that is only hashed with SHA-256.
    fn secret_digits(self) -> usize {
        match self {
            Self::ApiKey | Self::OperatorKey => 32,
            Self::PersonalToken => 43,
        }
    }
}

/// A secret in the form that a client holds. It never shows itself whole in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Bearer {
    /// What it is for.
    pub sort: Sort,
    text: String,
}

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_DIGITS: usize = 12;
const CHECKSUM_DIGITS: usize = 6;

impl Bearer {
    /// A new secret from the system's source of randomness.
    pub fn new(sort: Sort) -> Result<Self> {
        let (id, secret) = (random_digits(ID_DIGITS)?, random_digits(sort.secret_digits())?);
        let body = format!("{}{id}_{secret}", sort.prefix());
        let checksum = checksum(&body);
        Ok(Self { sort, text: format!("{body}_{checksum}") })
    }

    /// Reads a secret; none when the text has another form or its checksum is wrong.
    pub fn parse(text: &str) -> Option<Self> {
        let sort = Sort::ALL.into_iter().find(|sort| text.starts_with(sort.prefix()))?;
        let length = sort.prefix().len() + ID_DIGITS + 1 + sort.secret_digits() + 1 + CHECKSUM_DIGITS;
        if text.len() != length || !text.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric()) {
            return None;
        }
        let (body, sum) = text.rsplit_once('_')?;
        let bearer = Self { sort, text: text.to_owned() };
        (sum == checksum(body) && bearer.text.as_bytes()[sort.prefix().len() + ID_DIGITS] == b'_')
            .then_some(bearer)
    }

    /// The part that finds the row; it is no secret.
    pub fn lookup(&self) -> &str {
        let start = self.sort.prefix().len();
        &self.text[start..start + ID_DIGITS]
    }

    /// The whole text, to be shown once to whom it is for.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// The SHA-256 of the whole text: what is kept of a personal token, and what caches are keyed by.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(&self.text).into()
    }

    /// Whether this is the text with that SHA-256; takes the same time whatever the answer.
    pub fn has_digest(&self, digest: &[u8]) -> bool {
        self.digest().as_slice().ct_eq(digest).into()
    }
}

impl std::fmt::Debug for Bearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}_…", self.sort.prefix(), self.lookup())
    }
}

/// Each digit is equally likely: bytes beyond the last multiple of 62 are thrown away.
fn random_digits(count: usize) -> Result<String> {
    let mut digits = String::with_capacity(count);
    let mut bytes = [0; 64];
    while digits.len() < count {
        getrandom::fill(&mut bytes).map_err(|error| Error::internal(error.to_string()))?;
        let fair = bytes.iter().filter(|&&byte| byte < 248);
        digits.extend(fair.take(count - digits.len()).map(|byte| char::from(ALPHABET[*byte as usize % 62])));
    }
    Ok(digits)
}

fn checksum(body: &str) -> String {
    let mut rest = crc32fast::hash(body.as_bytes()) as usize;
    let mut digits = ['0'; CHECKSUM_DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit = char::from(ALPHABET[rest % 62]);
        rest /= 62;
    }
    digits.iter().collect()
}

/// How long a bearer waits for its turn to be hashed before the request is answered 503.
const TURN_TIMEOUT: Duration = Duration::from_secs(2);

/// Hashes secrets with argon2id. It takes some 70 ms of a core and 19 MiB, so that few run at once, away
/// from the threads that serve requests.
#[derive(Debug, Clone)]
pub struct Hasher {
    turns: Arc<Semaphore>,
}

impl Hasher {
    /// A hasher with as many turns as half of the cores, at least one: the other half serves requests.
    pub fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { turns: Arc::new(Semaphore::new((cores / 2).max(1))) }
    }

    /// The hash to be kept of a secret, with its salt and parameters.
    pub async fn hash(&self, bearer: &Bearer) -> Result<String> {
        let text = bearer.text.clone();
        self.run(move || hash(&text)).await?
    }

    /// Whether the hash is this secret's. With no hash to compare to it takes as long, and says no.
    pub async fn verify(&self, bearer: &Bearer, hash: Option<String>) -> Result<bool> {
        let text = bearer.text.clone();
        self.run(move || {
            let known = hash.is_some();
            let hash = hash.as_deref().or(DUMMY_HASH.as_deref());
            hash.is_some_and(|hash| argon2().verify_password(text.as_bytes(), hash).is_ok()) && known
        })
        .await
    }

    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let turn = tokio::time::timeout(TURN_TIMEOUT, Arc::clone(&self.turns).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(Error::unavailable("the check of keys")) };
        let job = move || {
            let result = work();
            drop(turn);
            result
        };
        tokio::task::spawn_blocking(job).await.map_err(Error::internal)
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}

static DUMMY_HASH: LazyLock<Option<String>> = LazyLock::new(|| hash("nobody's secret").ok());

fn hash(text: &str) -> Result<String> {
    let mut salt = [0; 16];
    getrandom::fill(&mut salt).map_err(|error| Error::internal(error.to_string()))?;
    let hash = argon2().hash_password_with_salt(text.as_bytes(), &salt);
    hash.map(|hash| hash.to_string()).map_err(|error| Error::internal(error.to_string()))
}

/// argon2id with 19 MiB, two passes, one lane: OWASP's recommendation.
fn argon2() -> Argon2<'static> {
    Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_new_secret_reads_back_and_keeps_its_form() {
        for (sort, length) in [(Sort::ApiKey, 59), (Sort::OperatorKey, 58), (Sort::PersonalToken, 70)] {
            let bearer = Bearer::new(sort).expect("the system is random");
            assert_eq!(bearer.expose().len(), length);
            assert_eq!(Bearer::parse(bearer.expose()), Some(bearer.clone()));
            assert!(bearer.has_digest(&bearer.digest()) && !bearer.has_digest(b""));
            assert!(!format!("{bearer:?}").contains(&bearer.expose()[24..]));
        }
    }

    #[test]
    fn the_parameters_are_those_of_the_design() {
        let params = Params::default();
        assert_eq!((params.m_cost(), params.t_cost(), params.p_cost()), (19 * 1024, 2, 1));
    }

    #[tokio::test]
    async fn only_the_secret_matches_its_hash() {
        let (hasher, sort) = (Hasher::new(), Sort::ApiKey);
        let (mine, other) = (Bearer::new(sort).expect("random"), Bearer::new(sort).expect("random"));
        let hash = hasher.hash(&mine).await.expect("a hash");
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert!(matches!(hasher.verify(&mine, Some(hash.clone())).await, Ok(true)));
        assert!(matches!(hasher.verify(&other, Some(hash)).await, Ok(false)));
        assert!(matches!(hasher.verify(&mine, None).await, Ok(false)));
    }

    proptest! {
        #[test]
        fn a_changed_character_is_noticed(place in 0_usize..59, to in "[0-9A-Za-z_]") {
            let bearer = Bearer::new(Sort::ApiKey).expect("random");
            let mut text = bearer.expose().to_owned();
            text.replace_range(place..=place, &to);
            prop_assert_eq!(Bearer::parse(&text).is_some(), text == bearer.expose());
        }

        #[test]
        fn no_text_panics(text in "(mt_key_|mt_op_|mt_pat_)?.{0,80}") {
            let _ = Bearer::parse(&text);
        }
    }
}
