//! What was read of the metadata log, and what the history was told of it. No network here.
//!
//! Invariants:
//! 1. Only what an answer's high watermark covers is applied, whole batches in log order, each once; nothing
//!    uncommitted is held, so a leader that replaces it takes nothing back.
//! 2. Where the active controller's log lacks what was applied, a committed record is gone. That is told, with both
//!    logs' offsets and epochs; then the log is read again, silently up to where both agree, and the difference is
//!    told before anything new.
//! 3. What was not seen (a snapshot was read instead, or the log skips offsets) is told as a gap, and after it how the
//!    state differs; such entries say that their order is not known.

use super::change::{Change, Unread};
use super::control::{self, Control};
use super::decode::decode;
use super::difference::difference;
use super::epochs::Epochs;
use super::image::Image;
use super::quorum::Claim;
use super::{ClusterView, ObserverError};
use crate::batch::{Batch, Content};
use crate::calls::{Diverging, SnapshotId};
use bytes::Bytes;
use history::{
    Body, GapCause, Kind, LogPlace, MetadataDiverged, MetadataGap, MetadataUnread, Process, Recorder,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::watch;

/// The log as far as it was read.
pub(super) struct Log {
    recorder: Arc<Recorder>,
    view: Arc<watch::Sender<ClusterView>>,
    image: Image,
    /// The offset after the last applied record.
    offset: i64,
    epochs: Epochs,
    again: Option<Again>,
    /// Types and versions that were passed over before, of which one note is enough.
    noted: BTreeSet<(Option<u32>, Option<u32>)>,
}

/// A log that is read a second time, since part of it was taken back.
struct Again {
    /// What the history was told, which holds up to `until`, and what more it was told is gone.
    told: Image,
    until: i64,
    /// The offset after the last record that was told of, and that record's epoch.
    trusted: (i64, i32),
}

/// Why an answer could not be used, though the log is not at fault.
#[derive(Debug)]
pub(super) enum Refused {
    /// Ask again, perhaps elsewhere.
    Passing(String),
    /// Give up.
    Fatal(ObserverError),
}

impl From<ObserverError> for Refused {
    fn from(error: ObserverError) -> Self {
        Refused::Fatal(error)
    }
}

impl Log {
    pub fn new(recorder: Arc<Recorder>, view: Arc<watch::Sender<ClusterView>>) -> Log {
        Log {
            recorder,
            view,
            image: Image::default(),
            offset: 0,
            epochs: Epochs::default(),
            again: None,
            noted: BTreeSet::new(),
        }
    }

    /// The next offset to read.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// The epoch of the record before it.
    pub fn last_epoch(&self) -> i32 {
        self.epochs.last()
    }

    /// Applies what is committed of an answer; true where that was something.
    pub fn read(&mut self, batches: Vec<Batch>, high_watermark: i64) -> Result<bool, Refused> {
        let before = self.offset;
        for batch in batches {
            if batch.last_offset < self.offset {
                continue;
            }
            // A batch takes effect as a whole: it is committed when its last record is.
            if batch.last_offset >= high_watermark {
                break;
            }
            self.apply(batch)?;
        }
        Ok(self.offset > before)
    }

    /// Applies a committed batch: into the history record by record, into the view at once.
    fn apply(&mut self, batch: Batch) -> Result<(), Refused> {
        if let Content::Corrupt(why) = &batch.content {
            // The bytes may have been hurt on their way: asked again, they come whole or stay in the view.
            let why = format!("the batch at {} is corrupt: {why}", batch.base_offset);
            return Err(Refused::Passing(why));
        }
        if batch.base_offset > self.offset {
            self.skip(batch.base_offset)?;
        }
        let mut told = Vec::new();
        for (offset, change) in changes(&batch) {
            if offset < self.offset {
                continue;
            }
            // Where a batch reaches beyond what both logs share, its rest is new.
            self.catch_up(offset)?;
            let bodies = self.take(change, LogPlace::of(offset, batch.base_offset));
            if self.again.is_none() {
                told.extend(bodies);
            }
        }
        self.epochs.note(batch.leader_epoch, batch.base_offset);
        self.offset = batch.last_offset.saturating_add(1);
        self.catch_up(self.offset)?;
        if self.again.is_none() {
            self.tell(told)?;
        }
        Ok(())
    }

    fn take(&mut self, change: Result<Change, Unread>, at: LogPlace) -> Vec<Body> {
        let bodies = match change {
            Ok(change) => self.image.apply(change, at),
            Err(unread) => vec![unread.body(at)],
        };
        let silent = self.again.is_some();
        let is_news = |body: &Body| match body {
            Body::MetadataUnread(MetadataUnread {
                record_type,
                version,
                hides: false,
                ..
            }) => !silent && self.noted.insert((*record_type, *version)),
            _ => true,
        };
        bodies.into_iter().filter(is_news).collect()
    }

    /// The log skips offsets.
    fn skip(&mut self, to: i64) -> Result<(), ObserverError> {
        self.image.cut_transaction();
        let told_to = self.again.as_ref().map_or(0, |again| again.until);
        self.catch_up(to)?;
        let from = self.offset.max(told_to);
        if self.again.is_none() && from < to {
            self.tell(vec![Body::MetadataGap(MetadataGap {
                from,
                to,
                cause: GapCause::Hole,
            })])?;
        }
        self.offset = to;
        Ok(())
    }

    /// Ends reading again where it has come to what was not told, or is told no more.
    fn catch_up(&mut self, offset: i64) -> Result<(), ObserverError> {
        match self.again.take() {
            Some(again) if again.until <= offset => {
                let at = LogPlace::after_gap(again.until);
                self.tell(difference(&again.told, &self.image, at))
            }
            again => {
                self.again = again;
                Ok(())
            }
        }
    }

    /// The leader's log leaves this one: its greatest epoch not above ours ends there.
    pub fn diverges(&mut self, claim: Claim, leader: Diverging) -> Result<(), Refused> {
        let from = self.epochs.common(self.offset, leader.epoch, leader.end_offset);
        if from >= self.offset {
            let why = format!(
                "controller {} says that its log leaves offset {} (epoch {}), and contradicts nothing before it",
                claim.leader,
                self.offset,
                self.epochs.last()
            );
            return Err(Refused::Passing(why));
        }
        self.vanished(claim, leader, from)?;
        Ok(())
    }

    /// Records that were trusted, from an offset on, are not in the leader's log. Reads again from the start.
    fn vanished(&mut self, claim: Claim, leader: Diverging, from: i64) -> Result<(), ObserverError> {
        let image = std::mem::take(&mut self.image);
        let mut again = self.again.take().unwrap_or_else(|| Again {
            told: image,
            until: self.offset,
            trusted: (self.offset, self.epochs.last()),
        });
        again.until = again.until.min(from);
        let told = Body::MetadataDiverged(MetadataDiverged {
            leader: claim.leader,
            quorum_epoch: claim.epoch,
            trusted_offset: again.trusted.0,
            trusted_epoch: again.trusted.1,
            leader_offset: leader.end_offset,
            leader_epoch: leader.epoch,
            from,
        });
        self.again = Some(again);
        (self.offset, self.epochs) = (0, Epochs::default());
        self.tell(vec![told])?;
        self.catch_up(0)
    }

    /// Whether a snapshot that the leader names instead of records is to be read: one that ends later than what was
    /// read. One that does not is read too where its last record is another than was read there.
    pub fn wants(&mut self, claim: Claim, id: SnapshotId) -> Result<(), Refused> {
        if id.end_offset > self.offset {
            return Ok(());
        }
        let last = id.end_offset - 1;
        let here = self.epochs.at(last).filter(|(epoch, _)| *epoch != id.epoch);
        let Some((epoch, start)) = here else {
            let why = format!(
                "controller {} names a snapshot that ends at {}, offset {} was asked for",
                claim.leader, id.end_offset, self.offset
            );
            return Err(Refused::Passing(why));
        };
        // Epochs only rise: what is of a later epoch than the leader's record there is not in its log.
        let from = if epoch > id.epoch { start } else { last };
        let leader = Diverging {
            epoch: id.epoch,
            end_offset: id.end_offset,
        };
        self.vanished(claim, leader, from)?;
        Ok(())
    }

    /// Takes in a verified snapshot: the state after all records below its end.
    pub fn load(&mut self, id: SnapshotId, batches: &[Batch]) -> Result<(), ObserverError> {
        let at = LogPlace::after_gap(id.end_offset);
        let mut image = Image::default();
        let mut unread = Vec::new();
        for (_, change) in batches.iter().flat_map(changes) {
            match change {
                // Records of a snapshot are no events: what they make counts, and what could not be read of them.
                Ok(change) => {
                    let told = image.apply(change, at).into_iter();
                    unread.extend(told.filter(|body| matches!(body, Body::MetadataUnread(_))));
                }
                Err(passed_over) => unread.push(passed_over.body(at)),
            }
        }
        // A transaction that was open is cut: what it held is in the snapshot, or never took effect.
        let before = std::mem::replace(&mut self.image, image);
        let read_to = std::mem::replace(&mut self.offset, id.end_offset);
        self.epochs = Epochs::after_snapshot(id.epoch, id.end_offset);
        let (before, from) = match self.again.take() {
            Some(again) if id.end_offset <= again.until => {
                self.again = Some(again);
                return self.catch_up(id.end_offset);
            }
            Some(again) => (again.told, again.until),
            None => (before, read_to),
        };
        let mut told = vec![Body::MetadataGap(MetadataGap {
            from,
            to: id.end_offset,
            cause: GapCause::Snapshot,
        })];
        told.extend(difference(&before, &self.image, at));
        told.extend(unread);
        self.tell(told)
    }

    /// Into the history one by one, into the view at once.
    fn tell(&self, told: Vec<Body>) -> Result<(), ObserverError> {
        for body in &told {
            self.recorder.record(Process::Observer, Kind::Ok, body.clone())?;
        }
        self.view.send_modify(|view| {
            told.iter().for_each(|body| view.take(body));
            view.applied = self.offset;
        });
        Ok(())
    }
}

/// What the records of a batch say, each with its offset.
fn changes(batch: &Batch) -> Vec<(i64, Result<Change, Unread>)> {
    match &batch.content {
        Content::Records(records) => {
            let change = |(offset, value): &(i64, Option<Bytes>)| {
                (*offset, decode(value.as_deref().unwrap_or_default()))
            };
            records.iter().map(change).collect()
        }
        Content::Control(records) => {
            let change = |record: &crate::batch::ControlRecord| {
                let change = match control::decode(record, batch.leader_epoch) {
                    Ok(Control::Change(change)) => Ok(change),
                    // They belong at the ends of a snapshot, and say nothing.
                    Ok(Control::Header | Control::Footer) => Ok(Change::Other),
                    Err(unread) => Err(unread),
                };
                (record.offset, change)
            };
            records.iter().map(change).collect()
        }
        Content::Corrupt(_) => Vec::new(),
    }
}
