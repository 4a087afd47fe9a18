//! `offset-reassigned`: the acknowledgement of one value, then another value read or acknowledged at the same
//! offset. Names both leader epochs, as far as they are known. Each acknowledged value is one instance.
//!
//! Where the first value is lost, this follows from its loss.

use super::{Case, Finding, epoch_text, instance, loss_of, shown_by};
use crate::Instance;
use crate::log::facts::{How, Partition, Sighting};

/// The anomaly.
pub(super) const NAME: &str = "offset-reassigned";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    partition
        .by_offset()
        .flat_map(|group| in_group(case, partition, group))
        .collect()
}

fn in_group(case: &Case<'_>, partition: &Partition<'_>, group: &[Sighting]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (place, acked) in group.iter().enumerate() {
        let How::Ack { send } = acked.how else { continue };
        // Sorted by completion: what stands behind came later.
        let is_other = |s: &&Sighting| s.op > acked.op && s.value.is_some() && s.value != acked.value;
        let Some(other) = group[place..].iter().find(is_other) else {
            continue;
        };
        let (first, then) = (
            case.epoch(partition, group, acked),
            case.epoch(partition, group, other),
        );
        let values = (acked.value.unwrap_or_default(), other.value.unwrap_or_default());
        let text = format!(
            "offset {} of {} was acknowledged for value {} (leader epoch {}), then {} with value {} (leader epoch {})",
            acked.offset,
            partition.key,
            values.0,
            epoch_text(first),
            shown_by(other.how),
            values.1,
            epoch_text(then),
        );
        let (acked_op, other_op) = (case.facts.op(acked), case.facts.op(other));
        let operations = [acked_op.invoked.index, acked_op.done.index, other_op.done.index];
        findings.push(Finding {
            span: Some(case.span(acked, other)),
            follows: loss_of(partition.fates[send as usize]),
            instance: Instance {
                offset: Some(acked.offset),
                epoch: then,
                acked_at: Some(acked_op.done.time),
                lost_at: Some(other_op.done.time),
                ..instance(partition, &operations, text)
            },
        });
    }
    findings
}
