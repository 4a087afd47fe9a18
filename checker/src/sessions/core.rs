//! From transactions that have no order, few that have none either: larger and smaller parts are left out as long as
//! what remains is still broken (Zeller and Hildebrandt's delta debugging).
//!
//! What remains proves the whole: an order of all transactions would be one of these too.

use super::history::Sessions;
use crate::Budget;

/// More transactions than this are not tried without some of them: it would take too long.
const MOST_TRANSACTIONS: usize = 2000;
/// How many parts are tried.
const TRIES: usize = 400;

/// A part that is still broken. No transaction can be left out of it, unless there were too many tries.
pub(super) fn core(
    sessions: &Sessions,
    budget: &Budget,
    broken: impl Fn(&Sessions) -> bool,
) -> Option<Sessions> {
    if sessions.len() > MOST_TRANSACTIONS {
        return None;
    }
    let mut current: Option<Sessions> = None;
    let mut size = sessions.len() / 2;
    let mut tries = 0;
    while size > 0 {
        let mut from = 0;
        let mut left_out = false;
        loop {
            let whole = current.as_ref().unwrap_or(sessions);
            if from >= whole.len() {
                break;
            }
            if tries == TRIES || budget.spent().is_some() {
                return current;
            }
            tries += 1;
            let part = whole.only(|txn| !(from..from + size).contains(&(txn as usize)));
            if broken(&part) {
                current = Some(part);
                left_out = true;
            } else {
                from += size;
            }
        }
        // One by one until none can be left out; larger parts once.
        if size > 1 || !left_out {
            size /= 2;
        }
    }
    current
}
