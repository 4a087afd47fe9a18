//! `lost-write`: a value that must be in the log was never polled, though what stands behind it was.
//!
//! The bound is the greatest *first* index among the values that successful operations polled. What must have been
//! polled are the values whose *last* index is not above it. What is missing there is lost, where its writer must
//! have committed. Each such value is one instance.

use crate::log::foreign::case::Case;
use crate::log::foreign::found::{Found, example};
use rustc_hash::FxHashMap;

/// The anomaly.
pub(super) const NAME: &str = "lost-write";

pub(in super::super) fn find(case: &Case<'_>, found: &mut Found) {
    let numbers = || (0..case.order.pairs().len()).filter(|pair| case.order.is_number(*pair));
    let first = |number: &usize| case.order.first_and_last(*number as u32).0;
    let Some(furthest) = numbers().filter(|number| case.read[*number]).max_by_key(first) else {
        return;
    };
    let bound = first(&furthest);
    let missing = numbers().filter(|number| !case.read[*number]);
    let missing = missing.filter(|number| case.order.first_and_last(*number as u32).1 <= bound);
    let missing: Vec<usize> = missing.collect();
    if missing.is_empty() {
        return;
    }
    // The last to send it is taken for its writer.
    let mut writers: FxHashMap<i64, u32> = FxHashMap::default();
    writers.extend(
        missing
            .iter()
            .map(|number| (case.order.pairs()[*number].value, u32::MAX)),
    );
    for send in &case.partition.sends {
        if let Some(writer) = writers.get_mut(&send.value) {
            *writer = send.op;
        }
    }
    for number in missing {
        let lost = case.order.pairs()[number];
        let writer = writers
            .get(&lost.value)
            .copied()
            .filter(|writer| *writer != u32::MAX);
        let Some(writer) = writer.filter(|writer| case.committed.holds(*writer)) else {
            continue;
        };
        found.add(NAME, || {
            let beyond = case.order.pairs()[furthest];
            let text = format!(
                "value {} was sent to partition {} (offset {}) by operation {} and never polled, though value {} at \
                 offset {} was",
                lost.value,
                case.partition.name,
                lost.offset,
                case.op(writer).done(),
                beyond.value,
                beyond.offset
            );
            let mut entries = case.entries(writer).to_vec();
            entries.extend(case.showing(&[beyond.offset], beyond.value));
            example(&entries, text)
        });
    }
}
