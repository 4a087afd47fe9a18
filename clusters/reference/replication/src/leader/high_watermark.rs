//! The high watermark of a leader.
//!
//! It is the least log end among the leader and every follower that is in the maximal ISR, or is about
//! to be: caught up and eligible. It moves up only, and only while the *committed* ISR has at least the
//! effective min ISR of members (KIP-966, "Additional High Watermark advance requirement"): an acks=1
//! record that fewer hold is acknowledged but not shown, so that whoever is elected next need not take
//! it back. The rule does not depend on the cluster's ELR level, as in Kafka since 3.7.

use super::{Leader, Now};
use crate::metadata::Brokers;

impl Leader {
    /// Moves the high watermark as far as it may go. Returns where it went, if it moved.
    pub(super) fn advance_high_watermark(&mut self, now: &Now<'_, impl Brokers>) -> Option<i64> {
        if self.isr.committed.len() < self.effective_min_isr() {
            return None;
        }
        let least = self
            .followers
            .iter()
            .filter(|(replica, _)| self.holds_back(**replica, now))
            // A follower that has not fetched in this epoch may have nothing.
            .map(|(_, progress)| progress.log_end().unwrap_or(0))
            .fold(now.log_end, i64::min);
        if least <= self.high_watermark {
            return None;
        }
        self.high_watermark = least;
        Some(least)
    }

    fn holds_back(&self, replica: i32, now: &Now<'_, impl Brokers>) -> bool {
        self.isr.maximal_contains(replica)
            || self.followers.get(&replica).is_some_and(|progress| {
                progress.is_caught_up(now.log_end, now.ms, self.settings.replica_lag_time_max_ms)
            }) && self.is_eligible(replica, now.brokers)
    }
}
