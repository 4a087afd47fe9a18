//! `G1a`, an aborted read: a value was read whose send was refused, so that it certainly did not happen. Nothing
//! excuses it. Each such value is one instance.
//!
//! Not this: a value whose send was never answered.

use super::{Case, Finding, instance};
use crate::Instance;
use crate::log::facts::{How, Partition, SendOp};
use history::Kind;
use rustc_hash::FxHashMap;

/// The anomaly.
pub(super) const NAME: &str = "G1a";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let failed = partition.sends.iter().filter(|send| send.outcome == Kind::Fail);
    let mut refused: FxHashMap<u64, &SendOp> = failed.map(|send| (send.value, send)).collect();
    if refused.is_empty() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for shown in &partition.sightings {
        let (How::Poll { .. }, Some(value)) = (shown.how, shown.value) else {
            continue;
        };
        // Each is told once, where it stands lowest.
        let Some(send) = refused.remove(&value) else {
            continue;
        };
        let text = format!(
            "value {value} was read at offset {} of {}, and its send had been refused",
            shown.offset, partition.key
        );
        let mut operations = vec![send.invoked.index, case.facts.op(shown).done.index];
        operations.extend(send.done.map(|done| done.index));
        findings.push(Finding {
            span: None,
            follows: None,
            instance: Instance {
                offset: Some(shown.offset),
                epoch: shown.epoch,
                ..instance(partition, &operations, text)
            },
        });
    }
    findings
}
