//! `lost-write`: a record was acknowledged with acks=all, a poll that was begun afterwards passed its offset without
//! it, and no poll ever showed its value. Each such record is one instance.
//!
//! Where the final read tells of the record, its loss is told by that (`acked-then-lost`). This is for histories whose
//! final read did not come so far.

use super::{Case, Finding, instance};
use crate::Instance;
use crate::log::facts::{Fate, How, Partition, Step};
use crate::log::promise::Span;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The anomaly.
pub(super) const NAME: &str = "lost-write";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let lost = all(case, partition);
    lost.into_iter()
        .filter_map(|(number, step)| finding(case, partition, number, step))
        .collect()
}

/// The lost records, by the numbers of their sends, each with the first step of a poll that proves it.
pub(super) fn all<'p>(case: &Case<'_>, partition: &'p Partition<'_>) -> BTreeMap<u32, &'p Step> {
    let forward = || partition.steps.iter().filter(|step| step.from < step.to);
    if forward().next().is_none() || partition.plan.log_start_may_move {
        return BTreeMap::new();
    }
    let unread = unread(partition);
    let mut lost = BTreeMap::new();
    for step in forward() {
        let begun = case.facts.ops[step.op as usize].invoked.time;
        let from = unread.partition_point(|(offset, _)| *offset <= step.from);
        for (_, number) in unread[from..].iter().take_while(|(offset, _)| *offset < step.to) {
            let acked = partition.sends[*number as usize].acked();
            if acked.is_some_and(|acked| acked.time < begun) {
                lost.entry(*number).or_insert(step);
            }
        }
    }
    lost
}

/// The offsets of acknowledged records of which the final read does not tell and which no poll showed, ascending, with
/// the numbers of their sends.
fn unread(partition: &Partition<'_>) -> Vec<(i64, u32)> {
    let mut unread: FxHashMap<u64, (i64, u32)> = FxHashMap::default();
    for (number, (send, fate)) in (0..).zip(partition.sends.iter().zip(&partition.fates)) {
        if let (Some(_), Some(offset), Fate::Untold) = (send.acked(), send.offset, fate) {
            unread.insert(send.value, (offset, number));
        }
    }
    if !unread.is_empty() {
        for shown in partition
            .sightings
            .iter()
            .filter(|s| matches!(s.how, How::Poll { .. }))
        {
            shown.value.and_then(|value| unread.remove(&value));
        }
    }
    let mut unread: Vec<(i64, u32)> = unread.into_values().collect();
    unread.sort_unstable();
    unread
}

fn finding(case: &Case<'_>, partition: &Partition<'_>, number: u32, step: &Step) -> Option<Finding> {
    let send = &partition.sends[number as usize];
    let (acked, poll) = (send.acked()?, case.facts.ops[step.op as usize]);
    let offset = send.offset?;
    let text = format!(
        "value {} was acknowledged at offset {offset} of {}; a poll that was begun later passed that offset without it, \
         and no poll ever showed it",
        send.value, partition.key
    );
    Some(Finding {
        span: Some(Span {
            since: send.invoked.time,
            node: send.node,
            known: acked.time,
            until: poll.done.time,
            reread: None,
            shown_only: false,
        }),
        follows: None,
        instance: Instance {
            offset: Some(offset),
            acked_at: Some(acked.time),
            lost_at: Some(poll.done.time),
            ..instance(
                partition,
                &[send.invoked.index, acked.index, poll.done.index],
                text,
            )
        },
    })
}
