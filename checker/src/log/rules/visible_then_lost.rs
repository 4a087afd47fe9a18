//! `visible-then-lost`: a record that a consumer was shown, of whatever acks, is gone from the final log: the strict
//! high watermark promises that it stays. Each value at an offset is one instance.
//!
//! Not this: a record past what the final read reached, or below a log start that may move. Off for versions of Apache
//! Kafka without the strict rule. Where the record was acknowledged and lost, this follows from its loss.

use super::{Case, Finding, instance, loss_of};
use crate::Instance;
use crate::log::facts::{Fate, How, Partition, Sighting};
use crate::log::promise::{Span, seconds};

/// The anomaly.
pub(super) const NAME: &str = "visible-then-lost";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    if !case.profile.strict_high_watermark {
        return Vec::new();
    }
    let gone = |group: &&[Sighting]| {
        let fate = group.first().map(|s| partition.fate_of_absent(s.offset));
        matches!(fate, Some(Fate::Lost | Fate::TailLost))
    };
    let groups = partition.by_offset().filter(gone);
    groups
        .flat_map(|group| in_group(case, partition, group))
        .collect()
}

fn in_group(case: &Case<'_>, partition: &Partition<'_>, group: &[Sighting]) -> Vec<Finding> {
    let mut told: Vec<u64> = Vec::new();
    let mut findings = Vec::new();
    for shown in group.iter().filter(|s| s.how == How::Poll { last: false }) {
        let Some(value) = shown.value.filter(|value| !told.contains(value)) else {
            continue;
        };
        told.push(value);
        let stays = |s: &Sighting| s.how == How::Poll { last: true } && s.value == Some(value);
        if !group.iter().any(stays) {
            findings.extend(finding(case, partition, group, shown, value));
        }
    }
    findings
}

fn finding(
    case: &Case<'_>,
    partition: &Partition<'_>,
    group: &[Sighting],
    shown: &Sighting,
    value: u64,
) -> Option<Finding> {
    let end = super::loss::seen_gone(case, partition, Some(shown.offset))?;
    let op = case.facts.op(shown);
    let acked = group
        .iter()
        .filter(|s| s.value == Some(value))
        .find_map(|s| match s.how {
            How::Ack { send } => Some(send as usize),
            How::Poll { .. } => None,
        });
    let text = format!(
        "value {value} was read at offset {} of {} ({}), and the final read does not show it there",
        shown.offset,
        partition.key,
        seconds(op.done.time),
    );
    Some(Finding {
        span: Some(Span {
            since: op.invoked.time,
            node: op.node,
            known: op.done.time,
            until: end.time,
            reread: case.reread(partition, group, value),
            shown_only: acked.is_none(),
        }),
        follows: acked.and_then(|send| loss_of(partition.fates[send])),
        instance: Instance {
            offset: Some(shown.offset),
            epoch: shown.epoch,
            lost_at: Some(end.time),
            ..instance(partition, &[op.invoked.index, op.done.index, end.index], text)
        },
    })
}
