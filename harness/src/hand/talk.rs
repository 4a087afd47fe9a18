//! What commands ask of a cluster by hand, and what they are told: one question a call, and one answer.

use super::State;
use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// How it stands. Answered when it is up.
    State,
    /// Put a fault in.
    Fault {
        /// Its name.
        name: String,
        /// On whom, in the words of a scenario.
        targets: Vec<String>,
        /// What it is told, as typed.
        params: BTreeMap<String, String>,
    },
    /// Take faults out.
    Heal(Heal),
    /// Which faults are in.
    Faults,
    /// A way into a node.
    Enter {
        /// In the words of a scenario.
        node: String,
    },
    /// The end.
    Down,
}

/// Which faults are taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Heal {
    /// The one of that number.
    One(u64),
    /// All, the latest first.
    All,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Told {
    /// How it stands.
    State(State),
    /// A fault that is in.
    Fault(Hurt),
    /// Faults that were taken out, with what was measured then.
    Healed(Vec<Hurt>),
    /// Faults that are in.
    Faults(Vec<Hurt>),
    /// The way in is beside it.
    Entry {
        /// The node.
        node: i32,
        /// Its folder.
        home: PathBuf,
    },
    /// It ends now.
    Ends,
    /// It is not done.
    Failed(Error),
}

/// A fault, as commands show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hurt {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// On whom.
    pub nodes: Vec<i32>,
    /// Targets and parameters, as asked.
    pub asked: String,
    /// What was measured.
    pub measured: BTreeMap<String, f64>,
}

impl Hurt {
    /// As a person reads it: `1 cut-network on node 0 (leader): dropped_frames 12, seen_ms 3.4`.
    pub fn line(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(i32::to_string).collect();
        let word = if nodes.len() == 1 { "node" } else { "nodes" };
        let shown = |(name, value): (&String, &f64)| match value.fract() == 0.0 {
            true => format!("{name} {value}"),
            false => format!("{name} {value:.3}"),
        };
        let measured: Vec<String> = self.measured.iter().map(shown).collect();
        let measured = if measured.is_empty() {
            "nothing measured".into()
        } else {
            measured.join(", ")
        };
        format!(
            "{} {} on {word} {} ({}): {measured}",
            self.id,
            self.name,
            nodes.join(", "),
            self.asked
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_a_line() {
        let hurt = Hurt {
            id: 3,
            name: "delay".into(),
            nodes: vec![0, 2],
            asked: "leader, 2 {delay_ms = 50}".into(),
            measured: BTreeMap::from([("median_ms".into(), 50.1234), ("frames".into(), 7.0)]),
        };
        assert_eq!(
            hurt.line(),
            "3 delay on nodes 0, 2 (leader, 2 {delay_ms = 50}): frames 7, median_ms 50.123"
        );
    }
}
