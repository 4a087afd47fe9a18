//! What [`crate::check`] answers.

use serde::{Deserialize, Serialize};

/// The judgement on a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Pass, fail or unknown.
    pub verdict: Outcome,
    /// Why: one for each thing that decided, most of all where it is unknown.
    pub reasons: Vec<Reason>,
    /// What was found, one entry a (name, inside_promise). Losses come first, what follows from them after.
    pub anomalies: Vec<Anomaly>,
    /// What was promised, and what spent it.
    pub promise: PromiseReport,
    /// Client operations by outcome.
    pub operations: Operations,
    /// All client operations: the sum of [`Verdict::operations`].
    pub operations_total: u64,
}

/// The three verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Nothing was found inside the promise, and the history shows enough to say so.
    Pass,
    /// An anomaly inside the promise was found.
    Fail,
    /// Nothing was found inside the promise, but the history does not show enough to pass.
    Unknown,
}

impl Outcome {
    /// As `result.json` has it.
    pub fn text(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Fail => "fail",
            Outcome::Unknown => "unknown",
        }
    }
}

/// A reason for a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// A stable code in kebab case: one of [`crate::codes`], or the name of an anomaly.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

impl Reason {
    /// A reason.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Reason {
        Reason {
            code: code.into(),
            message: message.into(),
        }
    }
}

/// An anomaly, with all of its instances on one side of the promise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomaly {
    /// Its name.
    pub name: String,
    /// Whether a promise that the scenario names covers these instances.
    pub inside_promise: bool,
    /// How many instances there are, exactly.
    pub count: u64,
    /// The anomaly that each of these instances follows from, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// All of them.
    pub instances: Vec<Instance>,
}

/// One instance of an anomaly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// Indexes of the history's entries that prove it, ascending.
    pub operations: Vec<u64>,
    /// The topic.
    pub topic: Option<String>,
    /// The partition.
    pub partition: Option<i32>,
    /// The offset.
    pub offset: Option<i64>,
    /// The leader epoch: of a lost record where it was read once, of the later one where there are two.
    pub epoch: Option<i32>,
    /// When the record was acknowledged, in nanoseconds on the run's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acked_at: Option<u64>,
    /// When it was first seen to be gone, in nanoseconds on the run's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_at: Option<u64>,
    /// A sentence for people.
    pub text: String,
}

/// What was promised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseReport {
    /// Its name; several are joined with commas.
    pub name: String,
    /// What it says, in a sentence each.
    pub text: String,
    /// Which acks it is about.
    pub acks: String,
    /// `min.insync.replicas` of the topics; the least of several.
    pub min_isr: i32,
    /// What spent it: each unclean stop that stood when a bad interval opened.
    pub spent_by: Vec<String>,
    /// The ledger of each partition.
    pub partitions: Vec<PartitionPromise>,
}

/// The promise `kip-966` of one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionPromise {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// How often a bad interval closed: the number of the last era, from 0.
    pub era: u32,
    /// When nothing was promised, in order of time.
    pub bad: Vec<BadInterval>,
}

/// A time in which nothing was promised. Both ends belong to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadInterval {
    /// Its beginning, in nanoseconds on the run's clock.
    pub from: u64,
    /// Its end; none where it was open at the end of the history.
    pub to: Option<u64>,
    /// What opened it.
    pub why: String,
}

/// Client operations by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operations {
    /// Happened.
    pub ok: u64,
    /// Did not happen.
    pub fail: u64,
    /// May have happened; those without a completion are among them.
    pub info: u64,
}

impl Operations {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.ok + self.fail + self.info
    }
}
