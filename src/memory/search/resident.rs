//! The vectors of namespaces that are searched again and again while nobody writes to them, kept in memory.
//!
//! Postgres takes about a microsecond to compare a vector, and memory a twentieth of that. What is kept is known by how
//! often its namespace was written to, a number that the search reads in its own transaction: after any write, on
//! whichever node, the search goes to Postgres until the namespace is quiet again.

use std::sync::Arc;
use std::time::Duration;

use moka::ops::compute::Op;
use moka::sync::Cache;
use uuid::Uuid;

use super::store::{self, Space};
use super::vectors::Vectors;
use crate::db::TenantTx;
use crate::error::Result;

/// Enough for some 80,000 vectors of a small model.
const MAX_BYTES: u64 = 64 << 20;

/// How long vectors are kept at most, in particular those of a tenant that was erased since.
const KEPT_FOR: Duration = Duration::from_mins(10);

/// How many namespaces are watched at once; about 100 bytes each.
const WATCHED: u64 = 100_000;

/// The search of an unchanged namespace that loads its vectors: that costs about as much as this many searches.
const LOADS_AT: u32 = 3;

/// A tenant's namespace, as one model sees it.
type Place = (Uuid, i32, i16);

/// The vectors kept. Clones share them.
#[derive(Debug, Clone)]
pub struct Resident {
    vectors: Cache<Place, (i64, Arc<Vectors>)>,
    watched: Cache<Place, Watch>,
}

/// How often a namespace was searched since it was written to.
#[derive(Debug, Clone, Copy)]
struct Watch {
    writes: i64,
    searches: u32,
}

impl Resident {
    /// Nothing yet.
    pub fn new() -> Self {
        let bytes = |_: &Place, (_, vectors): &(i64, Arc<Vectors>)| {
            u32::try_from(vectors.bytes()).unwrap_or(u32::MAX)
        };
        Self {
            vectors: Cache::builder().weigher(bytes).max_capacity(MAX_BYTES).time_to_live(KEPT_FOR).build(),
            watched: Cache::builder().max_capacity(WATCHED).time_to_live(KEPT_FOR).build(),
        }
    }

    /// All vectors of the transaction's namespace as it is now, if they are in memory or should be from now on.
    pub async fn find(&self, tx: &mut TenantTx, space: Space) -> Result<Option<Arc<Vectors>>> {
        if space.is_large() {
            return Ok(None);
        }
        let place = (tx.tenant(), tx.ns(), space.model);
        if let Some((_, vectors)) = self.vectors.get(&place).filter(|(writes, _)| *writes == space.writes) {
            return Ok(Some(vectors));
        }
        if !self.is_due(place, space.writes) {
            return Ok(None);
        }
        let vectors = Arc::new(store::vectors(tx, space.model).await?);
        // Each statement sees what was committed before it: a write in between makes them vectors of no known state.
        if store::space(tx).await? != Some(space) {
            return Ok(None);
        }
        self.vectors.insert(place, (space.writes, Arc::clone(&vectors)));
        Ok(Some(vectors))
    }

    /// Counts a search, and says whether it is the one that loads. One of many at once is.
    fn is_due(&self, place: Place, writes: i64) -> bool {
        let mut searches = 0;
        self.watched.entry(place).and_compute_with(|watch| {
            let known = watch.map(moka::Entry::into_value).filter(|watch| watch.writes == writes);
            searches = known.map_or(1, |watch| watch.searches % LOADS_AT + 1);
            Op::Put(Watch { writes, searches })
        });
        searches == LOADS_AT
    }
}

impl Default for Resident {
    fn default() -> Self {
        Self::new()
    }
}
