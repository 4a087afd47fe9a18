//! What [`crate::judge()`] answers.

use crate::{Operations, Outcome, Reason};
use serde::Serialize;

/// The judgement on a history that something else recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// Pass, fail or unknown.
    pub verdict: Outcome,
    /// Why: one for each thing that decided, most of all where it is unknown.
    pub reasons: Vec<Reason>,
    /// What was found, the worst first, one entry a name. What is tolerated is among them, and says so.
    pub anomalies: Vec<Finding>,
    /// The weakest consistency models that what was found rules out, by their names; empty for models that are not
    /// transactional.
    pub models_ruled_out: Vec<String>,
    /// Client operations by outcome.
    pub operations: Operations,
    /// All client operations.
    pub operations_total: u64,
}

/// An anomaly with examples of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Its name.
    pub name: String,
    /// How many instances there are, exactly (of cycles: how many components have one).
    pub count: u64,
    /// Why it decides nothing, where that is so: Kafka allows it, or the level asked for does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerated: Option<String>,
    /// The anomaly that these instances follow from, where that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// Some of them; at most [`Finding::EXAMPLES`].
    pub examples: Vec<Example>,
}

impl Finding {
    /// How many examples a finding has at most.
    pub const EXAMPLES: usize = 10;

    /// A finding that nothing excuses.
    pub fn new(name: impl Into<String>, count: u64, examples: Vec<Example>) -> Finding {
        Finding {
            name: name.into(),
            count,
            tolerated: None,
            follows: None,
            examples,
        }
    }
}

/// One instance of an anomaly, explained.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Example {
    /// Indexes of the history's entries that prove it, ascending.
    pub operations: Vec<u64>,
    /// What happened, in words: several lines where it takes several.
    pub text: String,
    /// A picture of it: one SVG element, which needs nothing from outside. It decides nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
}
