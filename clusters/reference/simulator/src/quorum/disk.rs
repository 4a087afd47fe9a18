//! A disk: what has been written, and what of it survives a crash.

use raft::{Epoch, EpochStart, LogSummary, Offset, QuorumState};

use crate::Random;
use crate::random::mix;

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<P> {
    /// Its leader's epoch.
    pub epoch: Epoch,
    /// What it says; none for the LeaderChange.
    pub payload: Option<P>,
    /// Identifies this record and all before it.
    pub chain: u64,
    /// Whether it is the last of its batch. A batch is there, or it is not: never a part of it.
    pub ends_batch: bool,
}

/// A node's quorum state and log.
#[derive(Debug, Clone)]
pub struct Disk<P> {
    quorum: QuorumState,
    written: Vec<Record<P>>,
    synced: Vec<Record<P>>,
    /// Up to here, the two are known to be the same.
    same: usize,
}

impl<P: Clone> Disk<P> {
    /// An empty one.
    pub fn new() -> Self {
        Self {
            quorum: QuorumState::default(),
            written: Vec::new(),
            synced: Vec::new(),
            same: 0,
        }
    }

    /// The durable quorum state.
    pub fn quorum(&self) -> QuorumState {
        self.quorum
    }

    /// Replaces it, durably.
    pub fn persist(&mut self, quorum: QuorumState) {
        self.quorum = quorum;
    }

    /// All records written.
    pub fn log(&self) -> &[Record<P>] {
        &self.written
    }

    /// All records that a crash cannot take.
    pub fn durable_log(&self) -> &[Record<P>] {
        &self.synced
    }

    /// Writes a batch of its own at the end: what each record says, and what tells that apart.
    pub fn write(&mut self, epoch: Epoch, batch: Vec<(Option<P>, u64)>) {
        let count = batch.len();
        for ((payload, fingerprint), left) in batch.into_iter().zip((0..count).rev()) {
            let before = self.written.last().map_or(0, |last| last.chain);
            let label = (u64::from(epoch.unsigned_abs()) << 32) ^ fingerprint;
            self.written.push(Record {
                epoch,
                payload,
                chain: mix(before ^ mix(label)),
                ends_batch: left == 0,
            });
        }
    }

    /// Writes a copy of another node's record at the end.
    pub fn copy(&mut self, record: Record<P>) {
        self.written.push(record);
    }

    /// Drops all from `end` on.
    pub fn truncate(&mut self, end: usize) {
        self.written.truncate(end);
        self.same = self.same.min(end);
    }

    /// Makes all before `end` durable, truncations included.
    pub fn sync(&mut self, end: usize) {
        let end = end.min(self.written.len());
        if self.synced.len() > self.same || end > self.same {
            self.synced.truncate(self.same);
            let end = end.max(self.same);
            self.synced.extend_from_slice(&self.written[self.same..end]);
            self.same = end;
        }
    }

    /// Loses what was not synced: all of it, or some of its end, as the disk pleases, and batches
    /// that are not whole. An unsynced truncation may be undone.
    pub fn crash(&mut self, random: &mut Random) {
        if random.per_mille(500) {
            let kept = self.same + random.index(self.written.len() - self.same + 1);
            self.synced.truncate(self.same);
            self.synced.extend_from_slice(&self.written[self.same..kept]);
        }
        while self.synced.pop_if(|last| !last.ends_batch).is_some() {}
        self.written.clone_from(&self.synced);
        self.same = self.written.len();
    }

    /// Where to stop reading from `from` on, to have about `most` records and whole batches.
    pub fn read_up_to(&self, from: usize, most: usize) -> usize {
        let left = self.written.iter().enumerate().skip(from);
        let ends = left.filter(|(_, record)| record.ends_batch);
        let mut ends = ends.map(|(at, _)| at + 1).peekable();
        let mut end = ends.peek().copied().unwrap_or(from);
        for next in ends.take_while(|next| *next <= from + most) {
            end = next;
        }
        end
    }

    /// What a node finds when it starts.
    pub fn summary(&self) -> LogSummary {
        let mut epochs: Vec<EpochStart> = Vec::new();
        for (start_offset, record) in (0..).zip(&self.written) {
            if epochs.last().is_none_or(|last| last.epoch != record.epoch) {
                epochs.push(EpochStart {
                    epoch: record.epoch,
                    start_offset,
                });
            }
        }
        LogSummary {
            epochs,
            end_offset: offset(self.written.len()),
            ..LogSummary::default()
        }
    }
}

impl<P: Clone> Default for Disk<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// A length as an offset; no simulated log comes near the limit.
pub(crate) fn offset(length: usize) -> Offset {
    Offset::try_from(length).unwrap_or(Offset::MAX)
}

/// An offset as a length; what is below zero has none before it.
pub(crate) fn length(offset: Offset) -> usize {
    usize::try_from(offset).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(batches: &[usize]) -> Disk<u64> {
        let mut disk = Disk::new();
        for records in batches {
            disk.write(1, vec![(None, 7); *records]);
        }
        disk
    }

    #[test]
    fn a_crash_takes_only_what_was_not_synced_and_batches_whole() {
        let mut lengths = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let mut disk = disk(&[2, 3, 3]);
            disk.sync(2);
            disk.crash(&mut Random::new(seed));
            lengths.insert(disk.log().len());
        }
        assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [2, 5, 8]);
    }

    #[test]
    fn an_unsynced_truncation_may_be_undone_and_a_synced_one_is_not() {
        let after = |synced: bool| {
            let mut lengths = std::collections::BTreeSet::new();
            for seed in 0..200 {
                let mut disk = disk(&[1, 1, 1]);
                disk.sync(3);
                disk.truncate(1);
                if synced {
                    disk.sync(1);
                }
                disk.crash(&mut Random::new(seed));
                lengths.insert(disk.log().len());
            }
            lengths.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(after(false), [1, 3]);
        assert_eq!(after(true), [1]);
    }

    #[test]
    fn reads_stop_at_batches_and_return_one_at_least() {
        let disk = disk(&[2, 3, 3]);
        assert_eq!(disk.read_up_to(0, 1), 2);
        assert_eq!(disk.read_up_to(0, 5), 5);
        assert_eq!(disk.read_up_to(2, 5), 5);
        assert_eq!(disk.read_up_to(8, 5), 8);
    }
}
