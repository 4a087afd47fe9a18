//! The evidence of a loss, shared by the two rules that name one.

use super::{Case, Finding, instance};
use crate::Instance;
use crate::log::facts::{Fate, How, Mark, Partition, SendOp, Sighting};
use crate::log::promise::{Span, seconds};

/// Accuses each send whose fate is this one.
pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>, fate: Fate) -> Vec<Finding> {
    let lost = partition
        .sends
        .iter()
        .zip(&partition.fates)
        .filter(|(_, told)| **told == fate);
    lost.filter_map(|(send, _)| finding(case, partition, send, fate))
        .collect()
}

fn finding(case: &Case<'_>, partition: &Partition<'_>, send: &SendOp, fate: Fate) -> Option<Finding> {
    let acked = send.acked()?;
    let group = send.offset.map_or(&[][..], |offset| {
        partition.between(offset, offset.saturating_add(1))
    });
    let other = group
        .iter()
        .filter(|s| s.value.is_some_and(|value| value != send.value));
    let replaced = other
        .map(|s| (s, case.facts.op(s).done))
        .find(|(_, done)| *done > acked);
    // A loss is only told where final polls, or their summary, passed its offset.
    let seen = seen_gone(case, partition, send.offset)?;
    let mine = |s: &&Sighting| s.value == Some(send.value);
    let epoch = group.iter().filter(mine).find_map(|s| s.epoch);
    let there = match (fate, replaced.and_then(|(s, _)| s.value)) {
        (Fate::TailLost, _) => partition
            .final_end
            .as_ref()
            .and_then(|end| end.complete)
            .map_or(String::new(), |(_, end)| {
                format!("; the final log ends at offset {end}")
            }),
        (_, Some(value)) => format!("; value {value} was shown at that offset later"),
        (_, None) => String::new(),
    };
    let place = send
        .offset
        .map_or("no named offset".to_owned(), |offset| format!("offset {offset}"));
    let text = format!(
        "value {} was acknowledged at {place} of {} ({}), and the final read does not show it there{there}",
        send.value,
        partition.key,
        seconds(acked.time),
    );
    let mut operations = vec![send.invoked.index, acked.index, seen.index];
    operations.extend(replaced.map(|(_, done)| done.index));
    Some(Finding {
        span: Some(Span {
            since: send.invoked.time,
            node: send.node,
            known: acked.time,
            until: seen.time,
            reread: case.reread(partition, group, send.value),
            ..Span::default()
        }),
        follows: None,
        instance: Instance {
            offset: send.offset,
            epoch,
            acked_at: Some(acked.time),
            lost_at: Some(replaced.map_or(seen.time, |(_, done)| done.time)),
            ..instance(partition, &operations, text)
        },
    })
}

/// When a record was seen to be gone.
pub(super) fn seen_gone(case: &Case<'_>, partition: &Partition<'_>, offset: Option<i64>) -> Option<Mark> {
    let read_to_end = partition.final_end.as_ref().map(|end| end.at);
    last_poll_over(case, partition, offset).or(read_to_end)
}

/// The summary of the final read proves a loss; without one that is complete, the final poll that showed what
/// stands behind the offset does.
fn last_poll_over(case: &Case<'_>, partition: &Partition<'_>, offset: Option<i64>) -> Option<Mark> {
    if partition
        .final_end
        .as_ref()
        .is_some_and(|end| end.complete.is_some())
    {
        return None;
    }
    let offset = offset?;
    let last = |s: &&Sighting| s.how == How::Poll { last: true };
    partition
        .between(offset, i64::MAX)
        .iter()
        .find(last)
        .map(|s| case.facts.op(s).done)
}
