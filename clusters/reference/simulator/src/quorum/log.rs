//! A log: records in batches, from some offset on, after what a snapshot has.

use std::ops::Index;

use raft::{Batch, Epoch, EpochStart, Offset, VoterSet, VotersAt};

use crate::random::mix;

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<P> {
    /// Its leader's epoch.
    pub epoch: Epoch,
    /// What it says; none for the quorum's own.
    pub payload: Option<P>,
    /// Who votes from here on, if it is a VotersRecord.
    pub voters: Option<VoterSet>,
    /// Identifies this record, apart from its place.
    pub label: u64,
    /// Identifies this record and all before it.
    pub chain: u64,
    /// Whether it is the last of its batch. A batch is there, or it is not: never a part of it.
    pub ends_batch: bool,
}

/// The chain of what follows `chain` with a record of this label.
pub(super) fn link(chain: u64, label: u64) -> u64 {
    mix(chain ^ mix(label))
}

/// Records from an offset on. What was before it is known by its chain only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log<P> {
    start: usize,
    before: u64,
    records: Vec<Record<P>>,
    changes: Vec<VotersAt>,
}

impl<P> Default for Log<P> {
    fn default() -> Self {
        Self::after(0, 0)
    }
}

impl<P> Log<P> {
    /// An empty log that begins at `start`, after records of this chain.
    pub fn after(start: usize, chain: u64) -> Self {
        Self {
            start,
            before: chain,
            records: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// Where it begins.
    pub fn start(&self) -> usize {
        self.start
    }

    /// One past its last record's offset.
    pub fn end(&self) -> usize {
        self.start + self.records.len()
    }

    /// The record at an offset; none before the start, none from the end on.
    pub fn get(&self, at: usize) -> Option<&Record<P>> {
        self.records.get(at.checked_sub(self.start)?)
    }

    /// The records from one offset to before another, as far as they are here.
    pub fn range(&self, from: usize, to: usize) -> &[Record<P>] {
        let to = to.clamp(self.start, self.end()) - self.start;
        let from = from.max(self.start) - self.start;
        &self.records[from.min(to)..to]
    }

    /// The chain of all records below an offset; none where it is not known here.
    pub fn chain_below(&self, end: usize) -> Option<u64> {
        match end.checked_sub(self.start)? {
            0 => Some(self.before),
            length => self.records.get(length - 1).map(|last| last.chain),
        }
    }

    /// The VotersRecords in it, in order.
    pub fn changes(&self) -> &[VotersAt] {
        &self.changes
    }

    /// Adds a record, as it is.
    pub(super) fn push(&mut self, record: Record<P>) {
        if let Some(voters) = &record.voters {
            self.changes.push(VotersAt {
                offset: offset(self.end()),
                voters: voters.clone(),
            });
        }
        self.records.push(record);
    }

    /// Drops all from `end` on.
    pub(super) fn truncate(&mut self, end: usize) {
        self.records.truncate(end.saturating_sub(self.start));
        let end = offset(self.end());
        self.changes.retain(|change| change.offset < end);
    }

    /// Drops all before `start`, which is within the log.
    pub(super) fn drop_before(&mut self, start: usize) {
        let start = start.min(self.end());
        if let (true, Some(chain)) = (start > self.start, self.chain_below(start)) {
            self.records.drain(..start - self.start);
            self.changes.retain(|change| change.offset >= offset(start));
            (self.start, self.before) = (start, chain);
        }
    }

    /// Drops the end of a batch's beginning.
    pub(super) fn drop_torn_batch(&mut self) {
        while self.records.last().is_some_and(|last| !last.ends_batch) {
            self.truncate(self.end() - 1);
        }
    }

    /// Where the batch begins that has the record at `at`, or would have it.
    pub fn batch_start(&self, at: usize) -> usize {
        let mut start = at.min(self.end());
        while start > self.start && !self.records[start - 1 - self.start].ends_batch {
            start -= 1;
        }
        start.max(self.start)
    }

    /// One past the batch that has the record at `at`; none where the log has no such record.
    pub fn batch_end(&self, at: usize) -> Option<usize> {
        let after = self.records.get(at.checked_sub(self.start)?..)?;
        let last = after.iter().position(|record| record.ends_batch)?;
        Some(at + last + 1)
    }

    /// Where to stop reading from `from` on, to have about `most` records, whole batches, and one
    /// of them at least.
    pub fn read_up_to(&self, from: usize, most: usize) -> usize {
        let mut end = self.batch_end(from).unwrap_or(from);
        while let Some(next) = self.batch_end(end).filter(|next| *next <= from + most) {
            end = next;
        }
        end
    }

    /// Where each epoch begins.
    pub(super) fn epochs(&self) -> Vec<EpochStart> {
        let mut epochs: Vec<EpochStart> = Vec::new();
        for (start_offset, record) in (offset(self.start)..).zip(&self.records) {
            if epochs.last().is_none_or(|last| last.epoch != record.epoch) {
                epochs.push(EpochStart {
                    epoch: record.epoch,
                    start_offset,
                });
            }
        }
        epochs
    }
}

impl<P: Clone> Log<P> {
    /// Makes this log, from `same` on, what the other is up to `end`. Before `same` both are alike.
    pub(super) fn catch_up(&mut self, other: &Self, same: usize, end: usize) {
        self.truncate(same);
        for record in other.range(same, end) {
            self.push(record.clone());
        }
    }
}

impl<P> Index<usize> for Log<P> {
    type Output = Record<P>;

    fn index(&self, at: usize) -> &Record<P> {
        &self.records[at - self.start]
    }
}

/// What a follower's machine learns of records that begin at `from`.
pub(super) fn batches<P>(from: usize, records: &[Record<P>]) -> Vec<Batch> {
    let mut base = from;
    let whole = records.split_inclusive(|record| record.ends_batch);
    whole
        .map(|batch| {
            let base_offset = offset(base);
            base += batch.len();
            let voters = (base_offset..).zip(batch).find_map(|(offset, record)| {
                let voters = record.voters.clone()?;
                Some(VotersAt { offset, voters })
            });
            Batch {
                base_offset,
                end_offset: offset(base),
                epoch: batch[0].epoch,
                voters,
            }
        })
        .collect()
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
    use crate::quorum::Disk;

    fn log(batches: &[usize]) -> Log<u64> {
        let mut disk = Disk::new(None);
        for records in batches {
            disk.write(1, vec![(None, 7); *records]);
        }
        disk.log().clone()
    }

    #[test]
    fn reads_stop_at_batches_and_return_one_at_least() {
        let log = log(&[2, 3, 3]);
        assert_eq!(log.read_up_to(0, 1), 2);
        assert_eq!(log.read_up_to(0, 5), 5);
        assert_eq!(log.read_up_to(2, 5), 5);
        assert_eq!(log.read_up_to(8, 5), 8);
    }

    #[test]
    fn a_batch_has_a_beginning_and_an_end_wherever_one_looks() {
        let log = log(&[2, 3]);
        assert_eq!([0, 1, 2, 4, 5].map(|at| log.batch_start(at)), [0, 0, 2, 2, 5]);
        assert_eq!(log.batch_end(3), Some(5));
        assert_eq!(log.batch_end(5), None);
    }

    #[test]
    fn a_log_without_its_beginning_still_knows_what_was_there() {
        let whole = log(&[2, 3]);
        let mut short = whole.clone();
        short.drop_before(2);
        assert_eq!((short.start(), short.end()), (2, 5));
        assert_eq!(short.get(1), None);
        assert_eq!(short.get(4), whole.get(4));
        assert_eq!(short.chain_below(2), whole.chain_below(2));
        assert_eq!(short.chain_below(1), None);
    }
}
