//! The workspace of a few lines: what Redis and the engine are to agree with.

use std::collections::BTreeMap;

use serde_json::Value;

pub const TICK_S: f64 = 10.0;

/// Not a whole number of ticks, so that nothing depends on a few milliseconds.
pub const TTL_S: u32 = 95;

#[derive(Debug, Clone)]
pub struct Settings {
    pub law: &'static str,
    pub parameter: f64,
    pub boost: f64,
    pub evict_below: f64,
    pub gate: Value,
    pub metric: &'static str,
    pub capacity: u32,
    pub max_slots: u32,
    pub protects: bool,
}

#[derive(Debug, Clone)]
pub struct Item {
    pub injected: bool,
    pub law: &'static str,
    pub parameter: f64,
    pub level: f64,
    pub since: f64,
    pub presentations: Vec<f64>,
    pub expires: f64,
    /// When it leaves, by the law and the settings at the time it was last set or rehearsed.
    pub ends: f64,
    /// The number of the operation that accessed it last.
    pub accessed: usize,
    pub cost: f64,
    pub chunk: Option<String>,
}

impl Item {
    pub fn new(settings: &Settings, injected: bool, level: f64, now: f64, turn: usize) -> Self {
        let mut item = Self {
            injected,
            law: settings.law,
            parameter: settings.parameter,
            level,
            since: now,
            presentations: vec![now],
            expires: now + f64::from(TTL_S),
            ends: 0.0,
            accessed: turn,
            cost: 1.0,
            chunk: None,
        };
        item.date(settings);
        item
    }

    pub fn activation(&self, now: f64) -> f64 {
        let t = ((now - self.since) / TICK_S).floor() * TICK_S;
        match self.law {
            "Linear" => (self.level - self.parameter * t).max(0.0),
            "Exponential" => self.level * (-self.parameter * t).exp(),
            "PowerLaw" => self.level * (1.0 + t).powf(-self.parameter),
            _ => {
                let odds: f64 =
                    self.presentations.iter().map(|at| (now - at).max(TICK_S).powf(-self.parameter)).sum();
                odds / (1.0 + odds)
            }
        }
    }

    pub fn date(&mut self, settings: &Settings) {
        let is_kept = self.injected && settings.protects;
        let ticks = (0..=10).map(|tick| self.since + f64::from(tick) * TICK_S);
        let fades = ticks
            .filter(|&at| at < self.expires)
            .find(|&at| self.activation(at) < settings.evict_below - 1e-9);
        self.ends = fades.filter(|_| !is_kept).unwrap_or(self.expires);
    }
}

#[derive(Debug, Default)]
pub struct Model {
    pub now: f64,
    pub turn: usize,
    pub items: BTreeMap<String, Item>,
    pub focus: Option<String>,
    pub version: u64,
}

impl Model {
    /// What every operation begins with.
    pub fn prune(&mut self) {
        let now = self.now;
        let before = self.items.len();
        self.items.retain(|_, item| now < item.ends);
        self.let_go();
        self.version += u64::from(self.items.len() < before);
    }

    pub fn let_go(&mut self) {
        let items = &self.items;
        self.focus = self.focus.take().filter(|id| items.contains_key(id));
    }

    pub fn fits(&self, settings: &Settings) -> bool {
        let capacity = settings.capacity.min(settings.max_slots);
        let cost: f64 = self.items.values().map(|item| item.cost).sum();
        let mut chunks: Vec<&String> = self.items.values().filter_map(|item| item.chunk.as_ref()).collect();
        chunks.sort_unstable();
        chunks.dedup();
        let lone = self.items.values().filter(|item| item.chunk.is_none()).count();
        let (slots_fit, costs_fit) =
            (self.items.len() <= capacity as usize, cost <= f64::from(capacity) + 1e-9);
        match settings.metric {
            "Slots" => slots_fit,
            "Resource" => costs_fit,
            "Chunks" => chunks.len() + lone <= capacity as usize,
            _ => slots_fit && costs_fit,
        }
    }

    /// Takes an item in, or changes nothing. Gives who had to leave.
    pub fn admit(&mut self, id: &str, item: Item, settings: &Settings) -> Option<Vec<String>> {
        let before = self.items.clone();
        self.items.insert(id.to_owned(), item);
        let mut evicted = Vec::new();
        while !self.fits(settings) {
            let now = self.now;
            let may_leave = self.items.iter().filter(|(other, item)| {
                other.as_str() != id
                    && Some(*other) != self.focus.as_ref()
                    && !(item.injected && settings.protects)
            });
            let first = may_leave.min_by(|(a, x), (b, y)| {
                let (p, q) = (x.activation(now), y.activation(now));
                let by_activation =
                    if (p - q).abs() > 1e-9 { p.total_cmp(&q) } else { std::cmp::Ordering::Equal };
                by_activation.then(x.accessed.cmp(&y.accessed)).then(a.cmp(b))
            });
            let Some((first, _)) = first else {
                self.items = before;
                return None;
            };
            let first = first.clone();
            self.items.remove(&first);
            evicted.push(first);
        }
        Some(evicted)
    }
}
