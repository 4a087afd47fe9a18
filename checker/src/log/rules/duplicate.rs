//! `duplicate`: a value stands at two offsets of one partition, among what acks=all acknowledgements named and
//! polls showed. Each such value is one instance.
//!
//! Only where a producer cannot send twice. In this history it cannot: every send is one request, never repeated.

use super::{Case, Finding, instance, loss_among};
use crate::Instance;
use crate::log::facts::{Partition, Sighting};
use crate::log::index::Numbers;

/// The anomaly.
pub(super) const NAME: &str = "duplicate";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    if !any(partition) {
        return Vec::new();
    }
    let mut shown: Vec<&Sighting> = partition.sightings.iter().filter(|s| s.value.is_some()).collect();
    shown.sort_unstable_by_key(|s| (s.value, s.op, s.offset));
    shown
        .chunk_by(|a, b| a.value == b.value)
        .filter_map(|group| in_group(case, partition, group))
        .collect()
}

/// Whether some value stands at two offsets: asked first, since most often there is none.
fn any(partition: &Partition<'_>) -> bool {
    let mut values: Vec<i64> = Vec::with_capacity(partition.sends.len());
    for group in partition.by_offset() {
        let first = group.iter().find_map(|s| s.value);
        // As bits: what is the same stays the same.
        values.extend(first.map(u64::cast_signed));
        for (place, shown) in group.iter().enumerate() {
            let new = shown.value != first && !group[..place].iter().any(|s| s.value == shown.value);
            values.extend(shown.value.filter(|_| new).map(u64::cast_signed));
        }
    }
    Numbers::of(values.iter().copied()).1
}

fn in_group(case: &Case<'_>, partition: &Partition<'_>, group: &[&Sighting]) -> Option<Finding> {
    let first = *group.first()?;
    let other = *group.iter().find(|s| s.offset != first.offset)?;
    let mut offsets: Vec<i64> = group.iter().map(|s| s.offset).collect();
    offsets.sort_unstable();
    offsets.dedup();
    let value = first.value.unwrap_or_default();
    let text = format!(
        "value {value} of {} stands at the offsets {offsets:?}",
        partition.key
    );
    let operations = [case.facts.op(first).done.index, case.facts.op(other).done.index];
    let shown: Vec<Sighting> = group.iter().map(|s| **s).collect();
    Some(Finding {
        span: Some(case.span(first, other)),
        follows: loss_among(partition, &shown),
        instance: Instance {
            offset: Some(first.offset),
            epoch: case.epoch(partition, &shown, other),
            ..instance(partition, &operations, text)
        },
    })
}
