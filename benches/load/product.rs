//! The product: the same work through its HTTP API, over connections that stay open.

use std::rc::Rc;

use anyhow::{Result, ensure};
use reqwest::Method;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::client::Namespace;
use crate::cpu::Watched;
use crate::phase::{Figures, Phase};
use crate::server::Server;
use crate::text::{Fresh, Texts};
use crate::{BATCH_CLIENTS, BATCHES, MANY};

/// The ways to search, as the API names them.
pub const MODES: [&str; 3] = ["hybrid", "semantic", "lexical"];

/// As many hits as the floor returns.
const LIMIT: usize = 10;

#[derive(Deserialize)]
struct Added {
    created: bool,
}

#[derive(Deserialize)]
struct AddedBatch {
    results: Vec<Added>,
}

#[derive(Deserialize)]
struct Found {
    hits: Vec<IgnoredAny>,
    #[serde(default)]
    degraded: Vec<String>,
}

/// A client of one namespace, and what to watch while it works.
pub struct Product {
    namespace: Rc<Namespace>,
    watched: Watched,
}

/// Adds and searches in namespaces that nobody used before.
pub async fn round(
    server: &Server,
    watched: Watched,
    name: &str,
    texts: &Texts,
    fresh: &mut Fresh,
) -> Result<Figures> {
    let product = Product::enter(server, watched, name).await?;
    let (first, rest) = texts.split_memories();
    let mut figures = Figures::new();
    figures.insert("add_c1".to_owned(), product.add(1, first).await?);
    figures.insert("add_c8".to_owned(), product.add(MANY, rest).await?);
    for mode in MODES {
        for clients in [1, MANY] {
            let queries = fresh.queries(&texts.queries);
            figures.insert(format!("{mode}_c{clients}"), product.search(clients, mode, queries).await?);
        }
    }
    for mode in ["hybrid", "semantic"] {
        let queries = fresh.questions(&texts.queries);
        for clients in [1, MANY] {
            let figure = product.search(clients, mode, queries.clone()).await?;
            figures.insert(format!("{mode}_as_floor_c{clients}"), figure);
        }
    }
    for size in BATCHES {
        let product = Product::enter(server, watched, &format!("{name}-batch-{size}")).await?;
        figures.insert(format!("batch_{size}"), product.add_batches(size, &texts.batch).await?);
    }
    Ok(figures)
}

impl Product {
    /// Enters a namespace.
    pub async fn enter(server: &Server, watched: Watched, name: &str) -> Result<Self> {
        Ok(Self { namespace: Rc::new(server.stack.enter(name).await?), watched })
    }

    /// Adds texts one by one.
    pub async fn add(&self, clients: usize, texts: &[String]) -> Result<Phase> {
        let namespace = Rc::clone(&self.namespace);
        Phase::run(clients, texts.to_vec(), self.watched, async move |text: String| {
            let added: Added = namespace.post("/v1/memory/items", &item(&text)).await?;
            ensure!(added.created, "{text:?} was there already");
            Ok(())
        })
        .await
    }

    /// Adds texts in batches.
    pub async fn add_batches(&self, size: usize, texts: &[String]) -> Result<Phase> {
        let namespace = Rc::clone(&self.namespace);
        let batches = texts.chunks(size).map(|batch| batch.iter().map(|text| item(text)).collect());
        Phase::run(BATCH_CLIENTS, batches.collect(), self.watched, async move |batch: Vec<Value>| {
            let body = json!({ "items": batch });
            let added: AddedBatch = namespace.post("/v1/memory/items/batch", &body).await?;
            ensure!(added.results.len() == batch.len(), "{} results", added.results.len());
            ensure!(added.results.iter().all(|added| added.created), "some texts were there already");
            Ok(())
        })
        .await
    }

    /// Searches, each query once.
    pub async fn search(&self, clients: usize, mode: &'static str, queries: Vec<String>) -> Result<Phase> {
        let namespace = Rc::clone(&self.namespace);
        Phase::run(clients, queries, self.watched, async move |query: String| {
            search(&namespace, mode, &query).await
        })
        .await
    }

    /// Searches whose query vectors the server has in memory.
    pub async fn search_again(
        &self,
        clients: usize,
        mode: &'static str,
        queries: &[String],
    ) -> Result<Phase> {
        self.search(clients, mode, queries.to_vec()).await?;
        self.search(clients, mode, queries.to_vec()).await
    }

    /// Makes the same GET again and again, by one client.
    pub async fn get(&self, path: &'static str, times: usize) -> Result<Phase> {
        let namespace = Rc::clone(&self.namespace);
        Phase::run(1, vec![(); times], self.watched, async move |()| get(&namespace, path).await).await
    }
}

/// Searches once.
pub async fn search(namespace: &Namespace, mode: &str, query: &str) -> Result<()> {
    let body = json!({ "query": query, "mode": mode, "limit": LIMIT });
    let found: Found = namespace.post("/v1/memory/search", &body).await?;
    // Words alone may find nothing; by meaning, everything is more or less near.
    ensure!(!found.hits.is_empty() || mode == "lexical", "{query:?} finds nothing");
    ensure!(found.degraded.is_empty(), "the search is degraded: {:?}", found.degraded);
    Ok(())
}

/// Makes a GET once.
pub async fn get(namespace: &Namespace, path: &str) -> Result<()> {
    namespace.call::<IgnoredAny>(Method::GET, path, None).await?;
    Ok(())
}

fn item(text: &str) -> Value {
    json!({ "scope": { "kind": "workspace", "key": "bench" }, "category": "custom", "content": text })
}
