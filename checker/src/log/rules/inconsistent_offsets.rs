//! `inconsistent-offsets`: an offset has two values or more, among what acks=all acknowledgements named and polls
//! showed. Each such offset is one instance.
//!
//! Values whose self-check failed do not count: they are `corrupt`.

use super::{Case, Finding, instance, loss_among};
use crate::Instance;
use crate::log::facts::{Partition, Sighting};

/// The anomaly.
pub(super) const NAME: &str = "inconsistent-offsets";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    partition
        .by_offset()
        .filter_map(|group| in_group(case, partition, group))
        .collect()
}

fn in_group(case: &Case<'_>, partition: &Partition<'_>, group: &[Sighting]) -> Option<Finding> {
    let first = group.iter().find(|s| s.value.is_some())?;
    let other = group
        .iter()
        .find(|s| s.value.is_some() && s.value != first.value)?;
    let mut values: Vec<u64> = group.iter().filter_map(|s| s.value).collect();
    values.sort_unstable();
    values.dedup();
    let text = format!(
        "offset {} of {} has the values {values:?}",
        first.offset, partition.key
    );
    let operations = [case.facts.op(first).done.index, case.facts.op(other).done.index];
    Some(Finding {
        span: Some(case.span(first, other)),
        follows: loss_among(partition, group),
        instance: Instance {
            offset: Some(first.offset),
            epoch: case.epoch(partition, group, other),
            ..instance(partition, &operations, text)
        },
    })
}
