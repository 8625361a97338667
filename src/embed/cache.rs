//! Vectors of queries asked before.
//!
//! A map from text to vector and nothing else: it holds no tenant's data beyond the text a caller brings, and
//! answers every caller alike. There is one to a model, so that the text alone is the key.

use moka::sync::Cache;

use super::Embedding;

/// Enough for some ten thousand short queries of a small model.
const MAX_BYTES: u64 = 32 << 20;

/// What an entry costs beside its text and its numbers, roughly.
const ENTRY_BYTES: usize = 200;

/// The embeddings of recent queries, bounded in bytes.
#[derive(Debug, Clone)]
pub struct QueryCache(Cache<String, Embedding>);

impl QueryCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self(Cache::builder().weigher(weigh).max_capacity(MAX_BYTES).build())
    }

    /// The embedding of this very text, if it was asked for not long ago.
    pub fn find(&self, text: &str) -> Option<Embedding> {
        self.0.get(text)
    }

    /// Keeps an embedding for the next time this text is asked for.
    pub fn keep(&self, text: &str, embedding: &Embedding) {
        self.0.insert(text.to_owned(), embedding.clone());
    }
}

#[expect(clippy::ptr_arg, reason = "the cache passes its key as it holds it")]
fn weigh(text: &String, embedding: &Embedding) -> u32 {
    let bytes = text.len() + embedding.dimensions() * size_of::<f32>() + ENTRY_BYTES;
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_answers_for_the_same_text_only_and_stays_within_its_bytes() {
        let cache = QueryCache::new();
        let embedding = Embedding::new(vec![1.0; 384]).expect("a direction");
        cache.keep("where is the key", &embedding);
        assert_eq!(cache.find("where is the key"), Some(embedding.clone()));
        assert_eq!(cache.find("Where is the key"), None);

        let filler = "x".repeat(100_000);
        for number in 0..1000 {
            cache.keep(&format!("{number}{filler}"), &embedding);
        }
        cache.0.run_pending_tasks();
        assert!(cache.0.weighted_size() <= MAX_BYTES);
    }
}
