//! The embedder alone, in this process: what no server in front of it can exceed.

use std::sync::Arc;

use anyhow::Result;
use memtide::embed::{EmbedConfig, Embedder};
use memtide::id::TenantId;

use crate::cpu::Watched;
use crate::phase::{Figures, Phase};
use crate::text::{Fresh, Texts};
use crate::{BATCH_CLIENTS, BATCHES, MANY};

/// The embedder and the tenant it works for.
pub struct Alone {
    embedder: Arc<Embedder>,
    tenant: TenantId,
    fresh: Fresh,
}

impl Alone {
    /// Loads the model that the server uses, with as many workers.
    pub async fn load(config: EmbedConfig) -> Result<Self> {
        let embedder = Arc::new(Embedder::connect(config).await?);
        Ok(Self { embedder, tenant: TenantId::new(), fresh: Fresh::default() })
    }

    /// Embeds what a round of the product embeds.
    pub async fn round(&mut self, texts: &Texts) -> Result<Figures> {
        let singles = |texts: &[String]| texts.iter().map(|text| vec![text.clone()]).collect();
        let (first, rest) = texts.split_memories();
        let mut figures = Figures::new();
        figures.insert("add_c1".to_owned(), self.texts(1, singles(first)).await?);
        figures.insert("add_c8".to_owned(), self.texts(MANY, singles(rest)).await?);
        for size in BATCHES {
            let batches = texts.batch.chunks(size).map(<[String]>::to_vec).collect();
            figures.insert(format!("batch_{size}"), self.texts(BATCH_CLIENTS, batches).await?);
        }
        for clients in [1, MANY] {
            let queries = self.fresh.queries(&texts.queries);
            figures.insert(format!("search_c{clients}"), self.queries(clients, queries).await?);
        }
        Ok(figures)
    }

    async fn texts(&self, clients: usize, batches: Vec<Vec<String>>) -> Result<Phase> {
        let (embedder, tenant) = (Arc::clone(&self.embedder), self.tenant);
        Phase::run(clients, batches, Watched::NOTHING, async move |batch: Vec<String>| {
            Ok(embedder.embed_texts(tenant, &batch).await.map(drop)?)
        })
        .await
    }

    async fn queries(&self, clients: usize, queries: Vec<String>) -> Result<Phase> {
        let (embedder, tenant) = (Arc::clone(&self.embedder), self.tenant);
        Phase::run(clients, queries, Watched::NOTHING, async move |query: String| {
            Ok(embedder.embed_query(tenant, &query).await.map(drop)?)
        })
        .await
    }
}
