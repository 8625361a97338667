//! Transactions whose owner goes away, as the task of a client does who hangs up.

use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use memtide::auth::OperatorPermit;
use memtide::config::Database;
use memtide::db::Db;
use sqlx::PgConnection;

use crate::support::TestDb;

#[tokio::test]
async fn a_transaction_given_up_at_any_moment_is_not_the_next_ones() {
    let database = TestDb::create().await;
    let db = Db::connect(&Database { pool: 1, ..database.config() }).unwrap();
    let operator = OperatorPermit::command_line();
    let mut superuser = database.superuser().await;
    // Each time it is given up at another place: waiting for a connection, for BEGIN, for the statement.
    for polls in (0..6).cycle().take(12) {
        give_up_after(polls, async {
            let mut tx = db.begin_operator(&operator).await.unwrap();
            sqlx::query("SELECT pg_sleep(0.02)").execute(&mut *tx).await.unwrap();
        })
        .await;
        let ended_at = all_have_ended(&mut superuser).await;
        let mut tx = db.begin_operator(&operator).await.unwrap();
        let is_new: bool =
            sqlx::query_scalar("SELECT now() >= $1").bind(ended_at).fetch_one(&mut *tx).await.unwrap();
        assert!(is_new, "given up after {polls} polls, it is found open by the next");
    }
}

/// Waits until no transaction of the service is open in this database, and tells when that was.
async fn all_have_ended(superuser: &mut PgConnection) -> DateTime<Utc> {
    let open = "SELECT count(*), clock_timestamp()
                FROM pg_stat_activity
                WHERE datname = current_database() AND usename = 'memtide_app' AND xact_start IS NOT NULL";
    let start = Instant::now();
    loop {
        let (open, now): (i64, DateTime<Utc>) =
            sqlx::query_as(open).fetch_one(&mut *superuser).await.unwrap();
        if open == 0 {
            return now;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "a transaction that was given up stays open");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn give_up_after(polls: usize, work: impl Future<Output = ()>) {
    let mut work = pin!(work);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        work.as_mut().poll(context)
    })
    .await;
}
