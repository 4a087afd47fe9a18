//! A scenario: a TOML file that says which cluster, which load, which steps, and what must have happened.

mod act;
mod check;
mod lines;

pub use act::{Act, Said, Targets, asked};

use crate::error::{Error, nearest};
use history::{Promise, Requirement};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The built-in scenarios, by name. The first is the default.
pub const BUILT_IN: [(&str, &str); 4] = [
    (
        "last-replica-standing",
        include_str!("../../../scenarios/last-replica-standing.toml"),
    ),
    (
        "last-replica-crash",
        include_str!("../../../scenarios/last-replica-crash.toml"),
    ),
    (
        "follower-power-cut",
        include_str!("../../../scenarios/follower-power-cut.toml"),
    ),
    ("calm", include_str!("../../../scenarios/calm.toml")),
];

/// A scenario as its file has it. Ranges `[low, high]` are drawn by the seed, both ends included.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name: letters, digits, dashes.
    pub name: String,
    /// One sentence about it.
    pub summary: String,
    /// What it promises about acknowledged records.
    pub promises: Vec<Promise>,
    /// The limit of the whole run.
    #[serde(deserialize_with = "duration")]
    pub limit: Duration,
    /// The steady part, for a scenario without steps.
    #[serde(default, deserialize_with = "some_duration")]
    pub time: Option<Duration>,
    /// Server properties for every node.
    #[serde(default)]
    pub server: BTreeMap<String, toml::Value>,
    /// The topic under load.
    pub topic: Topic,
    /// The load.
    pub workload: Workload,
    /// What must have happened, or the run says nothing.
    #[serde(default)]
    pub requirements: Vec<Requirement>,
    /// What is done, in order.
    #[serde(default)]
    pub steps: Vec<Step>,
}

/// The topic under load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// How many partitions.
    pub partitions: i32,
    /// Replicas of each.
    pub replication_factor: i16,
    /// `min.insync.replicas`.
    pub min_insync_replicas: i32,
}

/// The load.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The workload's name.
    pub name: WorkloadName,
    /// How many producers.
    pub producers: Range,
    /// Sizes of a record's value, in bytes.
    pub record_bytes: Range,
    /// How many readers.
    pub readers: u32,
    /// A producer's time-out.
    pub producer_timeout_ms: u64,
}

/// The workloads that a scenario can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadName {
    /// Unique values appended with acks=all.
    Append,
}

/// A range, `[low, high]`, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Range {
    /// The least value.
    pub low: u64,
    /// The greatest value.
    pub high: u64,
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let [low, high] = <[u64; 2]>::deserialize(deserializer)?;
        if low > high {
            return Err(D::Error::custom(format!(
                "a range [low, high] has low ≤ high, not [{low}, {high}]"
            )));
        }
        Ok(Range { low, high })
    }
}

/// One step: wait, act, wait for the state that the act should bring.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its name, unique in the scenario.
    pub name: String,
    /// What it does, for people.
    pub text: String,
    /// Waited for before it acts.
    #[serde(default)]
    pub after: Condition,
    /// What it does.
    #[serde(default)]
    pub act: Vec<Act>,
    /// Waited for after it acted.
    #[serde(default)]
    pub until: Condition,
    /// Waited for as well where eligible leader replicas are on.
    #[serde(default)]
    pub until_with_elr: Condition,
    /// The limit of the whole step.
    #[serde(deserialize_with = "duration")]
    pub limit: Duration,
}

/// A state to wait for: all that is named must hold at once. Nodes go by the names that acts gave; `others`
/// are the replicas of the partition under load that no act named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// So many more acknowledgements since the step before was reached (in `after`), or since this one acted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acks: Option<Count>,
    /// The ISR of the partition under load is this set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isr: Option<Vec<String>>,
    /// The ISR has so many members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isr_size: Option<usize>,
    /// The leader is one of these; empty: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<Vec<String>>,
    /// These brokers are fenced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fenced: Vec<String>,
    /// These brokers are not fenced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfenced: Vec<String>,
}

impl Condition {
    fn names(&self) -> impl Iterator<Item = &str> {
        let sets = [
            self.isr.as_deref(),
            self.leader.as_deref(),
            Some(&self.fenced[..]),
            Some(&self.unfenced[..]),
        ];
        sets.into_iter().flatten().flatten().map(String::as_str)
    }
}

/// A count: a number, or a range that the seed draws from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Count {
    /// Exactly this.
    Exactly(u64),
    /// Drawn.
    Drawn(Range),
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text).map_err(|e| D::Error::custom(format!("{text:?} is no duration: {e}")))
}

fn some_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

impl Scenario {
    /// A built-in scenario by its name, or one from a TOML file (a name that ends in `.toml` or has a slash).
    ///
    /// # Errors
    /// Usage, where there is none, or it is broken.
    pub fn find(name: &str) -> Result<Scenario, Error> {
        if name.ends_with(".toml") || name.contains('/') {
            let text = std::fs::read_to_string(Path::new(name)).map_err(|e| {
                Error::usage(
                    format!("reading the scenario {name}"),
                    e,
                    "name a TOML file that can be read",
                )
            })?;
            return Scenario::parse(name, &text);
        }
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => Scenario::parse(name, text),
            None => {
                let near = nearest(name, BUILT_IN.iter().map(|(known, _)| *known)).join(", ");
                Err(Error::usage(
                    format!("finding the scenario {name:?}"),
                    format!("there is none of that name; the nearest are {near}"),
                    "ackall scenarios   lists them; a file's name ends in .toml",
                ))
            }
        }
    }

    fn parse(name: &str, text: &str) -> Result<Scenario, Error> {
        let broken = |why: String| {
            Error::usage(
                format!("reading the scenario {name}"),
                why,
                "mend that line; `ackall scenarios last-replica-standing` prints a whole one",
            )
        };
        let scenario: Scenario = toml::from_str(text).map_err(|e| {
            let line = e.span().and_then(|span| lines::line_at(text, span.start));
            broken(with_line(line, e.message()))
        })?;
        scenario.validate().map_err(broken)?;
        check::check(&scenario)
            .map_err(|mistake| broken(with_line(lines::line(text, mistake.at), &mistake.why)))?;
        Ok(scenario)
    }

    /// The targets of all acts.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        let acts = self.steps.iter().flat_map(|step| &step.act);
        acts.flat_map(|act| act.target.all()).map(String::as_str)
    }

    /// What the topic and its load may be: a run is for one laptop.
    fn validate_load(&self) -> Result<(), String> {
        const PARTITIONS: i32 = 1_000;
        const CLIENTS: u64 = 1_000;
        const RECORD_BYTES: std::ops::RangeInclusive<u64> = 20..=1_000_000;
        let Topic {
            name,
            partitions,
            replication_factor,
            min_insync_replicas,
        } = &self.topic;
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || name.len() > 249 || !name.chars().all(legal) {
            return Err(format!(
                "topic: {name:?} is no topic's name: letters, digits, '.', '_', '-'"
            ));
        }
        if !(1..=PARTITIONS).contains(partitions) || !(1..=3).contains(replication_factor) {
            return Err(format!(
                "topic: partitions is 1 to {PARTITIONS}, replication_factor 1 to 3 (there are 3 brokers)"
            ));
        }
        if !(1..=i32::from(*replication_factor)).contains(min_insync_replicas) {
            return Err("topic: min_insync_replicas is 1 to the replication_factor".into());
        }
        let Workload {
            producers,
            record_bytes,
            readers,
            producer_timeout_ms,
            ..
        } = &self.workload;
        if producers.low < 1 || producers.high > CLIENTS || u64::from(*readers) > CLIENTS {
            return Err(format!(
                "workload: producers are 1 to {CLIENTS}, readers at most {CLIENTS}"
            ));
        }
        if !RECORD_BYTES.contains(&record_bytes.low) || !RECORD_BYTES.contains(&record_bytes.high) {
            return Err(format!("workload: record_bytes are {RECORD_BYTES:?}"));
        }
        if *producer_timeout_ms == 0 {
            return Err("workload: producer_timeout_ms is at least 1".into());
        }
        if self.promises.is_empty() {
            return Err("promises: a scenario promises something, or its pass says nothing".into());
        }
        Ok(())
    }

    fn validate(&self) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return Err(format!("name {:?}: letters, digits and dashes only", self.name));
        }
        if self.steps.is_empty() && self.time.is_none() {
            return Err("a scenario has steps, or a time".into());
        }
        if self.limit.is_zero() {
            return Err("limit: 0 is never enough".into());
        }
        self.validate_load()
    }
}

fn with_line(line: Option<usize>, why: &str) -> String {
    match line {
        Some(n) => format!("line {n}: {why}"),
        None => why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_scenario_is_whole() {
        for (name, text) in BUILT_IN {
            let scenario = Scenario::parse(name, text).unwrap();
            assert_eq!(scenario.name, name);
        }
    }

    #[test]
    fn a_broken_file_gets_its_line_and_a_remedy() {
        let text = BUILT_IN[0].1.replace("partitions = 1", "partitions = \"one\"");
        let error = Scenario::parse("x.toml", &text).unwrap_err();
        assert!(error.why.starts_with("line "), "{error}");
        assert_eq!(error.to_string().lines().count(), 3);
    }

    #[test]
    fn unknown_fields_targets_and_twin_steps_are_refused() {
        for (from, to, says) in [
            ("limit = \"60s\"", "limit = \"60s\"\nlimits = 3", "unknown field"),
            ("target = \"last\"", "target = \"lost\"", "nobody is named"),
            ("name = \"T1\"", "name = \"T0\"", "two steps"),
            ("producers = [2, 5]", "producers = [5, 2]", "low ≤ high"),
            ("limit = \"60s\"", "limit = \"soon\"", "no duration"),
            ("partitions = 1", "partitions = 2000000000", "partitions is 1 to"),
            ("readers = 1", "readers = 4000000000", "readers at most"),
            ("promises = [\"kip-966\"]", "promises = []", "promises something"),
            ("name = \"night\"", "name = \"bad topic\"", "no topic's name"),
            (
                "min_insync_replicas = 2",
                "min_insync_replicas = 4",
                "min_insync_replicas is",
            ),
            ("producers = [2, 5]", "producers = [0, 0]", "producers are"),
            (
                "record_bytes = [64, 1024]",
                "record_bytes = [64, 99999999999]",
                "record_bytes are",
            ),
        ] {
            let text = BUILT_IN[0].1.replacen(from, to, 1);
            assert_ne!(text, BUILT_IN[0].1, "{from}");
            let error = Scenario::parse("x.toml", &text).unwrap_err();
            assert!(error.why.contains(says), "{says}: {error}");
        }
    }

    #[test]
    fn an_unknown_name_gets_the_nearest() {
        let error = Scenario::find("last-replica-standin").unwrap_err();
        assert!(error.why.contains("last-replica-standing"), "{error}");
    }
}
