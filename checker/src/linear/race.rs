//! Two searches at once, of which the first answer counts: each can be exponentially faster than the other.

use super::limits::Limits;
use super::search::{Found, Search};
use crate::Budget;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs two searches for a slice, each on a thread of its own. The first answer stops the other.
pub(crate) fn race(
    one: &mut dyn Search,
    other: &mut dyn Search,
    steps: u64,
    memory: u64,
    budget: &Budget,
) -> Option<Found> {
    let stop = AtomicBool::new(false);
    let limits = Limits {
        steps,
        memory,
        budget,
        stop: &stop,
    };
    let run = |search: &mut dyn Search| {
        let found = search.run(&limits);
        if found.is_some() {
            stop.store(true, Ordering::Relaxed);
        }
        found
    };
    std::thread::scope(|scope| {
        let theirs = scope.spawn(|| run(other));
        let ours = run(one);
        // A search does not panic; if one did, the other's answer is as good.
        ours.or(theirs.join().unwrap_or(None))
    })
}
