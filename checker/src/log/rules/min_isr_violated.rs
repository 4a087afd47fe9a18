//! `min-isr-violated`: a broker acknowledged an acks=all send that was begun after it had refused another with
//! NOT_ENOUGH_REPLICAS, under the same min ISR, and the metadata log shows no ISR of that size from before the refusal
//! until well after the acknowledgement. Each acknowledgement is one instance. Nothing excuses it but a quorum that lost
//! its disks.
//!
//! Not this: an acknowledgement close to a larger ISR, on either side: a leader and the observer both follow the
//! controller without any bound that is promised, so the controller's ISR alone proves nothing.

use super::{Case, Finding, instance};
use crate::Instance;
use crate::log::answers::Refusal;
use crate::log::facts::{Mark, Partition, SendOp};
use crate::log::faults::OBSERVER_LAG;

/// The anomaly.
pub(super) const NAME: &str = "min-isr-violated";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let answers = case.answers.partition(&partition.key);
    let refusals = answers.map_or(&[][..], |answers| &answers.refusals);
    if refusals.is_empty() || !case.metadata.is_whole {
        return Vec::new();
    }
    let acked = partition
        .sends
        .iter()
        .filter_map(|send| Some((send, send.acked()?, send.node?)));
    acked
        .filter_map(|(send, acked, node)| {
            let before = refusals[..refusals.partition_point(|r| r.done.time < send.invoked.time)].iter();
            let refusal = before.rev().find(|refusal| refusal.node == node)?;
            let min_isr = never_enough(case, partition, refusal, acked.time)?;
            Some(finding(case, partition, refusal, (send, acked, min_isr)))
        })
        .collect()
}

/// M, where no ISR is seen to have had so many members, nor M to have been set, from before the refusal until the
/// observer must have told of all that was so at the acknowledgement.
fn never_enough(case: &Case<'_>, partition: &Partition<'_>, refusal: &Refusal, acked: u64) -> Option<usize> {
    let until = acked.saturating_add(OBSERVER_LAG);
    let steps = case.metadata.steps(&partition.key);
    let known = steps
        .partition_point(|step| step.seen.time <= refusal.invoked.time)
        .checked_sub(1)?;
    let seen = steps[known..].iter().take_while(|step| step.seen.time <= until);
    let min_isr = steps[known].min_isr.1;
    let set = case.metadata.min_isr_set.iter();
    let is_set = set.clone().any(|at| (refusal.invoked.time..=until).contains(at));
    let is_enough = seen
        .clone()
        .any(|step| step.state.isr.len() >= min_isr || step.min_isr.1 != min_isr);
    (until < case.answers.end && !is_set && !is_enough).then_some(min_isr)
}

fn finding(
    case: &Case<'_>,
    partition: &Partition<'_>,
    refusal: &Refusal,
    (send, acked, min_isr): (&SendOp, Mark, usize),
) -> Finding {
    let text = format!(
        "broker {} refused a send to {} since the ISR was below {min_isr}, and then acknowledged value {}; the metadata \
         log shows no larger ISR in between",
        refusal.node, partition.key, send.value
    );
    let operations = [refusal.done.index, send.invoked.index, acked.index];
    Finding {
        span: case.unless_quorum_void(acked.time),
        follows: None,
        instance: Instance {
            offset: send.offset,
            acked_at: Some(acked.time),
            ..instance(partition, &operations, text)
        },
    }
}
