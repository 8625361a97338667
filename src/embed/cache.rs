//! Vectors of queries asked before.
//!
//! Each tenant has its own: were they shared, the time of an answer would tell one tenant what another has asked. No
//! text is kept, only its hash, and nothing stays that was not asked for again within [`IDLE`]. There is one cache to a
//! model, so that tenant and text are the key.

use std::time::Duration;

use moka::sync::Cache;
use sha2::{Digest, Sha256};

use super::Embedding;
use crate::id::TenantId;

/// Enough for some ten thousand queries of a small model.
const MAX_BYTES: u64 = 32 << 20;

/// What an entry costs beside its numbers, roughly.
const ENTRY_BYTES: usize = 200;

/// How long an embedding waits to be asked for again: about as long as a conversation pauses.
const IDLE: Duration = Duration::from_mins(10);

/// The embeddings of recent queries, bounded in bytes.
#[derive(Debug, Clone)]
pub struct QueryCache(Cache<Question, Embedding>);

/// Whose text it is, and the text's hash.
type Question = (TenantId, [u8; 32]);

impl QueryCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self(Cache::builder().weigher(weigh).max_capacity(MAX_BYTES).time_to_idle(IDLE).build())
    }

    /// The embedding of this very text, if the tenant asked it not long ago.
    pub fn find(&self, tenant: TenantId, text: &str) -> Option<Embedding> {
        self.0.get(&question(tenant, text))
    }

    /// Keeps an embedding for the next time this tenant asks this text.
    pub fn keep(&self, tenant: TenantId, text: &str, embedding: &Embedding) {
        self.0.insert(question(tenant, text), embedding.clone());
    }
}

fn question(tenant: TenantId, text: &str) -> Question {
    (tenant, Sha256::digest(text).into())
}

fn weigh(_: &Question, embedding: &Embedding) -> u32 {
    u32::try_from(embedding.dimensions() * size_of::<f32>() + ENTRY_BYTES).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_answers_one_tenant_for_the_same_text_only_and_stays_within_its_bytes() {
        let (cache, tenant) = (QueryCache::new(), TenantId::new());
        let embedding = Embedding::new(vec![1.0; 384]).expect("a direction");
        cache.keep(tenant, "where is the key", &embedding);
        assert_eq!(cache.find(tenant, "where is the key"), Some(embedding.clone()));
        assert_eq!(cache.find(tenant, "Where is the key"), None);
        assert_eq!(cache.find(TenantId::new(), "where is the key"), None);

        let large = Embedding::new(vec![1.0; 100_000]).expect("a direction");
        for number in 0..1000 {
            cache.keep(tenant, &number.to_string(), &large);
        }
        cache.0.run_pending_tasks();
        assert!(cache.0.weighted_size() <= MAX_BYTES);
    }
}
