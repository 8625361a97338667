//! The slot API: list, count, inject and clear (seed operations A-002, A-005 to A-007).

use chrono::{DateTime, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::activation::Trace;
use super::settings::WorkingMemoryConfig;
use super::{check_slot_id, event, item, open, store};
use crate::app::App;
use crate::auth::{Action, Caller};
use crate::error::{Error, Fault, Result};

/// A slot to be set (A-601).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Inject {
    /// The slot's id.
    pub id: String,
    /// Its value: any JSON; null is a value, too.
    pub value: Value,
}

/// It was set.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Injected {
    /// Always true.
    pub ok: bool,
    /// The id as sent.
    pub id: String,
}

/// A slot to be taken out (A-501).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Clear {
    /// The slot's id.
    pub id: String,
}

/// Whether there was such a slot.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Cleared {
    /// Always true.
    pub ok: bool,
    /// False when it was not there, or its time was over already.
    pub removed: bool,
}

/// The slots of a namespace (A-105).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Slots {
    /// The slots in the byte order of their ids.
    pub slots: Vec<Slot>,
    /// How many they are.
    pub count: usize,
}

/// A slot (A-106).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Slot {
    /// Its id.
    pub id: String,
    /// Its value.
    #[schemars(with = "Value")]
    pub value: Box<RawValue>,
}

/// How full a namespace is (A-410).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Live slots.
    pub slot_count: u64,
    /// How many there may be.
    pub capacity: u32,
    /// The one as a part of the other, rounded to a whole number of percent; above 100 after the capacity was lowered.
    pub utilization_pct: f64,
}

/// Sets a slot, new or not, and dates its end.
///
/// Refused in this order: the id (400), the size (413), too many namespaces (409), too many slots (409).
pub async fn inject(app: &App, caller: &Caller, new: Inject) -> Result<Injected> {
    let store = open(app, caller, Action::Write).await?;
    let config = &store.config;
    check_slot_id(&new.id, config.max_slot_id_bytes)?;
    let value = check_value(&new.value, config)?;
    let now = app.clock.now();
    let ends = expiry(now, config.ttl_seconds)?;
    let life_ms = (ends - now).num_milliseconds();
    let engine = &config.engine;
    let trace = Trace::new(1.0, 0);
    let level = trace.activation(&engine.decay, 0);
    let fade = trace.fades_after(&engine.decay, engine.evict_below, 0, life_ms);
    let fade = fade.filter(|_| !engine.protect_injected).unwrap_or(-1);
    let event = event::admitted(&new.id, true, &engine.decay, None)?;
    let arguments = vec![
        new.id.clone(),
        value,
        config.max_slots.to_string(),
        life_ms.to_string(),
        fade.to_string(),
        level.to_string(),
        engine.decay.law.number().to_string(),
        engine.decay.parameter.to_string(),
        engine.decay.tick_ms.to_string(),
        event,
    ];
    match store.step(&store::INJECT, arguments).await?.outcome.as_str() {
        "full" => Err(Error::Capacity("working memory namespace slot capacity exceeded")),
        _ => Ok(Injected { ok: true, id: new.id }),
    }
}

/// The value as compact JSON, which is what is measured and kept (A-605, A-607).
pub(super) fn check_value(value: &Value, config: &WorkingMemoryConfig) -> Result<String> {
    let text = serde_json::to_string(value).map_err(|error| Error::invalid("value", error.to_string()))?;
    let (limit, size) = (config.max_value_bytes, text.len());
    if size > limit {
        let rule = format!("working memory value exceeds {limit} bytes").into();
        return Err(Error::TooLarge(Fault {
            field: "".into(),
            rule,
            limit: Some((limit as u64, size as u64)),
        }));
    }
    Ok(text)
}

/// When a slot that is set now ends (A-612).
fn expiry(now: DateTime<Utc>, ttl_seconds: u64) -> Result<DateTime<Utc>> {
    let life = i64::try_from(ttl_seconds).ok().and_then(TimeDelta::try_seconds);
    life.and_then(|life| now.checked_add_signed(life)).ok_or(Error::ExpiryOverflow)
}

/// Takes a slot out, if it is there.
pub async fn clear(app: &App, caller: &Caller, clear: &Clear) -> Result<Cleared> {
    let store = open(app, caller, Action::Delete).await?;
    check_slot_id(&clear.id, store.config.max_slot_id_bytes)?;
    let arguments = vec![clear.id.clone(), String::new()];
    let reply = store.step(&store::CLEAR, arguments).await?;
    Ok(Cleared { ok: true, removed: reply.outcome == "ok" })
}

/// The slots of the caller's namespace whose time is not over. Nothing is refreshed by being listed (A-108).
pub async fn list(app: &App, caller: &Caller) -> Result<Slots> {
    let store = open(app, caller, Action::Read).await?;
    let mut reply = store.step(&store::LOOK, Vec::new()).await?;
    let values = item::values(reply.get(3)?)?;
    let slots: Vec<Slot> = values.into_iter().map(|(id, value)| Slot { id, value }).collect();
    Ok(Slots { count: slots.len(), slots })
}

/// How full the caller's namespace is.
pub async fn stats(app: &App, caller: &Caller) -> Result<Stats> {
    let store = open(app, caller, Action::Read).await?;
    let mut reply = store.step(&store::COUNT, Vec::new()).await?;
    Ok(Stats::new(reply.get(0)?, store.config.max_slots))
}

impl Stats {
    /// A-407 to A-409: rounded half away from zero, and 0 of nothing.
    #[expect(clippy::cast_precision_loss, reason = "counts of slots are small")]
    fn new(slot_count: u64, capacity: u32) -> Self {
        let part = slot_count as f64 / f64::from(capacity);
        let utilization_pct = if capacity > 0 { (part * 100.0).round() } else { 0.0 };
        Self { slot_count, capacity, utilization_pct }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_is_rounded_half_away_from_zero_a407_a408_a409() {
        let percent = |count, capacity| Stats::new(count, capacity).utilization_pct;
        for (count, capacity, expected) in
            [(0, 7, 0.0), (1, 7, 14.0), (5, 8, 63.0), (9, 7, 129.0), (6, 3, 200.0), (3, 0, 0.0), (1, 8, 13.0)]
        {
            assert!((percent(count, capacity) - expected).abs() < 1e-9, "{count} of {capacity}");
        }
        let text = serde_json::to_string(&Stats::new(1, 7)).expect("writes");
        assert_eq!(text, r#"{"slotCount":1,"capacity":7,"utilizationPct":14.0}"#, "V-01");
    }

    #[test]
    fn sizes_are_those_of_compact_json_a605_a607() {
        for (sent, size) in [(r#"{ "a" : 1 }"#, 7), (r#""\u00e9""#, 4), ("1e2", 5), (r#"{"a":1,"a":2}"#, 7)] {
            let value: Value = serde_json::from_str(sent).expect("is JSON");
            let config =
                |max_value_bytes| WorkingMemoryConfig { max_value_bytes, ..WorkingMemoryConfig::default() };
            assert!(check_value(&value, &config(size)).is_ok(), "{sent}");
            let error = check_value(&value, &config(size - 1)).expect_err("one byte too much");
            assert_eq!(error.to_string(), format!("working memory value exceeds {} bytes", size - 1));
            assert_eq!(error.code(), "payload_too_large");
        }
    }

    #[test]
    fn a_slot_that_would_outlive_time_is_a_fault_with_its_own_words_a612() {
        let now = DateTime::<Utc>::MAX_UTC - TimeDelta::seconds(5);
        assert!(expiry(now, 5).is_ok());
        for ttl in [6, u64::MAX, i64::MAX.unsigned_abs()] {
            let error = expiry(now, ttl).expect_err("overflows");
            assert_eq!(
                (error.code(), error.to_string().as_str()),
                ("internal", "working memory expiry overflow")
            );
        }
    }
}
