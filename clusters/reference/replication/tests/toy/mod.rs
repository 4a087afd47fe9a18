//! A log of one-record batches, in memory, with an epoch cache as the real one has.

#![allow(dead_code)] // each test file uses a part

use replication::{EpochEnd, LogView};

/// A record: the epoch of the leader that appended it, and what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub leader_epoch: i32,
    pub value: u64,
}

/// The log.
#[derive(Debug, Clone, Default)]
pub struct ToyLog {
    pub start: i64,
    pub entries: Vec<Entry>,
    pub cache: Vec<(i32, i64)>,
}

impl ToyLog {
    /// A log whose records have these epochs.
    pub fn of(epochs: &[i32]) -> Self {
        let mut log = Self::default();
        for (value, &leader_epoch) in epochs.iter().enumerate() {
            log.append(Entry {
                leader_epoch,
                value: value as u64,
            });
        }
        log
    }

    pub fn assign(&mut self, leader_epoch: i32) {
        let end = self.end_offset();
        if self.latest_epoch() != Some(leader_epoch) {
            self.cache
                .retain(|&(epoch, start)| epoch < leader_epoch && start < end);
            self.cache.push((leader_epoch, end));
        }
    }

    pub fn append(&mut self, entry: Entry) {
        assert!(
            self.latest_epoch()
                .is_none_or(|latest| latest <= entry.leader_epoch),
            "epochs went back"
        );
        self.assign(entry.leader_epoch);
        self.entries.push(entry);
    }

    pub fn truncate(&mut self, to: i64) {
        self.entries
            .truncate(usize::try_from(to - self.start).unwrap_or(0));
        let end = self.end_offset();
        self.cache.retain(|&(_, start)| start < end);
    }
}

impl LogView for ToyLog {
    fn start_offset(&self) -> i64 {
        self.start
    }

    fn end_offset(&self) -> i64 {
        self.start + self.entries.len() as i64
    }

    fn latest_epoch(&self) -> Option<i32> {
        self.cache.last().map(|entry| entry.0)
    }

    fn end_offset_for(&self, asked: i32) -> Option<EpochEnd> {
        let last = *self.cache.last()?;
        let answer = |leader_epoch, end_offset| {
            Some(EpochEnd {
                leader_epoch,
                end_offset,
            })
        };
        match self.cache.iter().position(|&(epoch, _)| epoch > asked) {
            None if asked == last.0 => answer(asked, self.end_offset()),
            None => None,
            Some(0) => answer(asked, self.cache[0].1),
            Some(next) => answer(self.cache[next - 1].0, self.cache[next].1),
        }
    }
}
