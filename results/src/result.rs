//! `result.json`: the verdict for machines. Fields are added, never renamed.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the format.
pub const SCHEMA: u32 = 1;
/// How many instances of one anomaly stand in `result.json`; `anomalies.jsonl` has all.
pub const EXAMPLES: usize = 10;

/// The object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// [`SCHEMA`].
    pub schema: u32,
    /// "pass", "fail" or "unknown".
    pub verdict: String,
    /// Why, most of all where it is unknown.
    pub reasons: Vec<Reason>,
    /// One entry a (name, inside_promise).
    pub anomalies: Vec<AnomalyResult>,
    /// What was promised.
    pub promise: PromiseResult,
    /// What was broken.
    pub faults: Vec<FaultResult>,
    /// Client operations by outcome.
    pub operations: Operations,
    /// All client operations.
    pub operations_total: u64,
    /// The scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// The system under test.
    pub system: String,
    /// Its version.
    pub version: String,
    /// This program's version.
    pub ackall_version: String,
    /// The ground.
    pub ground: String,
    /// What was typed.
    pub command: String,
    /// `scenario/id`.
    pub run: String,
    /// The run's folder.
    pub path: String,
    /// The history, in the run's folder.
    pub history: String,
    /// RFC 3339.
    pub started_at: String,
    /// Seconds.
    pub duration_s: f64,
    /// From the exec of the first node to the first acknowledged record, in seconds; null where none was.
    pub boot_to_first_ack_s: Option<f64>,
    /// The machine.
    pub environment: Environment,
}

/// A reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// A stable code.
    pub code: String,
    /// A sentence.
    pub message: String,
}

/// An anomaly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnomalyResult {
    /// Its name.
    pub name: String,
    /// Whether the promise covers it.
    pub inside_promise: bool,
    /// How many instances, exactly.
    pub count: u64,
    /// At most [`EXAMPLES`].
    pub examples: Vec<Example>,
}

/// An instance of an anomaly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Indexes into the history.
    pub operations: Vec<u64>,
    /// The topic.
    pub topic: Option<String>,
    /// The partition.
    pub partition: Option<i32>,
    /// The offset.
    pub offset: Option<i64>,
    /// The leader epoch.
    pub epoch: Option<i32>,
    /// A sentence.
    pub text: String,
}

/// The promise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseResult {
    /// Its name; several are joined with commas.
    pub name: String,
    /// What it says.
    pub text: String,
    /// Which acks it is about.
    pub acks: String,
    /// min.insync.replicas.
    pub min_isr: i32,
    /// The faults that spent it.
    pub spent_by: Vec<String>,
}

/// A fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultResult {
    /// Its name.
    pub name: String,
    /// The nodes it was resolved to.
    pub targets: Vec<i32>,
    /// The node, where it is one.
    pub node: Option<i32>,
    /// The target as it was asked.
    pub asked: String,
    /// Seconds on the run's clock.
    pub injected_at: Option<f64>,
    /// Seconds on the run's clock; null while unhealed.
    pub healed_at: Option<f64>,
    /// What was measured.
    pub measured: BTreeMap<String, f64>,
}

/// Client operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operations {
    /// Happened.
    pub ok: u64,
    /// Did not happen.
    pub fail: u64,
    /// May have happened.
    pub info: u64,
}

/// The machine of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Kernel release.
    pub kernel: String,
    /// Architecture.
    pub arch: String,
    /// Cores.
    pub cores: u64,
    /// Memory.
    pub memory_bytes: u64,
    /// Whether it ran as root.
    pub as_root: bool,
    /// How often the harness itself was late.
    pub stalls: u64,
}

/// The faults of a history, in the order of their injection.
pub fn faults(history: &history::History) -> Vec<FaultResult> {
    use history::{Body, FaultAction, Kind};
    let mut faults: BTreeMap<u64, FaultResult> = BTreeMap::new();
    for entry in &history.entries {
        let Body::Fault(fault) = &entry.body else { continue };
        let seconds = entry.time as f64 / 1e9;
        let known = faults.entry(fault.id).or_insert_with(|| FaultResult {
            name: fault.name.clone(),
            targets: fault.nodes.clone(),
            node: if let [node] = fault.nodes[..] { Some(node) } else { None },
            asked: fault.asked.clone(),
            injected_at: None,
            healed_at: None,
            measured: BTreeMap::new(),
        });
        if entry.kind != Kind::Ok {
            continue;
        }
        match fault.action {
            FaultAction::Inject => {
                known.injected_at = Some(seconds);
                known.measured.extend(fault.measured.clone());
            }
            FaultAction::Heal => {
                known.healed_at = Some(seconds);
                let healed = fault.measured.iter().map(|(name, value)| (format!("heal_{name}"), *value));
                known.measured.extend(healed);
            }
        }
    }
    faults.into_values().collect()
}
