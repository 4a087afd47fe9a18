//! The faults of a history, and what was measured of each.

use history::{Body, Fault, FaultAction, History, Kind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultResult {
    /// Its name.
    pub name: String,
    /// The nodes that its target was resolved to.
    pub targets: Vec<i32>,
    /// The node, where it is one.
    pub node: Option<i32>,
    /// The target as it was asked.
    pub asked: String,
    /// When it was measured to be in, in seconds on the run's clock; null where it did not take.
    pub injected_at: Option<f64>,
    /// When it was measured to be out, in seconds on the run's clock; null while unhealed.
    pub healed_at: Option<f64>,
    /// What was measured, `quantity_unit` to number; what was measured of its healing begins with `heal_`.
    pub measured: BTreeMap<String, f64>,
}

/// The faults of a history, in the order in which they were asked.
pub fn of(history: &History) -> Vec<FaultResult> {
    let mut faults: BTreeMap<u64, FaultResult> = BTreeMap::new();
    for entry in &history.entries {
        let Body::Fault(fault) = &entry.body else { continue };
        let known = faults.entry(fault.id).or_insert_with(|| asked(fault));
        if entry.kind == Kind::Ok {
            note(known, fault, seconds(entry.time));
        }
    }
    faults.into_values().collect()
}

fn asked(fault: &Fault) -> FaultResult {
    FaultResult {
        name: fault.name.clone(),
        targets: fault.nodes.clone(),
        node: if let [node] = fault.nodes[..] { Some(node) } else { None },
        asked: fault.asked.clone(),
        injected_at: None,
        healed_at: None,
        measured: BTreeMap::new(),
    }
}

fn note(known: &mut FaultResult, fault: &Fault, at: f64) {
    // JSON has no word for what is no finite number; it would come back as null, which is no number either.
    let finite = fault.measured.iter().filter(|(_, value)| value.is_finite());
    match fault.action {
        FaultAction::Inject => {
            known.injected_at = Some(at);
            known.measured.extend(finite.map(|(name, value)| (name.clone(), *value)));
        }
        FaultAction::Heal => {
            known.healed_at = Some(at);
            known.measured.extend(finite.map(|(name, value)| (format!("heal_{name}"), *value)));
        }
    }
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
