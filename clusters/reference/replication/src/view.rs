//! What this crate asks of a log.

/// Where an epoch ended in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEnd {
    /// The epoch that was found: the one asked for, or the largest below it.
    pub leader_epoch: i32,
    /// The offset after its last record.
    pub end_offset: i64,
}

/// A log, as far as replication must see it.
pub trait LogView {
    /// The first offset that can be read.
    fn start_offset(&self) -> i64;
    /// The offset the next record will get.
    fn end_offset(&self) -> i64;
    /// The latest leader epoch in the epoch cache.
    fn latest_epoch(&self) -> Option<i32>;
    /// Where `leader_epoch` ended: the latest epoch at the log's end; `None` for one larger than any
    /// known, or when none is known; one below the first known, itself and the first's start; any
    /// other, the largest known up to it and the start of the one after that.
    fn end_offset_for(&self, leader_epoch: i32) -> Option<EpochEnd>;
}
