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
    /// The first epoch must start at 0, and each later one, with a larger epoch, beyond the one
    /// before it and below the end.
    Disordered(EpochStart),
    /// There are records, but no epochs.
    NoEpochs,
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
        }
    }
}

impl std::error::Error for LogError {}

/// The live summary.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    epochs: Vec<EpochStart>,
    end: Offset,
    synced: Offset,
    /// Counts truncations, so that tickets from before one are known.
    generation: u64,
}

impl Log {
    pub(crate) fn new(summary: LogSummary) -> Result<Self, LogError> {
        let mut before: Option<EpochStart> = None;
        for entry in &summary.epochs {
            let fits = match before {
                None => entry.start_offset == 0 && entry.epoch >= 0,
                Some(last) => entry.epoch > last.epoch && entry.start_offset > last.start_offset,
            };
            if !fits || entry.start_offset >= summary.end_offset {
                return Err(LogError::Disordered(*entry));
            }
            before = Some(*entry);
        }
        if before.is_none() && summary.end_offset != 0 {
            return Err(LogError::NoEpochs);
        }
        Ok(Self {
            synced: summary.end_offset,
            end: summary.end_offset,
            epochs: summary.epochs,
            generation: 0,
        })
    }

    pub(crate) fn end(&self) -> Offset {
        self.end
    }

    pub(crate) fn synced(&self) -> Offset {
        self.synced
    }

    /// The last record's epoch; 0 when there is none.
    pub(crate) fn last_epoch(&self) -> Epoch {
        self.epochs.last().map_or(0, |entry| entry.epoch)
    }

    pub(crate) fn append(&mut self, epoch: Epoch, end: Offset) {
        if self.last_epoch() != epoch || self.epochs.is_empty() {
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

    /// The largest epoch with records that is not above `epoch`, and where it ends; where the log
    /// begins, under the epoch asked for, if there is none.
    pub(crate) fn end_of(&self, epoch: Epoch) -> EpochEnd {
        let above = self.epochs.partition_point(|entry| entry.epoch <= epoch);
        EpochEnd {
            epoch: above
                .checked_sub(1)
                .map_or(epoch, |floor| self.epochs[floor].epoch),
            end_offset: match (above, self.epochs.get(above)) {
                (0, _) => 0,
                (_, Some(next)) => next.start_offset,
                (_, None) => self.end,
            },
        }
    }

    /// Where a log that ends at `offset` with a record of `epoch` parts from this one, if it does.
    pub(crate) fn divergence(&self, offset: Offset, epoch: Epoch) -> Option<EpochEnd> {
        if offset == 0 {
            return None;
        }
        let ours = self.end_of(epoch);
        (ours.epoch != epoch || ours.end_offset < offset).then_some(ours)
    }

    /// Where to cut this log, given where the leader's ends in an epoch: nothing that both may
    /// share is cut, and repeating the exchange reaches the last shared record. At and beyond the
    /// leader's end of that epoch, the leader has only epochs that this log lacks.
    pub(crate) fn cut_for(&self, leader: EpochEnd) -> Offset {
        self.end_of(leader.epoch).end_offset.min(leader.end_offset).max(0)
    }
}
