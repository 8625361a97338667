//! How many nodes there are: each says every second in Redis that it is up.

use std::sync::LazyLock;

use crate::error::Result;
use crate::kv::{Kv, Script};

/// The set of nodes, scored by when they were last up by the clock of Redis.
const KEY: &str = "nodes";

/// A node that was silent for so long is not up, in milliseconds.
const LIFE_MS: u32 = 5_000;

static COUNT: LazyLock<Script> = LazyLock::new(|| Script::new(&[include_str!("count.lua")]));
static LEAVE: LazyLock<Script> =
    LazyLock::new(|| Script::new(&["return redis.call('ZREM', KEYS[1], ARGV[1])"]));

/// Says that a node is up, and gives how many are.
pub async fn count(kv: &Kv, me: &str) -> Result<u32> {
    let key = format!("{}{KEY}", kv.prefix());
    kv.run(&COUNT, &[&key], |command| {
        command.arg(me).arg(LIFE_MS);
    })
    .await
}

/// Says that a node goes, so that the others need not wait to notice.
pub async fn leave(kv: &Kv, me: &str) {
    let key = format!("{}{KEY}", kv.prefix());
    let left: Result<u32> = kv
        .run(&LEAVE, &[&key], |command| {
            command.arg(me);
        })
        .await;
    if let Err(error) = left {
        tracing::info!(%error, "the other nodes have to notice that this one goes");
    }
}
