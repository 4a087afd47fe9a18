//! `ineligible-leader`: a committed record makes a leader of a broker that was neither in ISR nor ELR, nor is added to
//! the ISR by that leader's own AlterPartition, and no rule allows it. What allows it: RECOVERING is set, and unclean
//! election is enabled or an operator asked for one; or the recovery is Proactive; or it is Balanced and ISR and ELR
//! were empty (or the record empties them, since their last members come back uncleanly); or they were, and it is the
//! last known leader. Nothing excuses it but a quorum that lost its disks.
//! Each election is one instance.
//!
//! Not this: an election of which the history does not tell whether the nodes were started so that it is allowed.

use super::{Case, Finding, instance};
use crate::Instance;
use crate::log::facts::Partition;
use crate::log::metadata::{Allowed, Step};

/// The anomaly.
pub(super) const NAME: &str = "ineligible-leader";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let steps = case.metadata.steps(&partition.key).iter();
    let elections = steps.filter(|step| step.is_judged && step.elects_another());
    elections
        .filter_map(|step| Some((step, why(step)?)))
        .map(|(step, why)| {
            let text = format!(
                "broker {} became leader of {} in epoch {}, and it was not in {}: {why}",
                step.state.leader,
                partition.key,
                step.state.leader_epoch,
                members(step)
            );
            Finding {
                span: case.unless_quorum_void(step.seen.time),
                follows: None,
                instance: Instance {
                    epoch: Some(step.state.leader_epoch),
                    ..instance(partition, &[step.seen.index], text)
                },
            }
        })
        .collect()
}

fn members(step: &Step<'_>) -> String {
    step.before.map_or(String::new(), |before| {
        format!("the ISR {:?} or the ELR {:?}", before.isr, before.elr)
    })
}

/// Why it may not lead.
fn why(step: &Step<'_>) -> Option<String> {
    let before = step.before?;
    let leader = step.state.leader;
    let is_admitted = step.may_be_alter_partition() && step.state.isr.contains(&leader);
    if step.was_member(leader) || is_admitted {
        return None;
    }
    if !step.state.recovering && !step.may_be_recovering {
        return Some("the record does not say that the partition has to recover".to_owned());
    }
    let left = before
        .isr
        .iter()
        .chain(&before.elr)
        .filter(|id| !step.registers.contains(id));
    let nobody_was_left = left.clone().all(|id| step.may_register.contains(id));
    let last_known = nobody_was_left && before.last_known_elr == [leader];
    let is_allowed = match step.allowed {
        Allowed::Always | Allowed::Untold => true,
        Allowed::Balanced => nobody_was_left,
        Allowed::LastKnown => false,
    };
    let reason = "neither the configuration nor an operator allows it, nor is it the last known leader of an empty ISR";
    (!is_allowed && !step.is_asked && !last_known)
        .then(|| format!("{reason} (last known: {:?})", before.last_known_elr))
}
