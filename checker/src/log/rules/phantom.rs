//! `phantom`: a value was read that nobody sent to this partition. Nothing excuses it. Each such value is one
//! instance.
//!
//! Not this: a value that was sent and refused, or whose send was never answered.

use super::{Case, Finding, instance};
use crate::Instance;
use crate::log::facts::{How, Partition, Sighting};

/// The anomaly.
pub(super) const NAME: &str = "phantom";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    // Most values were acknowledged where they were read: the others are looked for among what was sent.
    let mut phantoms: Vec<&Sighting> = partition.by_offset().flat_map(not_acked).collect();
    if phantoms.is_empty() {
        return Vec::new();
    }
    let mut sent: Vec<u64> = partition.sends.iter().map(|send| send.value).collect();
    sent.sort_unstable();
    phantoms.retain(|s| s.value.is_some_and(|value| sent.binary_search(&value).is_err()));
    phantoms.sort_unstable_by_key(|s| (s.value, s.op, s.offset));
    phantoms.dedup_by_key(|s| s.value);
    phantoms
        .into_iter()
        .map(|s| finding(case, partition, s))
        .collect()
}

/// What polls showed at one offset and no acknowledgement named there.
fn not_acked(group: &[Sighting]) -> impl Iterator<Item = &Sighting> {
    let acked = |value| {
        let names = |s: &Sighting| matches!(s.how, How::Ack { .. }) && s.value == value;
        group.iter().any(names)
    };
    let read = group
        .iter()
        .filter(|s| matches!(s.how, How::Poll { .. }) && s.value.is_some());
    read.filter(move |s| !acked(s.value))
}

fn finding(case: &Case<'_>, partition: &Partition<'_>, shown: &Sighting) -> Finding {
    let value = shown.value.unwrap_or_default();
    let text = format!(
        "value {value} was read at offset {} of {}, and nobody sent it",
        shown.offset, partition.key
    );
    Finding {
        span: None,
        follows: None,
        instance: Instance {
            offset: Some(shown.offset),
            epoch: shown.epoch,
            ..instance(partition, &[case.facts.op(shown).done.index], text)
        },
    }
}
