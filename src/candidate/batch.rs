//! Many semantic writes at once, for operations that turn what they hold into memory.

use super::outcome::Fact;
use super::policy::Origin;
use super::proposal::Proposed;
use super::semantic::{SemanticWrite, SemanticWritten};
use super::write::decide_all;
use crate::app::App;
use crate::auth::Permit;
use crate::db::with_retry;
use crate::error::Result;
use crate::memory::write::Changes;

/// Writes proposals in order, all or none of them: each becomes a record or a candidate, or adds its evidence to what
/// is there, those before it included. They are embedded in one call.
///
/// The permit is one to write durable memory, because proposals may ask to be active.
pub async fn write_all(
    app: &App,
    permit: &Permit,
    proposals: Vec<SemanticWrite>,
) -> Result<Vec<SemanticWritten>> {
    let check = |new| Proposed::check(app, permit, new, Origin::Suggestion);
    let mut proposed = proposals.into_iter().map(check).collect::<Result<Vec<_>>>()?;
    Fact::embed_all(app, permit, proposed.iter_mut().map(|new| &mut new.fact)).await?;
    with_retry(|| async {
        let mut tx = app.db.begin(permit).await?;
        let mut changes = Changes::new(permit, app.clock.now());
        let written = decide_all(&mut tx, permit, &mut changes, &proposed).await?;
        changes.write(&mut tx).await?;
        tx.commit().await?;
        Ok(written)
    })
    .await
}
