//! The leader-epoch cache: at which offset each leader epoch began.
//!
//! It answers the question on which truncation rests (KIP-101, KIP-279): where did epoch *e* end in
//! this log? On disk it is `leader-epoch-checkpoint`: a line `0` (the version), a line with the number
//! of entries, and a line `epoch start-offset` for each.
//!
//! Invariant: epochs and start offsets both increase strictly from entry to entry.

use std::path::Path;

use crate::atomic;
use crate::error::{Result, StorageError};

/// The name of the checkpoint in a log's folder.
pub const FILE_NAME: &str = "leader-epoch-checkpoint";
/// The only version of the file.
const VERSION: &str = "0";

/// An epoch, and the offset of its first record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEntry {
    /// The leader epoch.
    pub leader_epoch: i32,
    /// The offset at which it began.
    pub start_offset: i64,
}

/// Where an epoch ended: the answer of [`LeaderEpochs::end_offset_for`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEnd {
    /// The epoch that was found: the one asked for, or the largest below it.
    pub leader_epoch: i32,
    /// The offset after its last record.
    pub end_offset: i64,
}

/// The cache.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeaderEpochs {
    entries: Vec<EpochEntry>,
}

impl LeaderEpochs {
    /// The entries, oldest first.
    pub fn entries(&self) -> &[EpochEntry] {
        &self.entries
    }

    /// The latest epoch.
    pub fn latest(&self) -> Option<i32> {
        self.entries.last().map(|entry| entry.leader_epoch)
    }

    /// Notes that `leader_epoch` begins at `start_offset`, unless that epoch is known already. Entries
    /// that this contradicts, and epochs that turn out to have had no record, go. Returns whether
    /// anything changed.
    pub fn assign(&mut self, leader_epoch: i32, start_offset: i64) -> bool {
        let new = EpochEntry {
            leader_epoch,
            start_offset,
        };
        if let Some(last) = self.entries.last()
            && last.leader_epoch == leader_epoch
            && last.start_offset <= start_offset
        {
            return false;
        }
        self.entries
            .retain(|old| old.leader_epoch < leader_epoch && old.start_offset < start_offset);
        self.entries.push(new);
        true
    }

    /// Where `leader_epoch` ended in a log that ends at `log_end`:
    /// - the latest epoch ends at the log's end;
    /// - an epoch larger than any known has no answer, nor has any when no epoch is known;
    /// - an epoch below the first known is answered with itself and the first's start;
    /// - any other, with the largest known epoch up to it, and the start of the one after that.
    pub fn end_offset_for(&self, leader_epoch: i32, log_end: i64) -> Option<EpochEnd> {
        if leader_epoch < 0 {
            return None;
        }
        let (first, last) = (self.entries.first()?, self.entries.last()?);
        if leader_epoch > last.leader_epoch {
            return None;
        }
        if leader_epoch == last.leader_epoch {
            return Some(EpochEnd {
                leader_epoch,
                end_offset: log_end,
            });
        }
        if leader_epoch < first.leader_epoch {
            return Some(EpochEnd {
                leader_epoch,
                end_offset: first.start_offset,
            });
        }
        // The first epoch is not larger and the last one is: both neighbours exist.
        let next = self
            .entries
            .partition_point(|entry| entry.leader_epoch <= leader_epoch);
        Some(EpochEnd {
            leader_epoch: self.entries[next - 1].leader_epoch,
            end_offset: self.entries[next].start_offset,
        })
    }

    /// The epoch of the record at `offset`, when one is known to have begun by then.
    pub fn epoch_at(&self, offset: i64) -> Option<i32> {
        let next = self.entries.partition_point(|entry| entry.start_offset <= offset);
        next.checked_sub(1).map(|at| self.entries[at].leader_epoch)
    }

    /// Forgets epochs that began at or after `end_offset`. Returns whether any did.
    pub fn truncate_from_end(&mut self, end_offset: i64) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.start_offset < end_offset);
        self.entries.len() != before
    }

    /// Forgets what lies below `start_offset`; the epoch that covers it now begins there. Returns
    /// whether anything changed.
    pub fn truncate_from_start(&mut self, start_offset: i64) -> bool {
        let below = self
            .entries
            .partition_point(|entry| entry.start_offset <= start_offset);
        if below == 0 || self.entries[below - 1].start_offset == start_offset && below == 1 {
            return false;
        }
        self.entries.drain(..below - 1);
        self.entries[0].start_offset = start_offset;
        true
    }

    /// Reads a checkpoint; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read, or is not what the format says.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let Some(text) = atomic::read_text(path)? else {
            return Ok(None);
        };
        let mut epochs = Self::default();
        let lines = crate::offsets::checkpoint_lines(path, &text, VERSION)?;
        for (number, line) in lines {
            let bad = |reason| StorageError::parse(path, number, reason);
            let entry = parse_entry(line)
                .ok_or_else(|| bad(format!("'epoch start-offset' expected, found '{line}'")))?;
            let increases = epochs.entries.last().is_none_or(|last| {
                last.leader_epoch < entry.leader_epoch && last.start_offset < entry.start_offset
            });
            if !increases {
                return Err(bad("epochs and offsets must increase from line to line".into()));
            }
            epochs.entries.push(entry);
        }
        Ok(Some(epochs))
    }

    /// Replaces the checkpoint, synced.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut text = format!("{VERSION}\n{}\n", self.entries.len());
        for entry in &self.entries {
            text.push_str(&format!("{} {}\n", entry.leader_epoch, entry.start_offset));
        }
        atomic::replace(path, text.as_bytes())
    }
}

fn parse_entry(line: &str) -> Option<EpochEntry> {
    let (epoch, offset) = line.split_once(' ')?;
    let entry = EpochEntry {
        leader_epoch: epoch.parse().ok()?,
        start_offset: offset.parse().ok()?,
    };
    (entry.leader_epoch >= 0 && entry.start_offset >= 0).then_some(entry)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::Folder;

    fn of(entries: &[(i32, i64)]) -> LeaderEpochs {
        let mut epochs = LeaderEpochs::default();
        for &(leader_epoch, start_offset) in entries {
            assert!(epochs.assign(leader_epoch, start_offset));
        }
        epochs
    }

    #[test]
    fn assigning_drops_what_it_contradicts() {
        let mut epochs = of(&[(0, 0), (2, 10), (3, 20)]);
        assert!(!epochs.assign(3, 25), "known");
        assert!(epochs.assign(5, 20), "epoch 3 had no record");
        assert_eq!(epochs, of(&[(0, 0), (2, 10), (5, 20)]));
        assert!(epochs.assign(6, 5), "an earlier offset in a later epoch");
        assert_eq!(epochs, of(&[(0, 0), (6, 5)]));
    }

    #[test]
    fn ends_are_found_and_missed_as_they_should() {
        let none = LeaderEpochs::default();
        assert_eq!(
            (none.end_offset_for(0, 5), none.latest(), none.epoch_at(0)),
            (None, None, None)
        );
        let epochs = of(&[(2, 10), (4, 20)]);
        let end = |epoch| {
            epochs
                .end_offset_for(epoch, 30)
                .map(|end| (end.leader_epoch, end.end_offset))
        };
        assert_eq!([end(5), end(4), end(3)], [None, Some((4, 30)), Some((2, 20))]);
        assert_eq!([end(2), end(1), end(-1)], [Some((2, 20)), Some((1, 10)), None]);
        assert_eq!(
            [9, 10, 19, 20, 99].map(|at| epochs.epoch_at(at)),
            [None, Some(2), Some(2), Some(4), Some(4)]
        );
    }

    #[test]
    fn truncation_from_either_end() {
        let mut epochs = of(&[(0, 0), (2, 10), (4, 20)]);
        assert!(!epochs.truncate_from_end(21) && epochs.truncate_from_end(20));
        assert_eq!(epochs, of(&[(0, 0), (2, 10)]));
        assert!(!epochs.truncate_from_start(0) && epochs.truncate_from_start(5));
        assert_eq!(epochs, of(&[(0, 5), (2, 10)]));
        assert!(epochs.truncate_from_start(10));
        assert_eq!(epochs, of(&[(2, 10)]));
        assert!(!epochs.truncate_from_start(10) && !epochs.truncate_from_start(3));
        assert!(epochs.truncate_from_end(0) && epochs.entries().is_empty());
        assert!(!epochs.truncate_from_start(3));
    }

    #[test]
    fn the_file_is_kafkas() {
        let folder = Folder::new();
        let path = folder.file(FILE_NAME);
        assert_eq!(LeaderEpochs::read(&path).unwrap(), None);
        let epochs = of(&[(0, 0), (2, 10)]);
        epochs.write(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "0\n2\n0 0\n2 10\n");
        assert_eq!(LeaderEpochs::read(&path).unwrap(), Some(epochs));
    }

    #[test]
    fn bad_files_are_errors_with_a_line() {
        let folder = Folder::new();
        let path = folder.file(FILE_NAME);
        for (text, bad_line) in [
            ("", 1),
            ("1\n0\n", 1),
            ("0\n", 2),
            ("0\nx\n", 2),
            ("0\n2\n0 0\n", 2),
            ("0\n1\n0\n", 3),
            ("0\n1\n0 0 0\n", 3),
            ("0\n1\n-1 0\n", 3),
            ("0\n2\n1 0\n1 5\n", 4),
            ("0\n2\n1 5\n2 5\n", 4),
        ] {
            fs::write(&path, text).unwrap();
            match LeaderEpochs::read(&path) {
                Err(StorageError::Parse { line, .. }) => assert_eq!(line, bad_line, "{text:?}"),
                other => panic!("{text:?}: {other:?}"),
            }
        }
    }
}
