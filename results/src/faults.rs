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
        node: if let [node] = fault.nodes[..] {
            Some(node)
        } else {
            None
        },
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
            known
                .measured
                .extend(finite.map(|(name, value)| (name.clone(), *value)));
        }
        FaultAction::Heal => {
            known.healed_at = Some(at);
            known
                .measured
                .extend(finite.map(|(name, value)| (format!("heal_{name}"), *value)));
        }
    }
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::{empty, night};

    #[test]
    fn a_fault_has_when_it_came_and_went_and_what_was_measured() {
        let faults = of(&night(false));
        let names: Vec<&str> = faults.iter().map(|fault| fault.name.as_str()).collect();
        assert_eq!(names, ["cut-network", "cut-network", "power-cut"]);
        let cut = &faults[2];
        assert_eq!(
            (cut.node, &cut.targets[..], cut.asked.as_str()),
            (Some(2), &[2][..], "last")
        );
        assert_eq!((cut.injected_at, cut.healed_at), (Some(7.63), Some(12.33)));
        assert_eq!(cut.measured["lost_bytes"], 451_072.0);
        assert_eq!(cut.measured["heal_accepts_ms"], 410.0);
        assert_eq!(of(&empty()), []);
    }

    #[test]
    fn what_did_not_take_or_heal_has_no_time_and_what_is_no_number_is_left_out() {
        let mut history = night(false);
        for entry in &mut history.entries {
            let Body::Fault(fault) = &mut entry.body else {
                continue;
            };
            fault.measured.insert("seen_ms".into(), f64::NAN);
            if fault.id == 0 && entry.kind == Kind::Ok {
                entry.kind = Kind::Info;
            }
        }
        history.entries.retain(
            |entry| !matches!(&entry.body, Body::Fault(fault) if fault.id == 2 && fault.action == FaultAction::Heal),
        );
        let faults = of(&history);
        assert_eq!((faults[0].injected_at, faults[0].healed_at), (None, None));
        assert_eq!(faults[2].healed_at, None);
        assert!(faults.iter().all(|fault| !fault.measured.contains_key("seen_ms")));
    }

    #[test]
    fn a_fault_of_several_nodes_has_no_single_node() {
        let mut history = night(false);
        for entry in &mut history.entries {
            if let Body::Fault(fault) = &mut entry.body {
                fault.nodes = vec![0, 1];
            }
        }
        assert!(
            of(&history)
                .iter()
                .all(|fault| fault.node.is_none() && fault.targets == [0, 1])
        );
    }
}
