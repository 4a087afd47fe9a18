//! A log: a folder of segments that hold contiguous record batches.
//!
//! (skeleton; being filled in)

use std::path::Path;

use bytes::Bytes;

use crate::batch::BatchHeader;
use crate::epochs::LeaderEpochs;
use crate::error::Result;

/// How a log is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogConfig {
    /// A segment that would grow beyond this is followed by a new one (`log.segment.bytes`).
    pub segment_bytes: u64,
}

/// What [`Log::open`] had to do. All zero, and `None`, after a clean shutdown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Bytes cut off: a torn tail, or everything from a damaged batch on.
    pub cut_bytes: u64,
    /// Segments removed because they followed the cut.
    pub removed_segments: usize,
    /// Why the cut was made, and where.
    pub reason: Option<String>,
}

/// What an append did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The offset of the first record.
    pub first_offset: i64,
    /// The log's end offset after it.
    pub end_offset: i64,
    /// The log's last batch was put into a new segment.
    pub rolled: bool,
}

/// How much [`Log::read`] may return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimit {
    /// No more bytes than this...
    pub max_bytes: usize,
    /// ...except that the first batch is returned even if it alone is larger.
    pub at_least_one: bool,
    /// Only batches that lie wholly below this offset.
    pub upper_bound: i64,
}

/// A log.
#[derive(Debug)]
pub struct Log {}

#[allow(unused_variables)]
impl Log {
    /// Opens the log in `folder`, which is made if need be, with `start_offset` as its checkpoint says
    /// (0 if it says nothing). Scans and checks every batch.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn open(folder: &Path, config: LogConfig, start_offset: i64) -> Result<(Self, Recovery)> {
        todo!()
    }
    /// The first offset that can be read.
    pub fn start_offset(&self) -> i64 {
        todo!()
    }
    /// The offset the next record will get.
    pub fn end_offset(&self) -> i64 {
        todo!()
    }
    /// Everything below this offset survives a loss of power.
    pub fn synced_offset(&self) -> i64 {
        todo!()
    }
    /// The leader-epoch cache; its `end_offset_for` wants [`Log::end_offset`].
    pub fn epochs(&self) -> &LeaderEpochs {
        todo!()
    }
    /// Notes that this replica leads `leader_epoch` from the log's end on, durably. To be called when it
    /// becomes leader, before it serves anyone.
    pub fn assign_epoch(&mut self, leader_epoch: i32) -> Result<()> {
        todo!()
    }
    /// Appends as a leader: `batches` get the next offsets and `leader_epoch`, in place.
    pub fn append_as_leader(&mut self, batches: &mut [u8], leader_epoch: i32) -> Result<Appended> {
        todo!()
    }
    /// Appends as a follower: `batches` have their offsets and epochs, and begin at the log's end.
    pub fn append_as_follower(&mut self, batches: &[u8]) -> Result<Appended> {
        todo!()
    }
    /// Whole batches from the one that holds `offset` on. Empty at the end and at the upper bound.
    pub fn read(&self, offset: i64, limit: ReadLimit) -> Result<Bytes> {
        todo!()
    }
    /// The headers of the batches from the one that holds `offset` on.
    pub fn headers(&self, offset: i64) -> Result<impl Iterator<Item = Result<BatchHeader>>> {
        Ok(std::iter::empty())
    }
    /// Removes every batch that reaches `offset` or beyond, and every epoch that began there; the log
    /// then ends at or below `offset`. Returns its end.
    pub fn truncate_to(&mut self, offset: i64) -> Result<i64> {
        todo!()
    }
    /// Removes everything, and starts afresh at `offset`.
    pub fn reset_to(&mut self, offset: i64) -> Result<()> {
        todo!()
    }
    /// Moves the start up to `offset`, and removes segments that lie wholly below it.
    pub fn advance_start(&mut self, offset: i64) -> Result<()> {
        todo!()
    }
    /// Makes everything appended so far survive a loss of power. Returns the synced end offset.
    pub fn sync(&mut self) -> Result<i64> {
        todo!()
    }
}
