//! `phantom`: a value was polled that nobody sent. Each such value is one instance.

use crate::log::foreign::case::Case;
use crate::log::foreign::found::{Found, example};
use rustc_hash::FxHashSet;

/// The anomaly.
pub(super) const NAME: &str = "phantom";

pub(in super::super) fn find(case: &Case<'_>, found: &mut Found) {
    let mut known = vec![false; case.order.pairs().len()];
    let mut sent_nowhere = FxHashSet::default();
    for (send, number) in case.partition.sends.iter().zip(&case.sent) {
        match known.get_mut(*number as usize) {
            Some(known) => *known = true,
            None => {
                sent_nowhere.insert(send.value);
            }
        }
    }
    for (poll, number) in case.partition.polls.iter().zip(&case.polled) {
        let first = match known.get_mut(*number as usize) {
            // Each is told once.
            Some(known) => !std::mem::replace(known, true),
            None => sent_nowhere.insert(poll.value),
        };
        if first {
            found.add(NAME, || {
                let text = format!(
                    "operation {} polled value {} of partition {}, and nobody sent it",
                    case.op(poll.op).done(),
                    poll.value,
                    case.partition.name
                );
                example(&case.entries(poll.op), text)
            });
        }
    }
}
