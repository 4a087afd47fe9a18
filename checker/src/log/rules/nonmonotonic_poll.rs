//! `int-nonmonotonic-poll` and `nonmonotonic-poll`: within a poll's answer a record does not stand behind the one
//! before it; or the first stands below the offset that was asked for. Nothing excuses it. Each such record is one
//! instance.

use super::{Case, Finding, instance};
use crate::Instance;
use crate::log::facts::{Partition, Step};

/// Within one answer.
pub(super) const WITHIN: &str = "int-nonmonotonic-poll";
/// Its first record.
pub(super) const BEFORE: &str = "nonmonotonic-poll";

pub(super) fn find_within(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    find(case, partition, true)
}

pub(super) fn find_before(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    find(case, partition, false)
}

fn find(case: &Case<'_>, partition: &Partition<'_>, within: bool) -> Vec<Finding> {
    let back = |step: &&Step| step.within == within && step.to <= step.from;
    partition
        .steps
        .iter()
        .filter(back)
        .map(|step| finding(case, partition, step))
        .collect()
}

fn finding(case: &Case<'_>, partition: &Partition<'_>, step: &Step) -> Finding {
    let text = match step.within {
        true => format!(
            "a poll of {} was answered with offset {} right behind offset {}",
            partition.key, step.to, step.from
        ),
        false => format!(
            "a poll of {} from offset {} was answered with offset {}",
            partition.key,
            step.from.saturating_add(1),
            step.to
        ),
    };
    Finding {
        span: None,
        follows: None,
        instance: Instance {
            offset: Some(step.to),
            ..instance(partition, &[case.facts.ops[step.op as usize].done.index], text)
        },
    }
}
