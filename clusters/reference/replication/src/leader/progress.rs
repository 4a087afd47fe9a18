//! How far a follower is known to be.

use super::FollowerFetch;

/// What the fetches of one follower, in this leader epoch, have shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Progress {
    /// The last fetch: its offset, the follower's broker epoch, when, and the leader's log end then.
    /// One snapshot, replaced whole (KAFKA-15221).
    last_fetch: Option<LastFetch>,
    /// When it was last known to have all that the leader had.
    caught_up_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LastFetch {
    fetch_offset: i64,
    broker_epoch: i64,
    at_ms: u64,
    leader_end: i64,
}

impl Progress {
    /// A follower that has not fetched yet. One in the ISR is taken to have caught up just now, so that
    /// it has time to begin.
    pub(super) fn new(caught_up_ms: Option<u64>) -> Self {
        Self {
            last_fetch: None,
            caught_up_ms,
        }
    }

    pub(super) fn fetched(&mut self, fetch: &FollowerFetch, now_ms: u64, leader_end: i64) {
        let caught_up = if fetch.fetch_offset >= leader_end {
            Some(now_ms)
        } else {
            // It has what the leader had at the fetch before: it was caught up then.
            self.last_fetch
                .filter(|last| fetch.fetch_offset >= last.leader_end)
                .map(|last| last.at_ms)
        };
        self.caught_up_ms = self.caught_up_ms.max(caught_up);
        self.last_fetch = Some(LastFetch {
            fetch_offset: fetch.fetch_offset,
            broker_epoch: fetch.broker_epoch,
            at_ms: now_ms,
            leader_end,
        });
    }

    /// The end of its log; `None` before its first fetch.
    pub(super) fn log_end(&self) -> Option<i64> {
        self.last_fetch.map(|last| last.fetch_offset)
    }

    /// The broker epoch it fetched with; `None` before its first fetch.
    pub(super) fn broker_epoch(&self) -> Option<i64> {
        self.last_fetch.map(|last| last.broker_epoch)
    }

    /// Whether it has all that the leader has, or had it within the last `max_lag_ms`.
    pub(super) fn is_caught_up(&self, leader_end: i64, now_ms: u64, max_lag_ms: u64) -> bool {
        self.log_end() == Some(leader_end)
            || self
                .caught_up_ms
                .is_some_and(|at| now_ms.saturating_sub(at) <= max_lag_ms)
    }
}
