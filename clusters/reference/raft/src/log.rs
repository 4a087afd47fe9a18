//! What the machine knows of the log: where each epoch starts, where the log ends, how far it is
//! synced. Never a record.

use std::fmt;

use crate::{Batch, Epoch, Offset, SnapshotId, SyncTicket, VotersAt};

/// Where an epoch's records start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochStart {
    /// The epoch.
    pub epoch: Epoch,
    /// Its first record's offset.
    pub start_offset: Offset,
}

/// Where an epoch's records end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEnd {
    /// The epoch.
    pub epoch: Epoch,
    /// One past its last record's offset.
    pub end_offset: Offset,
}

/// The log as found on disk. The default is the empty log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogSummary {
    /// The epochs that have records, ascending in both parts.
    pub epochs: Vec<EpochStart>,
    /// One past the last record's offset.
    pub end_offset: Offset,
    /// Where the log begins; its first record's epoch may have started before.
    pub start_offset: Offset,
    /// The newest snapshot, the one that formatting writes included.
    pub snapshot: Option<SnapshotId>,
    /// The voters that the newest snapshot and the records after it name, in order.
    pub voters: Vec<VotersAt>,
}

/// Why a summary describes no log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogError {
    /// The first epoch must start where the log does, and each later one, with a larger epoch,
    /// beyond the one before it and below the end.
    Disordered(EpochStart),
    /// There are records, but no epochs.
    NoEpochs,
    /// The log ends before it starts, or starts below 0.
    Bounds(Offset, Offset),
    /// What is missing before the log's start, or after its end, no snapshot has.
    SnapshotApart {
        /// The newest snapshot.
        snapshot: Option<SnapshotId>,
        /// Where the log starts.
        start_offset: Offset,
        /// Where the log ends.
        end_offset: Offset,
    },
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disordered(entry) => write!(
                f,
                "epoch {} cannot start at offset {} after the epochs before it",
                entry.epoch, entry.start_offset
            ),
            Self::NoEpochs => write!(f, "the log has records, but no epoch starts anywhere"),
            Self::Bounds(start, end) => write!(f, "the log cannot go from offset {start} to {end}"),
            Self::SnapshotApart {
                snapshot,
                start_offset,
                end_offset,
            } => {
                let snapshot = snapshot.map_or("there is no snapshot".to_owned(), |id| {
                    format!("the newest snapshot ends at {}", id.end_offset)
                });
                write!(
                    f,
                    "the log goes from offset {start_offset} to {end_offset}, but {snapshot}"
                )
            }
        }
    }
}

impl std::error::Error for LogError {}

/// What a fetcher at some place in its log is to get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Its log is a prefix of this one: what follows.
    Records,
    /// Its log parts from this one.
    Diverging(EpochEnd),
    /// What follows is no longer here.
    Snapshot(SnapshotId),
    /// Beyond the end.
    OutOfRange,
}

/// The live summary.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    epochs: Vec<EpochStart>,
    start: Offset,
    /// The epoch of the record before `start`, where it is known.
    before_start: Option<Epoch>,
    end: Offset,
    synced: Offset,
    /// The newest snapshot; never the one that formatting writes, which holds no record.
    snapshot: Option<SnapshotId>,
    /// Counts truncations, so that tickets from before one are known.
    generation: u64,
}

impl Log {
    pub(crate) fn new(summary: LogSummary) -> Result<Self, LogError> {
        check_bounds(&summary)?;
        let mut before: Option<EpochStart> = None;
        for entry in &summary.epochs {
            let fits = match before {
                None => entry.start_offset == summary.start_offset && entry.epoch >= 0,
                Some(last) => entry.epoch > last.epoch && entry.start_offset > last.start_offset,
            };
            if !fits || entry.start_offset >= summary.end_offset {
                return Err(LogError::Disordered(*entry));
            }
            before = Some(*entry);
        }
        if before.is_none() && summary.end_offset != summary.start_offset {
            return Err(LogError::NoEpochs);
        }
        let snapshot = summary.snapshot.filter(|id| id.end_offset > 0);
        Ok(Self {
            start: summary.start_offset,
            before_start: snapshot
                .filter(|id| id.end_offset == summary.start_offset)
                .map(|id| id.epoch),
            synced: summary.end_offset,
            end: summary.end_offset,
            epochs: summary.epochs,
            snapshot,
            generation: 0,
        })
    }

    pub(crate) fn start(&self) -> Offset {
        self.start
    }

    pub(crate) fn end(&self) -> Offset {
        self.end
    }

    pub(crate) fn synced(&self) -> Offset {
        self.synced
    }

    pub(crate) fn snapshot(&self) -> Option<SnapshotId> {
        self.snapshot
    }

    /// The last record's epoch, be it in a snapshot; 0 when there is none.
    pub(crate) fn last_epoch(&self) -> Epoch {
        let last = self.epochs.last().map(|entry| entry.epoch);
        last.or(self.before_start).unwrap_or(0)
    }

    pub(crate) fn append(&mut self, epoch: Epoch, end: Offset) {
        if self.epochs.last().is_none_or(|last| last.epoch != epoch) {
            self.epochs.push(EpochStart {
                epoch,
                start_offset: self.end,
            });
        }
        self.end = end;
    }

    /// How many of a leader's batches, in order, carry this log on. A well-meaning leader's all do.
    pub(crate) fn fitting(&self, batches: &[Batch], leader_epoch: Epoch) -> usize {
        let (mut end, mut epoch) = (self.end, self.last_epoch());
        batches
            .iter()
            .take_while(|batch| {
                let fits = batch.base_offset == end
                    && batch.end_offset > end
                    && batch.epoch >= epoch
                    && batch.epoch <= leader_epoch;
                (end, epoch) = (batch.end_offset, batch.epoch);
                fits
            })
            .count()
    }

    pub(crate) fn truncate(&mut self, end: Offset) {
        self.epochs.retain(|entry| entry.start_offset < end);
        self.end = end;
        self.synced = self.synced.min(end);
        self.generation += 1;
    }

    /// A snapshot of a prefix is there, and what is before `start` goes. False, and nothing
    /// happens, where that makes no sense.
    pub(crate) fn note_snapshot(&mut self, snapshot: SnapshotId, start: Offset) -> bool {
        let newer = self
            .snapshot
            .is_none_or(|old| snapshot.end_offset > old.end_offset);
        let sound =
            newer && snapshot.end_offset <= self.end && (self.start..=snapshot.end_offset).contains(&start);
        if !sound {
            return false;
        }
        self.snapshot = Some(snapshot);
        if start > self.start {
            self.before_start = self.epoch_before(start);
            self.start = start;
            let gone = self.epochs.partition_point(|entry| entry.start_offset <= start);
            // The last of these may go on beyond the start.
            let end_of_last = self.epochs.get(gone).map_or(self.end, |next| next.start_offset);
            let kept_from = if end_of_last > start { gone - 1 } else { gone };
            self.epochs.drain(..kept_from);
            if let Some(first) = self.epochs.first_mut() {
                first.start_offset = start;
            }
        }
        true
    }

    /// A snapshot took the place of all that was here.
    pub(crate) fn reset(&mut self, snapshot: SnapshotId) {
        self.epochs.clear();
        self.start = snapshot.end_offset;
        self.before_start = Some(snapshot.epoch);
        self.end = snapshot.end_offset;
        self.synced = snapshot.end_offset;
        self.snapshot = Some(snapshot);
        self.generation += 1;
    }

    pub(crate) fn ticket(&self) -> SyncTicket {
        SyncTicket {
            generation: self.generation,
            end_offset: self.end,
        }
    }

    /// Takes a ticket back. False when it says nothing new.
    pub(crate) fn mark_synced(&mut self, ticket: SyncTicket) -> bool {
        let news = ticket.generation == self.generation && ticket.end_offset > self.synced;
        if news {
            self.synced = ticket.end_offset.min(self.end);
        }
        news
    }

    /// The epoch of the record before `offset`, which is none of those that are gone.
    pub(crate) fn epoch_before(&self, offset: Offset) -> Option<Epoch> {
        if offset == self.start {
            return self.before_start;
        }
        let at = self.epochs.partition_point(|entry| entry.start_offset < offset);
        Some(self.epochs[at.checked_sub(1)?].epoch)
    }

    /// The largest epoch with records that is not above `epoch`, and where it ends; none where its
    /// records, if it had any, are before the log's start. In a log that begins at 0, an epoch
    /// before all others ends at 0.
    fn end_of(&self, epoch: Epoch) -> Option<EpochEnd> {
        let above = self.epochs.partition_point(|entry| entry.epoch <= epoch);
        if let Some(floor) = above.checked_sub(1) {
            let end_offset = self.epochs.get(above).map_or(self.end, |next| next.start_offset);
            return Some(EpochEnd {
                epoch: self.epochs[floor].epoch,
                end_offset,
            });
        }
        let before = if self.start == 0 {
            Some(epoch)
        } else {
            self.before_start
        };
        before.filter(|before| *before <= epoch).map(|epoch| EpochEnd {
            epoch,
            end_offset: self.start,
        })
    }

    /// What a fetcher gets whose log ends at `offset` with a record of `epoch`; a mere reader
    /// does not say what its log ends with (KIP-595 "Fetch"; KIP-630 "Validation of offset and epoch").
    pub(crate) fn place_of(&self, offset: Offset, epoch: Option<Epoch>) -> Place {
        if let Some(snapshot) = self.snapshot
            && (offset < self.start || offset == 0)
        {
            return Place::Snapshot(snapshot);
        }
        let end = match epoch {
            Some(epoch) if offset > 0 => match self.end_of(epoch) {
                // An epoch from before the log's start: only the snapshot knows where it ended.
                None => return self.snapshot.map_or(Place::OutOfRange, Place::Snapshot),
                Some(ours) if ours.epoch != epoch || ours.end_offset < offset => {
                    return Place::Diverging(ours);
                }
                Some(_) => self.end,
            },
            _ => self.end,
        };
        if offset > end {
            Place::OutOfRange
        } else {
            Place::Records
        }
    }

    /// Where to cut this log, given where the leader's ends in an epoch (KIP-595 "Fetch", on diverging epochs;
    /// Raft 5.3): nothing that both may
    /// share is cut, and repeating the exchange reaches the last shared record. At and beyond the
    /// leader's end of that epoch, the leader has only epochs that this log lacks.
    pub(crate) fn cut_for(&self, leader: EpochEnd) -> Offset {
        let ours = self.end_of(leader.epoch).map_or(0, |ours| ours.end_offset);
        ours.min(leader.end_offset).max(0)
    }
}

fn check_bounds(summary: &LogSummary) -> Result<(), LogError> {
    let (start_offset, end_offset) = (summary.start_offset, summary.end_offset);
    if start_offset < 0 || end_offset < start_offset {
        return Err(LogError::Bounds(start_offset, end_offset));
    }
    let covered = summary.snapshot.map_or(0, |id| id.end_offset);
    if (start_offset..=end_offset).contains(&covered) || start_offset == 0 && covered <= end_offset {
        return Ok(());
    }
    Err(LogError::SnapshotApart {
        snapshot: summary.snapshot,
        start_offset,
        end_offset,
    })
}
