//! Sealing: values that leave the process and must come back unread and unchanged.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};

use crate::config::Secret;
use crate::error::{Error, Result};

const NONCE_BYTES: usize = 24;

/// Encrypts and authenticates with a key made from the deployment secret (XChaCha20-Poly1305).
#[derive(Clone)]
pub struct Seal {
    cipher: XChaCha20Poly1305,
}

impl Seal {
    /// The seal of this deployment.
    pub fn new(secret: &Secret) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"memtide seal v1\0");
        hash.update(secret.expose());
        Self { cipher: XChaCha20Poly1305::new(&Key::from(<[u8; 32]>::from(hash.finalize()))) }
    }

    /// Seals a value for a purpose; only `open` with the same purpose gives it back.
    pub fn close(&self, value: &[u8], purpose: &[u8]) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|error| Error::internal(error.to_string()))?;
        let sealed = self
            .cipher
            .encrypt(&XNonce::from(nonce), Payload { msg: value, aad: purpose })
            .map_err(|error| Error::internal(error.to_string()))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// Opens what was sealed for this purpose; nothing for anything else, whatever is wrong with it.
    pub fn open(&self, sealed: &[u8], purpose: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        self.cipher.decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: purpose }).ok()
    }
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn only_the_untouched_value_opens(value: Vec<u8>, byte: prop::sample::Index, bit in 0_u8..8) {
            let seal = Seal::new(&Secret::new("a secret of at least 32 bytes....."));
            let mut sealed = seal.close(&value, b"one").expect("sealing works");
            prop_assert_eq!(seal.open(&sealed, b"one"), Some(value));
            prop_assert_eq!(seal.open(&sealed, b"two"), None);
            let other = Seal::new(&Secret::new("another secret of at least 32 bytes"));
            prop_assert_eq!(other.open(&sealed, b"one"), None);
            let place = byte.index(sealed.len());
            sealed[place] ^= 1 << bit;
            prop_assert_eq!(seal.open(&sealed, b"one"), None);
        }
    }
}
