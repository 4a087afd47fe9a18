//! What clients may be told: acks=all before and after the append, and where the log ends.

use super::Leader;

/// Why a request of a client cannot be served now. The names are those of the protocol's errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// NOT_ENOUGH_REPLICAS: the committed ISR is smaller than the effective min ISR. Nothing may be
    /// appended for acks=all.
    NotEnoughReplicas,
    /// OFFSET_NOT_AVAILABLE: the high watermark has not reached this leader's epoch yet, and may be
    /// behind the last leader's.
    OffsetNotAvailable,
}

/// The state of an acks=all append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// Not yet replicated to all of the maximal ISR.
    Waiting,
    /// Acknowledge it.
    Acknowledged,
    /// NOT_ENOUGH_REPLICAS_AFTER_APPEND: replicated, but by then to fewer than the min ISR.
    NotEnoughReplicasAfterAppend,
}

impl Leader {
    /// Whether an acks=all append may begin.
    ///
    /// # Errors
    /// When the committed ISR is too small.
    pub fn admit_acks_all(&self) -> Result<(), Refusal> {
        if self.isr.committed.len() < self.effective_min_isr() {
            return Err(Refusal::NotEnoughReplicas);
        }
        Ok(())
    }

    /// How an acks=all append stands, after which the log ended at `required_offset`. It must have been
    /// made in this leader epoch: under any other it fails with NOT_LEADER_OR_FOLLOWER.
    pub fn completion(&self, required_offset: i64) -> Completion {
        if self.high_watermark < required_offset {
            Completion::Waiting
        } else if self.isr.maximal().len() < self.effective_min_isr() {
            Completion::NotEnoughReplicasAfterAppend
        } else {
            Completion::Acknowledged
        }
    }

    /// ListOffsets "latest", for a consumer that reads uncommitted transactions too.
    ///
    /// # Errors
    /// While the high watermark is below the start of this leader epoch.
    pub fn latest_offset(&self) -> Result<i64, Refusal> {
        if self.high_watermark < self.epoch_start_offset {
            return Err(Refusal::OffsetNotAvailable);
        }
        Ok(self.high_watermark)
    }
}
