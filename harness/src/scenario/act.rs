//! An act of a step: a fault put in or healed, on whom, and what the fault is told.

use crate::error::nearest;
use nemesis::{About, Kind, Params, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One act of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// The fault to inject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The fault to heal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heal: Option<String>,
    /// Its target or targets, in the grammar of [`crate::target`].
    pub target: Targets,
    /// What the fault is told; what is not said is the fault's default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Said>,
    /// A name for the nodes that the target was resolved to.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub named: Option<String>,
}

/// One target, or several: what any of them means is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Targets {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Targets {
    /// All of them.
    pub fn all(&self) -> &[String] {
        match self {
            Targets::One(one) => std::slice::from_ref(one),
            Targets::Several(all) => all,
        }
    }

    /// As a person reads them.
    pub fn text(&self) -> String {
        self.all().join(", ")
    }
}

/// What a parameter is said to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Said {
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// A word or a text.
    Text(String),
    /// A number that the seed draws, both ends included; whole where both ends are.
    Drawn([f64; 2]),
}

impl Said {
    /// The value, where nothing is left to draw.
    fn value(&self) -> Option<Value> {
        match self {
            Said::Whole(number) => Some(Value::Number(*number as f64)),
            Said::Number(number) => Some(Value::Number(*number)),
            Said::Text(text) => Some(Value::Text(text.clone())),
            Said::Drawn(_) => None,
        }
    }
}

impl From<&Value> for Said {
    fn from(value: &Value) -> Said {
        /// Below this a number of 64 bits is exact, and written whole.
        const EXACT: f64 = 9e15;
        match value {
            Value::Number(number) if number.fract() == 0.0 && number.abs() < EXACT => {
                Said::Whole(*number as i64)
            }
            Value::Number(number) => Said::Number(*number),
            Value::Text(text) => Said::Text(text.clone()),
        }
    }
}

impl Act {
    /// The fault that it puts in or heals.
    pub fn name(&self) -> &str {
        self.fault
            .as_ref()
            .or(self.heal.as_ref())
            .map_or("", String::as_str)
    }

    /// What its fault is told, complete.
    ///
    /// # Errors
    /// The parameter that will not do, why, and what would; of a range, that may be either end.
    pub fn params(&self, about: &'static About) -> Result<Params, String> {
        let names = || about.params.iter().map(|param| param.name);
        if let Some(unknown) = self
            .params
            .keys()
            .find(|name| !names().any(|known| known == *name))
        {
            let near = nearest(unknown, names()).join(", ");
            return Err(if near.is_empty() {
                format!("params.{unknown}: {} has no parameters", about.name)
            } else {
                format!(
                    "params.{unknown}: {} has no such parameter; the nearest are {near}",
                    about.name
                )
            });
        }
        let mut params = self.at_end(about, 0)?;
        for (name, said) in &self.params {
            let Said::Drawn([low, high]) = said else { continue };
            let is_number =
                |param: &nemesis::Param| param.name == name && matches!(param.kind, Kind::Number { .. });
            if !about.params.iter().any(is_number) {
                return Err(format!("params.{name}: only a number can be drawn from a range"));
            }
            if low > high || !low.is_finite() || !high.is_finite() {
                return Err(format!(
                    "params.{name}: a range [low, high] has low ≤ high, not [{low}, {high}]"
                ));
            }
            params = self.at_end(about, 1)?;
        }
        Ok(params)
    }

    /// The parameters, every range at one of its ends.
    fn at_end(&self, about: &'static About, end: usize) -> Result<Params, String> {
        let value = |said: &Said| match said {
            Said::Drawn(ends) => Value::Number(ends[end]),
            other => other.value().unwrap_or(Value::Text(String::new())),
        };
        let said = self.params.iter().map(|(name, said)| (name.clone(), value(said)));
        Params::check(about.params, &said.collect()).map_err(|why| format!("params.{why}"))
    }

    /// The act with its ranges drawn and its defaults filled in. `draw` gives a number below its argument; each drawn
    /// or defaulted parameter is told to `from`.
    pub fn made_concrete(
        &self,
        about: &'static About,
        draw: &mut dyn FnMut(u64) -> u64,
        from: &mut dyn FnMut(&str, String),
    ) -> Act {
        /// Steps of a range that is not of whole numbers.
        const STEPS: u64 = 1 << 20;
        let mut act = self.clone();
        for (name, said) in &mut act.params {
            let Said::Drawn([low, high]) = *said else { continue };
            let width = high - low;
            let whole = low.fract() == 0.0 && high.fract() == 0.0 && width < STEPS as f64;
            let drawn = if whole {
                low + draw(width as u64 + 1) as f64
            } else {
                low + width * draw(STEPS + 1) as f64 / STEPS as f64
            };
            *said = Said::from(&Value::Number(drawn.clamp(low, high)));
            from(name, format!("seed, from [{low}, {high}]"));
        }
        // Checked when the scenario was read, at both ends of each range.
        if let Ok(params) = act.params(about) {
            for (name, value) in params.iter() {
                act.params.entry(name.to_string()).or_insert_with(|| {
                    from(name, "default".into());
                    Said::from(value)
                });
            }
        }
        act
    }
}

/// Targets and parameters as the history has them: `leader {delay_ms = 50}`.
pub fn asked(targets: &Targets, params: &Params) -> String {
    let said: Vec<String> = params
        .iter()
        .map(|(name, value)| format!("{name} = {}", shown(value)))
        .collect();
    if said.is_empty() {
        targets.text()
    } else {
        format!("{} {{{}}}", targets.text(), said.join(", "))
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::Text(text) => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nemesis::{Default, Param, Program};

    static ABOUT: About = About {
        name: "slow-down",
        text: "",
        needs: clusters::Capability::Process,
        params: &[
            Param {
                name: "delay_ms",
                text: "",
                kind: Kind::Number {
                    least: 1.0,
                    most: 100.0,
                    default: Default::Needed,
                },
            },
            Param {
                name: "way",
                text: "",
                kind: Kind::Word(&["both", "in"]),
            },
        ],
        heals: "",
        measures: &[],
        program: Program::GoesOn,
    };

    fn act(params: &str) -> Act {
        toml::from_str(&format!(
            "fault = \"slow-down\"\ntarget = [\"leader\", \"1\"]\n{params}"
        ))
        .unwrap()
    }

    #[test]
    fn parameters_are_completed_and_shown() {
        let act = act("params = { delay_ms = 50 }");
        let params = act.params(&ABOUT).unwrap();
        assert_eq!(
            asked(&act.target, &params),
            "leader, 1 {delay_ms = 50, way = \"both\"}"
        );
    }

    #[test]
    fn what_will_not_do_is_told_with_what_would() {
        for (params, says) in [
            ("", "delay_ms: it must be said"),
            ("params = { delay = 5 }", "nearest are delay_ms"),
            ("params = { delay_ms = 500 }", "1 to 100"),
            ("params = { delay_ms = [5, 500] }", "1 to 100"),
            ("params = { delay_ms = [0, 5] }", "1 to 100"),
            ("params = { delay_ms = [9, 5] }", "low ≤ high"),
            ("params = { delay_ms = \"long\" }", "a number"),
            ("params = { delay_ms = 5, way = \"out\" }", "both, in"),
            ("params = { delay_ms = 5, way = [1, 2] }", "both, in"),
        ] {
            let error = act(params).params(&ABOUT).unwrap_err();
            assert!(
                error.starts_with("params.") && error.contains(says),
                "{params}: {error}"
            );
        }
    }

    #[test]
    fn ranges_are_drawn_between_their_ends_and_written_whole() {
        let act = act("params = { delay_ms = [5, 7] }");
        let mut seen = std::collections::BTreeSet::new();
        for n in 0..3 {
            let mut from = BTreeMap::new();
            let drawn = act.made_concrete(&ABOUT, &mut |below| n % below, &mut |name, text| {
                from.insert(name.to_string(), text);
            });
            assert_eq!(from["delay_ms"], "seed, from [5, 7]");
            assert_eq!(from["way"], "default");
            let Said::Whole(ms) = drawn.params["delay_ms"] else {
                panic!("{drawn:?}")
            };
            seen.insert(ms);
            let text = toml::to_string(&drawn).unwrap();
            assert_eq!(toml::from_str::<Act>(&text).unwrap(), drawn);
        }
        assert_eq!(seen, [5, 6, 7].into());
    }

    #[test]
    fn ranges_of_fractions_stay_in_bounds() {
        let act = act("params = { delay_ms = [1.5, 2.5] }");
        for n in [0, 1 << 19, 1 << 20] {
            let drawn = act.made_concrete(&ABOUT, &mut |below| n.min(below - 1), &mut |_, _| ());
            let params = drawn.params(&ABOUT).unwrap();
            assert!((1.5..=2.5).contains(&params.number("delay_ms")));
        }
    }
}
