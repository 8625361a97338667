//! The order of events (XC-50): a record's versions come in order, whoever began to write first.

use serde_json::json;

use super::served;
use crate::support::wire::at_once;
use crate::support::{Follower, fact, with};

/// Transactions that wait for a record began to write before those they wait for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_of_a_record_are_told_in_order() {
    let (_app, made, address) = served().await;
    let mut readers = Vec::new();
    for is_socket in [false, true] {
        readers.push(Follower::open(is_socket, address, &made.capability, None).await);
    }
    let keyed = |at: usize| with(fact(&format!("Value {at}.")), json!({ "key": "one" }));
    let (writers, writes) = (8, 25);
    at_once((0..writers).map(|writer| {
        let client = made.client.clone();
        async move {
            for write in 0..writes {
                client.post_until_answered("/v1/memory/items", keyed(writer * writes + write)).await;
            }
        }
    }))
    .await;
    for reader in &mut readers {
        for expected in 1..=writers * writes {
            let told = reader.told().await;
            assert_eq!(told["params"]["seq"], expected);
            assert_eq!(told["params"]["record"]["version"], expected, "{told}");
        }
    }
}

/// An event whose transaction is still open when later ones are told comes after them, and is not lost.
#[tokio::test]
async fn a_transaction_that_takes_long_is_not_lost() {
    let (app, made, address) = served().await;
    let mut reader = Follower::open(true, address, &made.capability, None).await;
    made.client.remember(fact("First.")).await;
    assert_eq!(reader.told().await["params"]["seq"], 1);
    let mut slow = app.db.superuser().await;
    let begin = "BEGIN;
        INSERT INTO events (tenant_id, ns, event_id, method, change_kind, memory_id, version, at)
        SELECT tenant_id, ns, gen_random_uuid(), method, 'updated', memory_id, version, at FROM events";
    sqlx::raw_sql(begin).execute(&mut slow).await.unwrap();
    made.client.remember(fact("Second.")).await;
    let second = reader.told().await;
    assert_eq!(
        (&second["params"]["seq"], &second["params"]["record"]["content"]),
        (&json!(2), &json!("Second."))
    );
    sqlx::raw_sql("COMMIT").execute(&mut slow).await.unwrap();
    let late = reader.told().await;
    assert_eq!((&late["params"]["seq"], &late["params"]["change_kind"]), (&json!(3), &json!("updated")));
}
