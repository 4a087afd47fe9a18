//! `int-poll-skip` and `poll-skip`: a poll went on from one offset to another, though a record was shown between
//! them. Within its answer; or from the offset that it asked for to its first record. Each such step is one instance.
//!
//! Where a client asks next is its own choice, so a client that goes elsewhere skips nothing. Topics whose records may
//! go (retention, compaction, DeleteRecords) are not looked at. Offsets at which nobody was shown anything are no
//! skips: control records take offsets too.

use super::{Case, Finding, instance, loss_among, lost_write};
use crate::Instance;
use crate::log::facts::{How, Partition, Sighting, Step};
use std::collections::BTreeMap;

/// Within one answer.
pub(super) const WITHIN: &str = "int-poll-skip";
/// Before its first record.
pub(super) const BEFORE: &str = "poll-skip";

/// How many of the records that a step skips are asked whether they are lost.
const LOOKED_AT: usize = 1000;

pub(super) fn find_within(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    find(case, partition, true)
}

pub(super) fn find_before(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    find(case, partition, false)
}

fn find(case: &Case<'_>, partition: &Partition<'_>, within: bool) -> Vec<Finding> {
    if partition.plan.log_start_may_move {
        return Vec::new();
    }
    let lost = lost_write::all(case, partition);
    let steps = partition.steps.iter().filter(|step| step.within == within);
    steps
        .filter_map(|step| finding(case, partition, step, &lost))
        .collect()
}

/// What was shown between the two offsets of a step.
fn passed_over<'p>(partition: &'p Partition<'_>, step: &Step) -> &'p [Sighting] {
    match step.from.checked_add(1) {
        Some(next) if next < step.to => partition.between(next, step.to),
        _ => &[],
    }
}

fn finding(
    case: &Case<'_>,
    partition: &Partition<'_>,
    step: &Step,
    lost: &BTreeMap<u32, &Step>,
) -> Option<Finding> {
    let skipped = passed_over(partition, step);
    let shown = skipped.iter().find(|sighting| sighting.value.is_some())?;
    // What it follows from is among the first of them, or not told.
    let first_ones = &skipped[..skipped.len().min(LOOKED_AT)];
    let here = Sighting {
        offset: step.to,
        value: None,
        epoch: None,
        op: step.op,
        how: How::Poll { last: false },
    };
    let from = match step.within {
        true => format!("went on from offset {}", step.from),
        false => format!("from offset {}", step.from.saturating_add(1)),
    };
    let text = format!(
        "a poll of {} {from} to {}, though a record was shown at offset {} between them",
        partition.key, step.to, shown.offset
    );
    // In the order in which they happened.
    let (first, then) = if shown.op < step.op {
        (shown, &here)
    } else {
        (&here, shown)
    };
    let operations = [case.facts.op(first).done.index, case.facts.op(then).done.index];
    let is_lost = |s: &Sighting| matches!(s.how, How::Ack { send } if lost.contains_key(&send));
    let lost = || first_ones.iter().any(is_lost).then_some(lost_write::NAME);
    Some(Finding {
        span: Some(case.span(first, then)),
        follows: loss_among(partition, first_ones).or_else(lost),
        instance: Instance {
            offset: Some(shown.offset),
            epoch: shown.epoch,
            ..instance(partition, &operations, text)
        },
    })
}
