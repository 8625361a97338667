//! Every migration, applied to a database with rows in it.
//!
//! `data/<migration>.sql` holds rows as the release with that migration wrote them; they go in right after it, so that
//! all later ones meet them.

use std::fs;
use std::path::Path;

use sqlx::PgConnection;

use crate::support::TestDb;

#[tokio::test]
async fn every_migration_keeps_the_rows_of_the_releases_before_it() {
    // Makes the roles, which all databases share.
    TestDb::create().await;
    let db = TestDb::empty().await;
    let mut superuser = db.superuser().await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/data");
    let (mut samples, mut rows) = (0, Vec::<(String, i64)>::new());
    for migration in memtide::MIGRATOR.iter() {
        sqlx::raw_sql(migration.sql.clone()).execute(&mut superuser).await.unwrap();
        for (table, before) in &rows {
            assert_eq!(
                count(&mut superuser, table).await,
                *before,
                "{table} after {}",
                migration.description
            );
        }
        let sample =
            folder.join(format!("{}_{}.sql", migration.version, migration.description.replace(' ', "_")));
        if let Ok(sql) = fs::read_to_string(sample) {
            sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut superuser).await.unwrap();
            samples += 1;
        }
        rows = counts(&mut superuser).await;
    }
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|end| end == "sql")).count();
    assert_eq!(samples, files, "a sample has the name of no migration");
}

async fn counts(superuser: &mut PgConnection) -> Vec<(String, i64)> {
    let tables =
        "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut *superuser).await.unwrap();
    let mut counts = Vec::new();
    for table in tables {
        let rows = count(superuser, &table).await;
        counts.push((table, rows));
    }
    counts
}

async fn count(superuser: &mut PgConnection, table: &str) -> i64 {
    let sql = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
    sqlx::query_scalar(sql).fetch_one(superuser).await.unwrap()
}
