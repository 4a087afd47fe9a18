//! The snapshots of this node: those it can serve, the one it fetches, and when the next is due.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use records::Record;
use storage::StorageError;
use storage::snapshot::{self, SnapshotId, SnapshotReader, SnapshotReceiver};
use tokio::sync::mpsc;

use super::acting::Content;
use super::scribe::Scribe;
use super::{Answer, Committed, Fatal, Quorum, control};
use crate::clock::Clock;
use crate::config::Config;
use crate::diary::{info, warning};
use crate::failure::Failure;

/// The machine's name of a snapshot.
pub fn raft_id(id: SnapshotId) -> raft::SnapshotId {
    raft::SnapshotId {
        end_offset: id.end_offset,
        epoch: id.epoch,
    }
}

/// The file's name of a snapshot.
fn file_id(id: raft::SnapshotId) -> SnapshotId {
    SnapshotId {
        end_offset: id.end_offset,
        epoch: id.epoch,
    }
}

/// The snapshots.
pub struct Snapshots {
    folder: PathBuf,
    clock: Clock,
    /// Those that are open: the newest, and the one before it if it is of this life of the node. Whoever is
    /// refused an older one asks for the newest.
    open: BTreeMap<SnapshotId, Arc<SnapshotReader>>,
    receiving: Option<SnapshotReceiver>,
    scribe: Scribe,
    /// The scribe was handed what lies below.
    followed: i64,
    /// Bytes of batches since the last snapshot.
    bytes: u64,
    /// A snapshot is being written.
    writing: bool,
    /// When the last was begun, in milliseconds; the node's start, before the first.
    began: u64,
    max_bytes: u64,
    max_interval: Option<Duration>,
}

impl Snapshots {
    /// With the newest one, if there is any.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn new(
        config: &Config,
        folder: &Path,
        newest: Option<SnapshotReader>,
        answers: mpsc::UnboundedSender<Answer>,
        clock: Clock,
    ) -> Result<Self, Failure> {
        let scribe = Scribe::start(folder, answers).map_err(|error| {
            Failure::other(
                "Cannot start the thread that writes snapshots.",
                error.to_string(),
                "Free memory or processes.",
            )
        })?;
        let mut snapshots = Self {
            folder: folder.to_owned(),
            clock,
            open: BTreeMap::new(),
            receiving: None,
            scribe,
            followed: 0,
            bytes: 0,
            writing: false,
            began: clock.ms(),
            max_bytes: config.snapshot_after_bytes,
            max_interval: config.snapshot_interval,
        };
        if let Some(newest) = newest {
            snapshots.replace(newest);
        }
        Ok(snapshots)
    }

    /// The newest.
    pub fn newest(&self) -> Option<&Arc<SnapshotReader>> {
        self.open.last_key_value().map(|(_, reader)| reader)
    }

    /// One that can be served.
    pub fn get(&self, id: raft::SnapshotId) -> Option<&SnapshotReader> {
        self.open.get(&file_id(id)).map(Arc::as_ref)
    }

    /// When the next is due by time alone, in milliseconds.
    pub fn next_deadline(&self) -> Option<u64> {
        let interval = self.max_interval.filter(|_| self.bytes > 0 && !self.writing)?;
        Some(self.began.saturating_add(millis(interval)))
    }

    fn is_due(&self) -> bool {
        let by_time = || self.next_deadline().is_some_and(|at| at <= self.clock.ms());
        !self.writing && (self.bytes >= self.max_bytes || by_time())
    }

    /// The state begins anew with this one.
    fn replace(&mut self, newest: SnapshotReader) {
        let newest = Arc::new(newest);
        self.followed = newest.id().end_offset;
        self.bytes = 0;
        self.began = self.clock.ms();
        self.scribe.replace(newest.clone());
        self.open = BTreeMap::from([(newest.id(), newest)]);
    }

    /// A batch was committed; each is counted once, however often it is handed out.
    pub fn follow(&mut self, batch: &Committed) {
        if batch.base_offset >= self.followed {
            self.followed = batch.end_offset;
            self.bytes += batch.bytes.len() as u64;
            self.scribe.follow(batch.clone());
        }
    }

    /// Takes in a piece of a snapshot that is fetched. Pieces that do not fit end it: it is then refused
    /// when it is to be installed.
    pub fn take_piece(
        &mut self,
        id: raft::SnapshotId,
        position: u64,
        content: &Content,
    ) -> Result<(), StorageError> {
        if position == 0 {
            info!(
                "fetches the snapshot {} of {} bytes",
                file_id(id),
                content.snapshot_size
            );
            self.receiving = None;
            self.receiving = Some(SnapshotReceiver::begin(
                &self.folder,
                file_id(id),
                content.snapshot_size,
            )?);
        }
        let fitting = self.receiving.take_if(|receiver| receiver.id() == file_id(id));
        let Some(mut receiver) = fitting else {
            return Ok(());
        };
        match receiver.append(position, &content.bytes) {
            Ok(()) => self.receiving = Some(receiver),
            Err(error @ StorageError::Io { .. }) => return Err(error),
            Err(error) => warning!("a piece of a snapshot is not taken: {error}"),
        }
        Ok(())
    }

    /// Drops what was fetched of a snapshot.
    pub fn abandon(&mut self, id: raft::SnapshotId) {
        drop(self.receiving.take_if(|receiver| receiver.id() == file_id(id)));
    }

    /// Keeps the newest and the one before it.
    fn add(&mut self, reader: SnapshotReader) -> Result<(), StorageError> {
        self.open.insert(reader.id(), Arc::new(reader));
        while self.open.len() > KEPT {
            self.open.pop_first();
        }
        match self.open.first_key_value() {
            Some((oldest, _)) => snapshot::remove_older_than(&self.folder, *oldest).map(|_| ()),
            None => Ok(()),
        }
    }
}

/// Snapshots that are kept: a follower may be fetching the one before the newest.
const KEPT: usize = 2;

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Quorum {
    /// Has a snapshot of all that was handed out written, if it is time.
    pub(super) fn snapshot_if_due(&mut self) -> Result<(), Fatal> {
        // After a change of office batches are handed out again; the scribe is ahead meanwhile.
        if !self.snapshots.is_due() || self.handed_out != self.snapshots.followed {
            return Ok(());
        }
        let Some(id) = self.raft.snapshot_at(self.handed_out) else {
            // Nothing new to name: the time begins anew, or the node would find it past for ever.
            self.snapshots.began = self.clock.ms();
            return Ok(());
        };
        let voters = self.raft.voters_at(id.end_offset);
        let quorum = voters.map_or(Ok(Vec::new()), control::header_records);
        let quorum = quorum.map_err(|why| Fatal::Quorum(format!("a snapshot cannot name voters: {why}")))?;
        self.snapshots.writing = true;
        self.snapshots.bytes = 0;
        self.snapshots.began = self.clock.ms();
        self.snapshots.scribe.write(file_id(id), quorum);
        Ok(())
    }

    /// A snapshot was written. The log now begins at the end of the one before it.
    pub(super) fn snapshot_made(&mut self, made: Option<SnapshotReader>) -> Result<(), Fatal> {
        self.snapshots.writing = false;
        let Some(reader) = made else {
            return Ok(());
        };
        let id = reader.id();
        let before = self.snapshots.newest().map_or(0, |newest| newest.id().end_offset);
        if before >= id.end_offset {
            // One that was fetched meanwhile is newer; this one goes with the next that is made.
            return Ok(());
        }
        let log_start = before.max(self.log.start_offset());
        self.handle(raft::Event::SnapshotTaken {
            snapshot: raft_id(id),
            log_start,
        })?;
        info!("the snapshot {id} of {} bytes is written", reader.size());
        self.snapshots.add(reader)?;
        self.log.advance_start(self.raft.log_start_offset())?;
        Ok(())
    }

    /// Puts a snapshot that was fetched in the place of the log and of the state.
    pub(super) fn install_snapshot(&mut self, id: raft::SnapshotId) -> Result<(), Fatal> {
        let fetched = self
            .snapshots
            .receiving
            .take_if(|receiver| receiver.id() == file_id(id));
        let finished = fetched.map(SnapshotReceiver::finish);
        let reader = match finished {
            Some(Ok(reader)) => reader,
            Some(Err(error @ StorageError::Io { .. })) => return Err(error.into()),
            Some(Err(error)) => {
                warning!("a snapshot that was fetched is dropped: {error}");
                self.arising.push_back(raft::Event::SnapshotRefused(id));
                return Ok(());
            }
            None => {
                self.arising.push_back(raft::Event::SnapshotRefused(id));
                return Ok(());
            }
        };
        // Every byte of it was found sound, so whoever wrote it is another kind of quorum's.
        let voters = control::voters_of(reader.header())
            .map_err(|why| Fatal::Quorum(format!("the snapshot {} was installed, but {why}", reader.id())))?;
        if let Some(voters) = &voters {
            self.addresses.learn_voters(voters);
        }
        info!("the snapshot {} is installed", reader.id());
        self.log.reset_after(reader.id())?;
        snapshot::remove_older_than(&self.snapshots.folder, reader.id())?;
        self.snapshots.replace(reader);
        self.replaces_state = true;
        self.handed_out = id.end_offset;
        self.arising.push_back(raft::Event::SnapshotInstalled {
            snapshot: id,
            voters: voters.filter(|_| self.own.dynamic),
        });
        Ok(())
    }
}

/// Hands every metadata record of a snapshot to `act`.
///
/// # Errors
/// When one cannot be read, or `act` refuses it.
pub fn for_each_record(
    reader: &SnapshotReader,
    mut act: impl FnMut(Record) -> Result<(), String>,
) -> Result<(), Fatal> {
    let broken =
        |error: &dyn std::fmt::Display| Fatal::Quorum(format!("the snapshot {}: {error}", reader.id()));
    for batch in reader.batches() {
        let batch = batch?;
        if batch.is_control() {
            continue;
        }
        for record in batch.records().map_err(|error| broken(&error))? {
            let record = record.map_err(|error| broken(&error))?;
            let decoded = Record::decode(record.value.unwrap_or_default()).map_err(|error| broken(&error))?;
            act(decoded).map_err(|error| broken(&error))?;
        }
    }
    Ok(())
}
