//! Transactions whose owner goes away, as the task of a client does who hangs up.

use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use memtide::auth::OperatorPermit;

use crate::support::TestApp;

#[tokio::test]
async fn a_transaction_given_up_at_any_moment_leaves_nothing_open() {
    let app = TestApp::start().await;
    let operator = OperatorPermit::command_line();
    for polls in 0..100 {
        // Each time it is given up at another place: waiting for a connection, for BEGIN, for the statement.
        let work = pin!(async {
            let mut tx = app.app.db.begin_operator(&operator).await.unwrap();
            sqlx::query("SELECT pg_sleep(0.05)").execute(&mut *tx).await.unwrap();
        });
        give_up_after(polls % 8, work).await;
    }
    let mut superuser = app.db.superuser().await;
    let start = Instant::now();
    loop {
        let open: Vec<String> = sqlx::query_scalar(
            "SELECT state || ': ' || query FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL",
        )
        .fetch_all(&mut superuser)
        .await
        .unwrap();
        if open.is_empty() {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(5), "{open:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn give_up_after(polls: usize, mut work: std::pin::Pin<&mut impl Future<Output = ()>>) {
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
