//! SQL of the HNSW index's contents.

use uuid::Uuid;

use crate::db::OperatorTx;
use crate::error::Result;

/// A namespace whose vectors are being marked.
#[derive(Debug, Clone, Copy)]
pub struct Building {
    tenant: Uuid,
    ns: i32,
}

/// Starts with the namespaces that have become large: from now on their new vectors are marked when written. All
/// counters are read for that, so that of several nodes at once only one does it.
pub async fn begin_building(tx: &mut OperatorTx, more_than: i64) -> Result<()> {
    sqlx::query!(
        "UPDATE namespaces n
         SET vectors = 'building', building_since = pg_current_xact_id()
         WHERE n.vectors = 'exact'
           AND (SELECT pg_try_advisory_xact_lock(hashtextextended('large namespaces', 0)))
           AND (
             SELECT sum(c.records)::int8
             FROM namespace_counts c
             WHERE c.tenant_id = n.tenant_id AND c.ns = n.ns
           ) > $1",
        more_than,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The namespaces that are not finished.
pub async fn building(tx: &mut OperatorTx) -> Result<Vec<Building>> {
    let rows = sqlx::query!("SELECT tenant_id, ns FROM namespaces WHERE vectors = 'building'")
        .fetch_all(&mut **tx)
        .await?;
    Ok(rows.into_iter().map(|row| Building { tenant: row.tenant_id, ns: row.ns }).collect())
}

/// Marks some vectors. Gives how many; none when all are.
pub async fn mark_round(tx: &mut OperatorTx, space: Building, limit: i64) -> Result<u64> {
    let done = sqlx::query!(
        "UPDATE memory_vectors v
         SET indexed = true
         FROM (
           SELECT model, memory_id
           FROM memory_vectors
           WHERE tenant_id = $1 AND ns = $2 AND NOT indexed
           LIMIT $3
           FOR UPDATE SKIP LOCKED
         ) r
         WHERE v.tenant_id = $1 AND v.ns = $2 AND v.model = r.model AND v.memory_id = r.memory_id",
        space.tenant,
        space.ns,
        limit,
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

/// Lets searches use the index, if every transaction that may have written unmarked vectors has ended and none is
/// left. Otherwise a later round looks again.
pub async fn finish_building(tx: &mut OperatorTx, space: Building) -> Result<()> {
    sqlx::query!(
        "UPDATE namespaces
         SET vectors = 'indexed', building_since = NULL
         WHERE tenant_id = $1 AND ns = $2 AND vectors = 'building'
           AND building_since < pg_snapshot_xmin(pg_current_snapshot())
           AND NOT EXISTS (SELECT FROM memory_vectors WHERE tenant_id = $1 AND ns = $2 AND NOT indexed)",
        space.tenant,
        space.ns,
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
