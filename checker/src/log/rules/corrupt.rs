//! `corrupt`: a record was read whose self-check failed. Nothing excuses it. Each such offset is one instance.

use super::{Case, Finding, instance};
use crate::Instance;
use crate::log::facts::Partition;

/// The anomaly.
pub(super) const NAME: &str = "corrupt";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let mut corrupt: Vec<_> = partition.sightings.iter().filter(|s| s.value.is_none()).collect();
    // Sorted by offset, then by completion: the first that showed it stays.
    corrupt.dedup_by_key(|s| s.offset);
    corrupt
        .into_iter()
        .map(|shown| {
            let text = format!(
                "the record read at offset {} of {} is not what was sent: its self-check fails",
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
        })
        .collect()
}
