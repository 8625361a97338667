//! The Redis of working memory: keys, scripts, and the reservation of namespaces.
//!
//! | key | what |
//! |---|---|
//! | `wm:{<tenant>:<namespace>}:workspace` | a hash: the slots of a namespace with all that is known of them |
//! | `wm:{<tenant>:<namespace>}:activation` | a sorted set: the slots by how long they stay active |
//! | `wm:{<tenant>:<namespace>}:snapshots` | what the workspace looked like to whoever asked for a snapshot |
//! | `wm:{<tenant>}:namespaces` | the tenant's namespaces, by the time until which each is counted |
//! | `wm:{<tenant>}:notes` | what was told of each, and writers under way |
//!
//! What stands in braces decides which node of a Cluster holds the key, so that every script has its keys on one node.
//! The time is Redis' own, moved by the clock's shift: it does not depend on whose server asks.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use redis::{Cmd, FromRedisValue, Value, cmd};
use tracing::Instrument;

use super::settings::WorkingMemoryConfig;
use crate::app::App;
use crate::auth::{Namespace, Permit};
use crate::error::{Error, Result};
use crate::id::TenantId;
use crate::kv::{Kv, Script};

pub(super) static INJECT: LazyLock<Script> = LazyLock::new(|| step(&[include_str!("lua/inject.lua")]));
pub(super) static OFFER: LazyLock<Script> =
    LazyLock::new(|| step(&[include_str!("lua/activation.lua"), include_str!("lua/offer.lua")]));
pub(super) static REHEARSE: LazyLock<Script> =
    LazyLock::new(|| step(&[include_str!("lua/activation.lua"), include_str!("lua/rehearse.lua")]));
pub(super) static CLEAR: LazyLock<Script> = LazyLock::new(|| step(&[include_str!("lua/clear.lua")]));
pub(super) static CLEAR_ALL: LazyLock<Script> = LazyLock::new(|| step(&[include_str!("lua/clear_all.lua")]));
pub(super) static FOCUS: LazyLock<Script> = LazyLock::new(|| step(&[include_str!("lua/focus.lua")]));
pub(super) static RELEASE: LazyLock<Script> = LazyLock::new(|| step(&[include_str!("lua/release.lua")]));
pub(super) static LOOK: LazyLock<Script> = LazyLock::new(|| step(&[include_str!("lua/look.lua")]));
pub(super) static ITEMS: LazyLock<Script> = LazyLock::new(|| step(&[include_str!("lua/items.lua")]));
pub(super) static READ: LazyLock<Script> = LazyLock::new(|| step(&[include_str!("lua/read.lua")]));
pub(super) static COUNT: LazyLock<Script> = LazyLock::new(|| step(&[include_str!("lua/count.lua")]));
static RESERVE: LazyLock<Script> = LazyLock::new(|| Script::new(&[include_str!("lua/reserve.lua")]));
static SETTLE: LazyLock<Script> = LazyLock::new(|| Script::new(&[include_str!("lua/settle.lua")]));
static SNAPSHOT: LazyLock<Script> = LazyLock::new(|| Script::new(&[include_str!("lua/snapshot.lua")]));
static FIND_SNAPSHOT: LazyLock<Script> =
    LazyLock::new(|| Script::new(&[include_str!("lua/find_snapshot.lua")]));

/// One step: what every step begins with, the laws where they are needed, and the step itself.
fn step(parts: &[&str]) -> Script {
    Script::new(&[&[include_str!("lua/workspace.lua")], parts].concat())
}

/// A namespace is counted for up to this part of a slot's life longer than its last slot lives, so that not every
/// write has to be told to the tenant's list.
const SLACK_PART: u64 = 64;

/// How much later than at the first attempt a step may be done once its namespace is reserved.
const RETRY_MARGIN_MS: u64 = 500;

/// How many snapshots of a namespace are kept at the same time, and how long.
pub const MAX_SNAPSHOTS: usize = 16;
/// How long a snapshot is kept.
pub const SNAPSHOT_LIFE: Duration = Duration::from_mins(1);

/// The workspace of one namespace, and the settings that hold for it.
#[derive(Clone)]
pub(super) struct Store {
    pub config: Arc<WorkingMemoryConfig>,
    kv: Kv,
    shift_ms: i64,
    tenant: TenantId,
    namespace: String,
}

/// What a step answers.
#[derive(Debug)]
pub(super) struct Reply {
    pub outcome: String,
    pub now_ms: i64,
    pub version: u64,
    /// Until when the namespace is to be counted, and whether that is earlier than it was.
    told: i64,
    is_lowered: bool,
    rest: Vec<Value>,
}

impl Reply {
    /// What a step answers beyond the outcome.
    pub fn get<T: FromRedisValue>(&mut self, place: usize) -> Result<T> {
        let value = self.rest.get_mut(place).map_or(Value::Nil, std::mem::take);
        T::from_redis_value(value)
            .map_err(|error| Error::internal(format!("a step answers {place}: {error}")))
    }
}

impl Store {
    /// The workspace that a permit reaches.
    pub fn new(app: &App, permit: &Permit, config: Arc<WorkingMemoryConfig>) -> Self {
        Self {
            config,
            kv: app.kv.clone(),
            shift_ms: app.clock.shifted_by().num_milliseconds(),
            tenant: permit.tenant(),
            namespace: permit.namespace().as_str().to_owned(),
        }
    }

    /// Where the workspace's events are published.
    pub fn channel(&self) -> String {
        format!("{}:events", self.stem())
    }

    /// Does a step, counting the namespace first where that is needed. It goes on to its end though nobody may wait for
    /// it any more: what was reserved is then settled.
    pub async fn step(&self, script: &'static Script, arguments: Vec<String>) -> Result<Reply> {
        let store = self.clone();
        let step = async move { store.step_and_settle(script, &arguments).await };
        tokio::spawn(step.in_current_span()).await.map_err(Error::internal)?
    }

    async fn step_and_settle(&self, script: &Script, arguments: &[String]) -> Result<Reply> {
        let mut reply = self.try_step(script, 0, arguments).await?;
        if reply.outcome != "unreserved" {
            if reply.is_lowered {
                self.settle(&reply, false).await;
            }
            return Ok(reply);
        }
        // Until the second attempt some time has passed, which may be more than the slack of a short life.
        let margin = self.slack_ms().max(RETRY_MARGIN_MS);
        let until = reply.get::<i64>(0)? + i64::try_from(margin).unwrap_or(i64::MAX);
        self.reserve(until).await?;
        let reply = self.try_step(script, until, arguments).await?;
        self.settle(&reply, true).await;
        if reply.outcome == "unreserved" {
            // It took longer than the whole life of a slot from the first look to the second.
            return Err(Error::unavailable("working memory"));
        }
        Ok(reply)
    }

    async fn try_step(&self, script: &Script, reserved: i64, arguments: &[String]) -> Result<Reply> {
        let channel = self.channel();
        let values: Vec<Value> = self
            .kv
            .run(script, &[&self.workspace(), &self.activations()], |command| {
                command.arg(self.shift_ms).arg(&channel).arg(self.slack_ms()).arg(reserved);
                command.arg(arguments);
            })
            .await?;
        let mut reply =
            Reply { outcome: String::new(), now_ms: 0, version: 0, told: 0, is_lowered: false, rest: values };
        reply.outcome = reply.get(0)?;
        reply.now_ms = reply.get(1)?;
        reply.version = reply.get(2)?;
        reply.told = reply.get(3)?;
        reply.is_lowered = reply.get::<i64>(4)? == 1;
        reply.rest.drain(..5);
        Ok(reply)
    }

    /// Counts this namespace until a time, or refuses when there are too many.
    async fn reserve(&self, until: i64) -> Result<()> {
        let (outcome, doubtful) = self.try_reserve(until).await?;
        if outcome == "reserved" {
            return Ok(());
        }
        // Those that may be gone already are looked at, which settles it.
        for namespace in doubtful {
            self.beside(namespace).look_after().await?;
        }
        match self.try_reserve(until).await?.0.as_str() {
            "reserved" => Ok(()),
            _ => Err(Error::Capacity("working memory namespace capacity exceeded")),
        }
    }

    async fn try_reserve(&self, until: i64) -> Result<(String, Vec<String>)> {
        let (list, notes) = self.list();
        let arguments = |command: &mut Cmd| {
            command
                .arg(self.shift_ms)
                .arg(&self.namespace)
                .arg(until)
                .arg(self.config.max_namespace_entries)
                .arg(2 * self.slack_ms());
        };
        self.kv.run(&RESERVE, &[&list, &notes], arguments).await
    }

    /// Takes out what has ended.
    pub async fn look_after(&self) -> Result<()> {
        let reply = self.try_step(&COUNT, 0, &[]).await?;
        if reply.is_lowered {
            self.settle(&reply, false).await;
        }
        Ok(())
    }

    /// Tells the tenant's list until when this namespace is counted. The change itself is done: if this fails, the
    /// namespace is counted for longer than it should be, until its reservation ends.
    async fn settle(&self, reply: &Reply, ends_reservation: bool) {
        let (list, notes) = self.list();
        let told: Result<i64> = self
            .kv
            .run(&SETTLE, &[&list, &notes], |command| {
                command.arg(self.shift_ms).arg(&self.namespace).arg(reply.version).arg(reply.told);
                command.arg(u8::from(ends_reservation));
            })
            .await;
        if let Err(error) = told {
            tracing::warn!(%error, tenant.id = %self.tenant, "a namespace stays counted until its reservation ends");
        }
    }

    /// Keeps what the workspace looks like under an id, for a minute. Says whether there was room for it.
    pub async fn keep_snapshot(&self, id: &str, content: &str) -> Result<bool> {
        let key = self.snapshots();
        self.kv
            .run(&SNAPSHOT, &[&key], |command| {
                command
                    .arg(self.shift_ms)
                    .arg(id)
                    .arg(content)
                    .arg(MAX_SNAPSHOTS)
                    .arg(SNAPSHOT_LIFE.as_millis());
            })
            .await
    }

    /// What was kept under an id, if it still is.
    pub async fn find_snapshot(&self, id: &str) -> Result<Option<String>> {
        let key = self.snapshots();
        self.kv
            .run(&FIND_SNAPSHOT, &[&key], |command| {
                command.arg(self.shift_ms).arg(id).arg(SNAPSHOT_LIFE.as_millis());
            })
            .await
    }

    /// The same for another namespace of the tenant.
    fn beside(&self, namespace: String) -> Self {
        Self { namespace, ..self.clone() }
    }

    /// How much longer than its last slot lives a namespace is counted.
    fn slack_ms(&self) -> u64 {
        (self.config.ttl_seconds * 1_000 / SLACK_PART).max(1)
    }

    fn stem(&self) -> String {
        format!("{}wm:{{{}:{}}}", self.kv.prefix(), self.tenant.uuid().simple(), self.namespace)
    }

    fn workspace(&self) -> String {
        format!("{}:workspace", self.stem())
    }

    fn activations(&self) -> String {
        format!("{}:activation", self.stem())
    }

    fn snapshots(&self) -> String {
        format!("{}:snapshots", self.stem())
    }

    fn list(&self) -> (String, String) {
        list(&self.kv, self.tenant)
    }
}

fn list(kv: &Kv, tenant: TenantId) -> (String, String) {
    let stem = format!("{}wm:{{{}}}", kv.prefix(), tenant.uuid().simple());
    (format!("{stem}:namespaces"), format!("{stem}:notes"))
}

/// Removes everything of a tenant. Gives how many namespaces there were.
pub(super) async fn erase(app: &App, tenant: TenantId) -> Result<u64> {
    let (list, notes) = list(&app.kv, tenant);
    let namespaces: Vec<String> = app.kv.ask(cmd("ZRANGE").arg(&list).arg(0).arg(-1)).await?;
    let count = namespaces.len() as u64;
    for namespace in namespaces {
        let store = Store { config: Arc::default(), kv: app.kv.clone(), shift_ms: 0, tenant, namespace };
        app.kv
            .ask::<()>(cmd("DEL").arg(store.workspace()).arg(store.activations()).arg(store.snapshots()))
            .await?;
    }
    // Last, so that what is left over after a break is still known.
    app.kv.ask::<()>(cmd("DEL").arg(&list).arg(&notes)).await?;
    Ok(count)
}

/// The namespaces of a tenant that hold slots.
pub(super) async fn namespaces(app: &App, tenant: TenantId) -> Result<Vec<Namespace>> {
    let (list, _) = list(&app.kv, tenant);
    let now_ms = app.clock.now().timestamp_millis();
    let mut counted = cmd("ZRANGEBYSCORE");
    counted.arg(&list).arg(format!("({now_ms}")).arg("+inf");
    let names: Vec<String> = app.kv.ask(&counted).await?;
    names.iter().map(|name| name.parse().map_err(|error: String| Error::internal(error))).collect()
}
