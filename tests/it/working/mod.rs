//! Working memory: slots, activation, attention.

mod cluster;
mod concurrency;
mod config;
mod consolidate;
mod engine;
mod events;
mod fault;
mod inputs;
mod model;
mod offer;
mod slots;
mod version;

use std::time::Duration;

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::support::{Client, Reply, TestApp};

pub const SLOTS: &str = "/v1/working-memory/slots";
pub const CONFIG: &str = "/v1/working-memory/config";
pub const WORKSPACE: &str = "/v1/working-memory/workspace";
pub const OFFER: &str = "/v1/working-memory/workspace/offer";
pub const CONSOLIDATE: &str = "/v1/working-memory/slots/consolidate";

/// Settings with the defaults of the slot API, and some of them changed.
pub fn settings(changes: &Value) -> Value {
    let mut settings = json!({
        "max_slots": 7,
        "ttl_seconds": 3_600,
        "max_value_bytes": 65_536,
        "max_namespace_entries": 10_000,
        "max_slot_id_bytes": 128,
    });
    settings.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    settings
}

/// The activation of an item, if it is there.
pub async fn activation(client: &Client, id: &str) -> Option<f64> {
    let look = client.get(WORKSPACE).await.expect(200);
    let item = look["items"].as_array().unwrap().iter().find(|item| item["id"] == id)?.clone();
    item["activation"].as_f64()
}

impl TestApp {
    /// Lets time pass.
    pub fn pass(&self, seconds: f64) {
        let by = TimeDelta::from_std(Duration::from_secs_f64(seconds.abs())).unwrap();
        self.app.clock.shift(if seconds < 0.0 { -by } else { by });
    }

    /// A caller in another namespace of a tenant.
    pub async fn within(&self, key: &str, namespace: &str) -> Client {
        let request = json!({ "namespace": namespace, "control": true });
        self.anyone().capability(&self.exchange(key, request).await)
    }
}

impl Client {
    /// Replaces the settings.
    pub async fn configure(&self, changes: Value) -> Value {
        self.put(CONFIG, settings(&changes)).await.expect(200)
    }

    /// Replaces the engine's settings.
    pub async fn engine(&self, engine: Value) -> Value {
        self.configure(json!({ "engine": engine })).await
    }

    /// Sets a slot.
    pub async fn inject(&self, id: &str, value: Value) -> Reply {
        self.post("/v1/working-memory/slots/inject", json!({ "id": id, "value": value })).await
    }

    /// Offers items.
    pub async fn offer(&self, items: Value) -> Value {
        self.post(OFFER, json!({ "items": items })).await.expect(200)
    }

    /// Rehearses a slot.
    pub async fn rehearse(&self, id: &str) -> Reply {
        self.post("/v1/working-memory/slots/rehearse", json!({ "id": id })).await
    }

    /// Takes a slot out, and says whether it was there.
    pub async fn clear(&self, id: &str) -> bool {
        let reply = self.post("/v1/working-memory/slots/clear", json!({ "id": id })).await.expect(200);
        assert_eq!(reply["ok"], true);
        reply["removed"].as_bool().unwrap()
    }

    /// The ids of the slots.
    pub async fn ids(&self) -> Vec<String> {
        let body = self.get(SLOTS).await.expect(200);
        let slots = body["slots"].as_array().unwrap();
        assert_eq!(body["count"], slots.len());
        slots.iter().map(|slot| slot["id"].as_str().unwrap().to_owned()).collect()
    }

    /// What `stats` answers.
    pub async fn stats(&self) -> Value {
        self.get("/v1/working-memory/stats").await.expect(200)
    }
}
