//! What a running workload has done, to wait on.

use client::Outcome;
use client::calls::Acks;

/// Counts of completed operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Sends acknowledged with acks=all.
    pub acked: u64,
    /// Sends acknowledged, whoever's acknowledgement was asked for.
    pub ok: u64,
    /// Sends that certainly did not happen.
    pub fail: u64,
    /// Sends that may have happened.
    pub info: u64,
    /// Polls answered without an error.
    pub polls: u64,
    /// Records that polls were shown.
    pub records_read: u64,
}

impl Counters {
    /// Acknowledgements with acks=all since an earlier count: `counters.wait_for(|now| now.acks_since(&then) >= 100)`.
    pub fn acks_since(&self, earlier: &Counters) -> u64 {
        self.acked.saturating_sub(earlier.acked)
    }

    /// Sends completed in any way.
    pub fn sends(&self) -> u64 {
        self.ok + self.fail + self.info
    }

    pub(super) fn sent(&mut self, acks: Acks, outcome: Outcome) {
        match outcome {
            Outcome::Ok => {
                self.ok += 1;
                self.acked += u64::from(acks == Acks::All);
            }
            Outcome::Fail => self.fail += 1,
            Outcome::Info => self.info += 1,
        }
    }

    pub(super) fn polled(&mut self, records: usize) {
        self.polls += 1;
        self.records_read += records as u64;
    }
}
