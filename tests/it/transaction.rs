//! Transactions whose owner goes away, as the task of a client does who hangs up.

use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use memtide::auth::OperatorPermit;
use memtide::config::Database;
use memtide::db::Db;

use crate::support::TestDb;

#[tokio::test]
async fn a_transaction_given_up_at_any_moment_is_not_the_next_ones() {
    let database = TestDb::create().await;
    let db = Db::connect(&Database { pool: 1, ..database.config() }).unwrap();
    let operator = OperatorPermit::command_line();
    // Each time it is given up at another place: waiting for a connection, for BEGIN, for the statement.
    for polls in (0..6).cycle().take(12) {
        give_up_after(polls, async {
            let mut tx = db.begin_operator(&operator).await.unwrap();
            sqlx::query("SELECT pg_sleep(0.02)").execute(&mut *tx).await.unwrap();
        })
        .await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        let mut tx = db.begin_operator(&operator).await.unwrap();
        let age: f64 = sqlx::query_scalar("SELECT extract(epoch FROM clock_timestamp() - now())::float8")
            .fetch_one(&mut *tx)
            .await
            .unwrap();
        assert!(age < 0.25, "given up after {polls} polls, it is found open after {age} s");
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
