//! How fast an item fades: one of four laws with its one parameter, and the tick it is counted in (XB-13, R-51).

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The law by which activation falls (B-025).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Law {
    /// By the same amount each second.
    #[serde(alias = "linear")]
    Linear,
    /// By the same part each second.
    #[default]
    #[serde(alias = "exponential")]
    Exponential,
    /// Fast at first, then ever more slowly.
    #[serde(alias = "power_law", alias = "power-law")]
    PowerLaw,
    /// By how often and how long ago the item was presented.
    #[serde(alias = "act_r", alias = "act-r", alias = "ACT-R")]
    ActR,
}

impl Law {
    /// The law as a number, for scripts and stored items.
    pub fn number(self) -> u8 {
        match self {
            Self::Linear => 0,
            Self::Exponential => 1,
            Self::PowerLaw => 2,
            Self::ActR => 3,
        }
    }

    /// The law that a stored number stands for.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Linear, Self::Exponential, Self::PowerLaw, Self::ActR].into_iter().nth(number.into())
    }

    /// What the parameter is called: `rate`, `exponent` or `d`.
    fn member(self) -> &'static str {
        match self {
            Self::Linear | Self::Exponential => "rate",
            Self::PowerLaw => "exponent",
            Self::ActR => "d",
        }
    }

    /// A default item falls from 1 to 0.1 after 9 s, 23 s, 99 s and 81 s.
    fn default_parameter(self) -> f64 {
        match self {
            Self::Linear | Self::Exponential => 0.1,
            Self::PowerLaw | Self::ActR => 0.5,
        }
    }

    /// The largest parameter; the smallest is above 0.
    fn max_parameter(self) -> f64 {
        match self {
            Self::Linear | Self::Exponential => 100.0,
            Self::PowerLaw | Self::ActR => 5.0,
        }
    }
}

/// A law, its parameter and its tick.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Decay {
    /// The law.
    pub law: Law,
    /// Its `rate` (per second), `exponent` or `d`.
    pub parameter: f64,
    /// Activation changes at whole multiples of this since the item was set, in milliseconds (B-027).
    pub tick_ms: u32,
}

/// The default tick, in milliseconds (B-027).
const TICK_MS: u32 = 100;

/// The longest tick, in milliseconds (XB-13).
const MAX_TICK_MS: u32 = 60_000;

impl Decay {
    /// A law with its default parameter and tick.
    pub fn of(law: Law) -> Self {
        Self { law, parameter: law.default_parameter(), tick_ms: TICK_MS }
    }

    /// Refuses a parameter or tick out of its range (XB-13, R-51).
    pub fn check(&self) -> Result<()> {
        let most = self.law.max_parameter();
        if !(self.parameter > 0.0 && self.parameter <= most) {
            return Err(Error::invalid(self.law.member(), format!("must be above 0 and at most {most}")));
        }
        if !(1..=MAX_TICK_MS).contains(&self.tick_ms) {
            let rule = format!("must be 1 to {MAX_TICK_MS}");
            return Err(Error::over_limit("tick_ms", rule, MAX_TICK_MS.into(), self.tick_ms.into()));
        }
        Ok(())
    }
}

/// Exponential, 0.1 a second, in ticks of 100 ms (B-026, B-027).
impl Default for Decay {
    fn default() -> Self {
        Self::of(Law::default())
    }
}

/// [`Decay`] as it is written in JSON.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Decay")]
struct Written {
    /// The law.
    #[serde(default)]
    function: Law,
    /// Linear and Exponential: how much, or which part, is lost each second; above 0, at most 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
    /// PowerLaw: above 0, at most 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exponent: Option<f64>,
    /// ActR: above 0, at most 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    d: Option<f64>,
    /// 1 to 60,000 ms.
    #[serde(default = "tick")]
    tick_ms: u32,
}

fn tick() -> u32 {
    TICK_MS
}

impl TryFrom<Written> for Decay {
    type Error = String;

    /// A member of another law is refused (R-51).
    fn try_from(written: Written) -> Result<Self, String> {
        let law = written.function;
        let members = [("rate", written.rate), ("exponent", written.exponent), ("d", written.d)];
        let mut parameter = law.default_parameter();
        for (member, value) in members {
            let Some(value) = value else { continue };
            if member != law.member() {
                return Err(format!("decay: {law:?} has no `{member}`"));
            }
            parameter = value;
        }
        Ok(Self { law, parameter, tick_ms: written.tick_ms })
    }
}

impl From<Decay> for Written {
    fn from(decay: Decay) -> Self {
        let parameter = |member| (decay.law.member() == member).then_some(decay.parameter);
        Self {
            function: decay.law,
            rate: parameter("rate"),
            exponent: parameter("exponent"),
            d: parameter("d"),
            tick_ms: decay.tick_ms,
        }
    }
}

impl JsonSchema for Decay {
    fn schema_name() -> Cow<'static, str> {
        Written::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Written::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(value: Value) -> Result<Decay, serde_json::Error> {
        serde_json::from_value(value)
    }

    #[test]
    fn each_law_has_its_members_and_every_member_its_default_r51_xb13() {
        let cases = [
            (json!({}), json!({ "function": "Exponential", "rate": 0.1, "tick_ms": 100 })),
            (json!({ "function": "Linear" }), json!({ "function": "Linear", "rate": 0.1, "tick_ms": 100 })),
            (
                json!({ "function": "PowerLaw" }),
                json!({ "function": "PowerLaw", "exponent": 0.5, "tick_ms": 100 }),
            ),
            (
                json!({ "function": "ActR", "d": 1.5, "tick_ms": 7 }),
                json!({ "function": "ActR", "d": 1.5, "tick_ms": 7 }),
            ),
        ];
        for (sent, kept) in cases {
            assert_eq!(serde_json::to_value(read(sent).expect("fits")).expect("writes"), kept);
        }
        for misfit in [
            json!({ "function": "Linear", "d": 0.5 }),
            json!({ "exponent": 0.5 }),
            json!({ "function": "PowerLaw", "rate": 0.1 }),
            json!({ "function": "Sudden" }),
            json!({ "tick_ms": 0.5 }),
            json!({ "half_life": 3 }),
        ] {
            assert!(read(misfit.clone()).is_err(), "{misfit}");
        }
    }

    #[test]
    fn other_spellings_are_read_and_one_is_written_xb01() {
        for (law, spellings) in [
            (Law::PowerLaw, ["PowerLaw", "power_law", "power-law"].as_slice()),
            (Law::ActR, &["ActR", "act_r", "act-r", "ACT-R"]),
            (Law::Linear, &["Linear", "linear"]),
            (Law::Exponential, &["Exponential", "exponential"]),
        ] {
            for spelling in spellings {
                assert_eq!(read(json!({ "function": spelling })).expect("fits").law, law);
            }
            assert_eq!(Law::from_number(law.number()), Some(law));
        }
        assert_eq!(serde_json::to_value(Law::ActR).expect("writes"), "ActR");
    }

    #[test]
    fn parameters_have_ranges_xb13_r51() {
        for (law, most) in
            [(Law::Linear, 100.0), (Law::Exponential, 100.0), (Law::PowerLaw, 5.0), (Law::ActR, 5.0)]
        {
            for (parameter, is_legal) in
                [(0.0, false), (-1.0, false), (1e-9, true), (most, true), (most + 0.01, false)]
            {
                assert_eq!(
                    Decay { parameter, ..Decay::of(law) }.check().is_ok(),
                    is_legal,
                    "{law:?} {parameter}"
                );
            }
            for (tick_ms, is_legal) in [(0, false), (1, true), (60_000, true), (60_001, false)] {
                assert_eq!(Decay { tick_ms, ..Decay::of(law) }.check().is_ok(), is_legal);
            }
        }
    }
}
