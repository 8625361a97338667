//! The second wall: what the database itself refuses (docs/architecture.md, "Isolation").

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
        // Roles belong to all databases of the server: a fault must never be committed, and may have to wait.
        let mut attempts = 0..10;
        loop {
            sqlx::raw_sql("BEGIN").execute(&mut connection).await.unwrap();
            match sqlx::raw_sql(AssertSqlSafe(*plant)).execute(&mut connection).await {
                Ok(_) => break,
                Err(error) => assert!(attempts.next().is_some(), "{error}: {plant}"),
            }
            sqlx::raw_sql("ROLLBACK").execute(&mut connection).await.unwrap();
        }
        let found = linter::faults(&mut connection).await;
        sqlx::raw_sql("ROLLBACK").execute(&mut connection).await.unwrap();
        assert!(found.iter().any(|fault| fault.contains(wanted)), "{plant} gives {found:?}");
    }
    assert!(linter::faults(&mut connection).await.is_empty(), "nothing planted is left");
}

/// Roles belong to the whole server: while one database is set up, so may be another.
#[tokio::test]
async fn a_set_up_goes_on_when_another_database_changes_the_same_role() {
    let db = TestDb::set_up().await;
    let mut other = db.superuser().await;
    sqlx::raw_sql("BEGIN; ALTER ROLE memtide_backup BYPASSRLS").execute(&mut other).await.unwrap();
    let config = db.config();
    let again = tokio::spawn(async move { memtide::db::migrate(&config).await });
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
    again.await.unwrap().unwrap();
}
