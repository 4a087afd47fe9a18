//! A disk: what has been written, and what of it survives when the power goes.
//!
//! A snapshot is synced before it gets its name, and the quorum state before anything else is done.
//! The log is synced when that is asked for; until then, what the power leaves of it may be anything
//! between what it was at the last sync and what it is now: some of the batches written since, or
//! some of those cut off since, and its old beginning or the new one.

use raft::{DirectoryId, Epoch, LogSummary, QuorumState, SnapshotId, VoterSet, VotersAt};

use super::log::{Log, Record, length, link, offset};
use crate::Random;

/// What a node has made of the records that it applied, in the order in which it did. It tells any
/// two sequences of records apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct State {
    /// One past the last record applied.
    pub end: usize,
    /// What they make.
    pub chain: u64,
}

impl State {
    /// Takes in the record at that place.
    pub fn apply<P>(&mut self, at: usize, record: &Record<P>) {
        *self = Self {
            end: at + 1,
            chain: link(self.chain, record.label),
        };
    }
}

/// A snapshot: the state at an offset, and who votes then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Its name.
    pub id: SnapshotId,
    /// The state in it.
    pub state: State,
    /// Who votes; none where the log names no voters.
    pub voters: Option<VoterSet>,
}

/// The most bytes that a snapshot has: what counts is that it takes several slices.
const SNAPSHOT_MAX: u64 = 48;

impl Snapshot {
    /// Its size: it grows with the state.
    pub fn size(&self) -> u64 {
        1 + (self.state.end as u64).min(SNAPSHOT_MAX - 1)
    }
}

/// What has come of a snapshot that is being fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) snapshot: Snapshot,
    pub(super) length: u64,
    /// Some slice was damaged, or came from another file than the first.
    pub(super) damaged: bool,
}

/// A node's quorum state, log and snapshots.
#[derive(Debug, Clone)]
pub struct Disk<P> {
    directory: Option<DirectoryId>,
    /// Who votes, as formatting said; none where the log does not say who votes.
    formatted: Option<VoterSet>,
    quorum: QuorumState,
    written: Log<P>,
    synced: Log<P>,
    /// Up to here, the two are known to be the same.
    same: usize,
    /// In order, the newest last.
    snapshots: Vec<Snapshot>,
    pub(super) part: Option<Part>,
}

impl<P: Clone> Disk<P> {
    /// An empty one, of a node whose voters are fixed, or one that was formatted.
    pub fn new(format: Option<(DirectoryId, VoterSet)>) -> Self {
        let (directory, formatted) = format.unzip();
        Self {
            directory,
            formatted,
            quorum: QuorumState::default(),
            written: Log::default(),
            synced: Log::default(),
            same: 0,
            snapshots: Vec::new(),
            part: None,
        }
    }

    /// The id that formatting drew.
    pub fn directory(&self) -> Option<DirectoryId> {
        self.directory
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
    pub fn log(&self) -> &Log<P> {
        &self.written
    }

    /// All records that no crash can take.
    pub fn durable_log(&self) -> &Log<P> {
        &self.synced
    }

    /// The newest snapshot. It is durable.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshots.last()
    }

    /// The snapshot of that name, if it is still there.
    pub(super) fn find_snapshot(&self, id: SnapshotId) -> Option<&Snapshot> {
        self.snapshots.iter().find(|snapshot| snapshot.id == id)
    }

    /// The chain of all below `end`, where that is durable: in the log, or in a snapshot.
    pub fn durable_chain_below(&self, end: usize) -> Option<u64> {
        let newest = self.snapshot().filter(|snapshot| snapshot.state.end == end);
        self.synced
            .chain_below(end)
            .or(newest.map(|snapshot| snapshot.state.chain))
    }

    /// Where the durable part begins and ends: what is before the beginning is in a snapshot.
    pub fn durable_bounds(&self) -> (usize, usize) {
        let covered = self.snapshot().map_or(0, |snapshot| snapshot.state.end);
        if covered > self.synced.end() {
            (covered, covered)
        } else {
            (self.synced.start(), self.synced.end())
        }
    }

    /// Writes a batch of its own at the end: what each record says, and what tells that apart.
    pub fn write(&mut self, epoch: Epoch, batch: Vec<(Option<P>, u64)>) {
        let batch = batch.into_iter();
        self.write_batch(
            epoch,
            batch.map(|(payload, print)| (payload, None, print)).collect(),
        );
    }

    /// Writes a batch of the quorum's own records: the voters that each names, and what tells it apart.
    pub fn write_control(&mut self, epoch: Epoch, batch: Vec<(Option<VoterSet>, u64)>) {
        let batch = batch.into_iter();
        self.write_batch(
            epoch,
            batch.map(|(voters, print)| (None, voters, print)).collect(),
        );
    }

    fn write_batch(&mut self, epoch: Epoch, batch: Vec<(Option<P>, Option<VoterSet>, u64)>) {
        let count = batch.len();
        for ((payload, voters, fingerprint), left) in batch.into_iter().zip((0..count).rev()) {
            let before = self.written.chain_below(self.written.end()).unwrap_or(0);
            let label = (u64::from(epoch.unsigned_abs()) << 32) ^ fingerprint;
            self.written.push(Record {
                epoch,
                payload,
                voters,
                label,
                chain: link(before, label),
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

    /// Makes all before `end` durable, truncations and the log's start included.
    pub fn sync(&mut self, end: usize) {
        let (start, end) = (self.written.start(), end.min(self.written.end()));
        if self.same < start {
            self.synced = self.empty_log_as_written();
            self.same = start;
        } else {
            self.synced.drop_before(start);
        }
        if self.synced.end() > self.same || end > self.same {
            let end = end.max(self.same);
            self.synced.catch_up(&self.written, self.same, end);
            self.same = end;
        }
    }

    fn empty_log_as_written(&self) -> Log<P> {
        let start = self.written.start();
        Log::after(start, self.written.chain_below(start).unwrap_or(0))
    }

    /// A snapshot is written, synced and named.
    pub(super) fn add_snapshot(&mut self, snapshot: Snapshot) {
        self.snapshots.push(snapshot);
    }

    /// The log's beginning goes, and all snapshots but the newest so many.
    pub(super) fn drop_before(&mut self, start: usize, snapshots_kept: usize) {
        self.written.drop_before(start);
        let gone = self.snapshots.len().saturating_sub(snapshots_kept);
        self.snapshots.drain(..gone);
    }

    /// A snapshot takes the place of the log.
    pub(super) fn install(&mut self, snapshot: Snapshot) {
        self.written = Log::after(snapshot.state.end, snapshot.state.chain);
        // Nothing below the new start is the same, nor need it be.
        self.same = 0;
        self.snapshots.clear();
        self.snapshots.push(snapshot);
        self.part = None;
    }

    /// The power goes: what was not synced is lost, or not, as the disk pleases; batches that are
    /// not whole are lost.
    pub fn lose_power(&mut self, random: &mut Random) {
        if random.per_mille(500) {
            self.synced = self.remainder_of_new(random);
        } else if random.per_mille(500) {
            let more = self
                .synced
                .end()
                .saturating_sub(self.same.max(self.synced.start()));
            self.synced.truncate(self.synced.end() - random.index(more + 1));
        }
        self.synced.drop_torn_batch();
        self.written.clone_from(&self.synced);
        self.same = self.written.end();
        if let Some(part) = &mut self.part {
            part.length = random.below(part.length + 1);
        }
    }

    /// The truncation took, and some of what was written after it.
    fn remainder_of_new(&self, random: &mut Random) -> Log<P> {
        let renewed = self.same < self.written.start();
        let (mut log, same) = if renewed {
            (self.empty_log_as_written(), self.written.start())
        } else {
            (self.synced.clone(), self.same)
        };
        let kept = same + random.index(self.written.end() - same + 1);
        log.catch_up(&self.written, same, kept);
        if random.per_mille(500) {
            log.drop_before(self.written.start());
        }
        log
    }

    /// What a node does before it starts: what is there is synced; a log that the newest snapshot
    /// does not belong to goes, since it is from before that was installed; so does what was fetched
    /// of a snapshot.
    pub fn recover(&mut self) {
        self.part = None;
        if let Some(snapshot) = self.snapshots.last()
            && !belongs(&self.written, snapshot.id)
        {
            self.written = Log::after(snapshot.state.end, snapshot.state.chain);
        }
        self.synced.clone_from(&self.written);
        self.same = self.written.end();
    }

    /// Who votes below an offset of the log, and which record says so.
    pub fn voters_below(&self, end: usize) -> Option<VotersAt> {
        let formatted = VotersAt {
            offset: -1,
            voters: self.formatted.clone()?,
        };
        let named = self.named_by_snapshot();
        let changes = self.written.changes().iter();
        let at = changes
            .chain(&named)
            .filter(|at| length(at.offset) < end || at.offset < 0);
        Some(at.max_by_key(|at| at.offset).cloned().unwrap_or(formatted))
    }

    fn named_by_snapshot(&self) -> Option<VotersAt> {
        let snapshot = self.snapshot()?;
        Some(VotersAt {
            offset: snapshot.id.end_offset - 1,
            voters: snapshot.voters.clone()?,
        })
    }

    /// What a node finds when it starts.
    pub fn summary(&self) -> LogSummary {
        let formatted = self.formatted.as_ref().filter(|voters| !voters.is_empty());
        let formatted = formatted.map(|voters| VotersAt {
            offset: -1,
            voters: voters.clone(),
        });
        let named = self.named_by_snapshot();
        let covered = self.snapshot().map_or(0, |snapshot| snapshot.id.end_offset);
        let changes = self.written.changes().iter();
        let changes = changes.filter(|at| at.offset >= covered).cloned();
        let bootstrap = self.formatted.as_ref().map(|_| SnapshotId {
            end_offset: 0,
            epoch: 0,
        });
        LogSummary {
            epochs: self.written.epochs(),
            end_offset: offset(self.written.end()),
            start_offset: offset(self.written.start()),
            snapshot: self.snapshot().map(|snapshot| snapshot.id).or(bootstrap),
            voters: named.or(formatted).into_iter().chain(changes).collect(),
        }
    }
}

/// Whether a log goes on from a snapshot.
fn belongs<P>(log: &Log<P>, id: SnapshotId) -> bool {
    let end = length(id.end_offset);
    let last = end.checked_sub(1).and_then(|last| log.get(last));
    let within = (log.start()..=log.end()).contains(&end);
    within && (end == log.start() || last.is_some_and(|last| last.epoch == id.epoch))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn disk(batches: &[usize]) -> Disk<u64> {
        let mut disk = Disk::new(None);
        for records in batches {
            disk.write(1, vec![(None, 7); *records]);
        }
        disk
    }

    fn snapshot(end: usize, epoch: Epoch, chain: u64) -> Snapshot {
        let id = SnapshotId {
            end_offset: offset(end),
            epoch,
        };
        Snapshot {
            id,
            state: State { end, chain },
            voters: None,
        }
    }

    /// The logs that may be found after the power went.
    fn remainders(make: impl Fn() -> Disk<u64>) -> Vec<(usize, usize)> {
        let mut bounds = BTreeSet::new();
        for seed in 0..300 {
            let mut disk = make();
            disk.lose_power(&mut Random::new(seed));
            disk.recover();
            bounds.insert((disk.log().start(), disk.log().end()));
        }
        bounds.into_iter().collect()
    }

    #[test]
    fn the_power_takes_only_what_was_not_synced_and_batches_whole() {
        let left = remainders(|| {
            let mut disk = disk(&[2, 3, 3]);
            disk.sync(2);
            disk
        });
        assert_eq!(left, [(0, 2), (0, 5), (0, 8)]);
    }

    #[test]
    fn an_unsynced_truncation_may_be_undone_in_part_and_a_synced_one_is_not() {
        let after = |synced: bool| {
            remainders(|| {
                let mut disk = disk(&[1, 1, 1]);
                disk.sync(3);
                disk.truncate(1);
                if synced {
                    disk.sync(1);
                }
                disk
            })
        };
        assert_eq!(after(false), [(0, 1), (0, 2), (0, 3)]);
        assert_eq!(after(true), [(0, 1)]);
    }

    #[test]
    fn a_log_s_old_beginning_may_come_back_until_that_is_synced() {
        let after = |synced: bool| {
            remainders(|| {
                let mut disk = disk(&[1, 1, 1]);
                disk.sync(3);
                let chain = disk.log().chain_below(2).unwrap();
                disk.add_snapshot(snapshot(2, 1, chain));
                disk.drop_before(2, 1);
                if synced {
                    disk.sync(3);
                }
                disk
            })
        };
        assert_eq!(after(false), [(0, 3), (2, 3)]);
        assert_eq!(after(true), [(2, 3)]);
    }

    #[test]
    fn an_installed_snapshot_stays_whatever_comes_back_of_the_old_log() {
        let left = remainders(|| {
            let mut disk = disk(&[1, 1]);
            disk.sync(2);
            disk.install(snapshot(7, 3, 99));
            disk.write(3, vec![(None, 1)]);
            disk
        });
        assert_eq!(left, [(7, 7), (7, 8)]);
    }

    #[test]
    fn a_snapshot_ahead_of_what_was_synced_replaces_the_log() {
        let left = remainders(|| {
            let mut disk = disk(&[1, 1, 1]);
            disk.sync(1);
            let chain = disk.log().chain_below(2).unwrap();
            disk.add_snapshot(snapshot(2, 1, chain));
            disk.drop_before(2, 1);
            disk
        });
        assert_eq!(left, [(2, 2), (2, 3)]);
    }
}
