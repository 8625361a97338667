//! The second wall: what the database itself refuses (design.md 2).

mod faults;
mod grants;
mod linter;
mod wall;

use sqlx::AssertSqlSafe;

use crate::support::TestDb;

#[tokio::test]
async fn a_database_that_was_set_up_breaks_no_rule() {
    let db = TestDb::set_up().await;
    let faults = linter::faults(&mut db.superuser().await).await;
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[tokio::test]
async fn every_planted_fault_is_found() {
    let db = TestDb::set_up().await;
    let mut connection = db.superuser().await;
    for (plant, wanted) in faults::FAULTS {
        // Roles belong to all databases of the server: a fault must never be committed.
        sqlx::raw_sql("BEGIN").execute(&mut connection).await.unwrap();
        let planted = sqlx::raw_sql(AssertSqlSafe(*plant)).execute(&mut connection).await;
        planted.unwrap_or_else(|error| panic!("{error}: {plant}"));
        let found = linter::faults(&mut connection).await;
        sqlx::raw_sql("ROLLBACK").execute(&mut connection).await.unwrap();
        assert!(found.iter().any(|fault| fault.contains(wanted)), "{plant} gives {found:?}");
    }
    assert!(linter::faults(&mut connection).await.is_empty(), "nothing planted is left");
}
