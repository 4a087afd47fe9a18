//! `elr-invariant`: with eligible leader replicas on, committed metadata breaks what KIP-966 says of ISR and ELR. At
//! the end of a batch: a broker is in both; the ELR has members though the ISR has min ISR of them; a fenced broker is
//! in the ISR. Or a record takes ISR and ELR together from min ISR members or more to fewer, other than by an unclean
//! registration, an unclean election, a change of the replicas or of min ISR, or where ELRs are cleared. Nothing
//! excuses it but a quorum that lost its disks. Each record is one instance of each.
//!
//! Not this: what stands since before eligible leader replicas were switched on; what was not seen.

use super::{Case, Finding, instance};
use crate::Instance;
use crate::log::facts::Partition;
use crate::log::metadata::Step;
use std::collections::BTreeSet;

/// The anomaly.
pub(super) const NAME: &str = "elr-invariant";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Who was fenced in the ISR before: only what is new is told.
    let mut fenced_before: Vec<i32> = Vec::new();
    for step in case.metadata.steps(&partition.key) {
        let fenced: Vec<i32> = step
            .state
            .isr
            .iter()
            .copied()
            .filter(|id| step.fenced.contains(id))
            .collect();
        let is_on = step.elr_level.0 >= Some(1) && step.elr_level.1 >= Some(1);
        if is_on && step.is_judged {
            let new = fenced.iter().find(|id| !fenced_before.contains(id)).copied();
            let broken = at_end(step, new).into_iter().chain(by_record(step));
            findings.extend(broken.map(|text| finding(case, partition, step, &text)));
        }
        if step.ends_batch {
            fenced_before = fenced;
        }
    }
    findings
}

fn at_end(step: &Step<'_>, fenced: Option<i32>) -> Vec<String> {
    let (state, min_isr) = (step.state, step.min_isr.1);
    let mut broken = Vec::new();
    if !step.ends_batch {
        return broken;
    }
    if let Some(both) = state.isr.iter().find(|id| state.elr.contains(id)) {
        broken.push(format!("broker {both} is in both"));
    }
    if !state.elr.is_empty() && state.isr.len() >= min_isr {
        broken.push(format!(
            "the ISR has {min_isr} members or more, and the ELR is not empty"
        ));
    }
    if let Some(fenced) = fenced {
        broken.push(format!("broker {fenced} is fenced, and in the ISR"));
    }
    broken
}

fn by_record(step: &Step<'_>) -> Option<String> {
    let before = step.before?;
    let all = |isr: &[i32], elr: &[i32]| isr.iter().chain(elr).copied().collect::<BTreeSet<i32>>();
    let (was, is) = (
        all(&before.isr, &before.elr),
        all(&step.state.isr, &step.state.elr),
    );
    let (min_isr, after) = step.min_isr;
    let replicas = |list: &[i32]| list.iter().copied().collect::<BTreeSet<i32>>();
    let is_allowed = min_isr != after
        || replicas(&before.replicas) != replicas(&step.state.replicas)
        || step.may_clear_elr
        || step.elects_unclean();
    let comes_back = |id: &i32| step.registers.contains(id) || step.may_register.contains(id);
    let mut gone = was.difference(&is).filter(|id| !comes_back(id));
    let gone = gone
        .next()
        .filter(|_| !is_allowed && was.len() >= min_isr && is.len() < min_isr)?;
    Some(format!(
        "{} of both are left of {}, where min ISR is {min_isr}, and broker {gone} did not come back uncleanly",
        is.len(),
        was.len()
    ))
}

fn finding(case: &Case<'_>, partition: &Partition<'_>, step: &Step<'_>, what: &str) -> Finding {
    let text = format!(
        "{} has the ISR {:?} and the ELR {:?} after offset {} of the metadata log: {what}",
        partition.key, step.state.isr, step.state.elr, step.state.at.log_offset
    );
    Finding {
        span: case.unless_quorum_void(step.seen.time),
        follows: None,
        instance: Instance {
            epoch: Some(step.state.leader_epoch),
            ..instance(partition, &[step.seen.index], text)
        },
    }
}
