//! Moving a tenant to another embedding model, while it is being used.
//!
//! Vectors of the new model are filled in beside the old ones; then one row switches the tenant, and the old vectors
//! go. Safe to stop and start again at any point: what has a vector is not embedded twice.

mod store;

use std::ops::ControlFlow;
use std::time::Instant;

use crate::app::App;
use crate::auth::{OperatorPermit, Permit};
use crate::error::{Error, Result};
use crate::id::{MemoryId, TenantId};

/// How many records are embedded between two transactions.
const ROUND: usize = 64;

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Records that were embedded by this run.
    pub embedded: u64,
    /// Active records without a vector of the new model.
    pub left: u64,
}

/// Gives every active record of a tenant a vector of this process's model, and then searches the tenant with it.
///
/// Fails with `Unavailable` when there is no embedder.
pub async fn reembed(
    app: &App,
    operator: &OperatorPermit,
    tenant: TenantId,
    mut report: impl FnMut(Progress),
) -> Result<Progress> {
    if app.db.model() == 0 {
        return Err(Error::unavailable("the embedder"));
    }
    let mut progress = Progress { embedded: 0, left: 0 };
    let mut before = None;
    loop {
        let mut tx = app.db.begin_operator(operator).await?;
        progress.left = store::left(&mut tx, tenant, app.db.model()).await?;
        report(progress);
        // A look that found nothing new to embed: the rest has no usable vector, and is found by its words.
        let is_stuck = before == Some(progress.embedded);
        if progress.left == 0 || is_stuck {
            store::switch(&mut tx, tenant, app.db.model(), app.clock.now()).await?;
            tx.audit(operator, Some(tenant), "tenant.reembed", &tenant.to_string(), app.clock.now()).await?;
            tx.commit().await?;
            break;
        }
        before = Some(progress.embedded);
        let namespaces = store::namespaces(&mut tx, tenant).await?;
        drop(tx);
        for namespace in namespaces {
            let permit = operator.within(tenant, namespace);
            let tell = |progress| {
                report(progress);
                ControlFlow::Continue(())
            };
            fill(app, &permit, &mut progress, tell).await?;
        }
    }
    while store::drop_round(app, operator, tenant).await? > 0 {}
    Ok(progress)
}

/// Gives active records of a namespace that have no vector of this process's model one, until there are no more or
/// the time is over. Tells whether there may be more, and how many got theirs.
pub async fn fill_until(app: &App, permit: &Permit, end: Instant) -> Result<(bool, u64)> {
    let mut progress = Progress { embedded: 0, left: 0 };
    let mut is_late = false;
    let stop = |_| {
        is_late = Instant::now() >= end;
        if is_late { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    fill(app, permit, &mut progress, stop).await?;
    Ok((is_late, progress.embedded))
}

/// Fills one namespace, in the order of ids. What changes meanwhile is left for the next look.
async fn fill(
    app: &App,
    permit: &Permit,
    progress: &mut Progress,
    mut report: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<()> {
    let mut after = MemoryId::from_uuid(uuid::Uuid::nil());
    loop {
        let mut tx = app.db.begin(permit).await?;
        let texts = store::without_vector(&mut tx, after, ROUND).await?;
        drop(tx);
        let Some(last) = texts.last() else { return Ok(()) };
        after = last.id;
        let contents: Vec<String> = texts.iter().map(store::Text::dense).collect();
        let vectors = app.embedder.embed_texts(permit.tenant(), &contents).await?;
        let mut tx = app.db.begin(permit).await?;
        let stored = store::add_vectors(&mut tx, &texts, vectors).await?;
        tx.commit().await?;
        progress.embedded += stored;
        progress.left = progress.left.saturating_sub(stored);
        if report(*progress).is_break() {
            return Ok(());
        }
    }
}
