//! A log: a folder of segments that hold contiguous record batches, with a leader-epoch cache.
//!
//! Durability: an append is in the page cache, and survives the process but not the machine, until
//! [`Log::sync`] returns. A truncation that was not synced may be undone by a loss of power; what comes
//! back is then a tail that diverges from the leader's log, which replication removes again.
//!
//! Recovery: [`Log::open`] checks every batch, whether the last shutdown was clean or not, so that a
//! false clean-shutdown marker costs nothing. It cuts the log at the first batch that is torn, damaged,
//! not where the one before it ended, or of an earlier leader epoch than that one; rebuilds the epoch
//! cache from the batches; and syncs, since what it read may never have reached the disk. An epoch that
//! had no record is forgotten, as in Kafka.
//!
//! Removal is ordered: whatever removes several segments makes each removal durable before the next, from
//! the first on when the start moves up, from the last on when all go. So a crash, or a loss of power,
//! between two of them leaves no gap, and the log opens to the same start as if all had gone, given that
//! start (or the snapshot that took their place: [`Log::open_after`]).
//!
//! Invariants: there is always at least one segment, the last one takes the appends; each segment begins
//! at the offset where the one before it ends; `start_offset <= end_offset`.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::atomic;
use crate::batch::{self, BatchError, BatchHeader, Batches};
use crate::epochs::{self, LeaderEpochs};
use crate::error::{Result, StorageError};
use crate::record::Records;
use crate::segment::{Cursor, Segment};
use crate::snapshot::SnapshotId;
use crate::window::Window;

/// How a log is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogConfig {
    /// A segment that would grow beyond this is followed by a new one (`log.segment.bytes`).
    pub segment_bytes: u64,
}

/// What [`Log::open`] had to do. All zero, and `None`, when the log was whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Bytes cut off: a torn tail, or everything from a damaged batch on.
    pub cut_bytes: u64,
    /// Segments removed because they followed the cut, or a gap.
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
    /// Whether it began a new segment. Kafka flushes the finished one soon after.
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
pub struct Log {
    folder: PathBuf,
    config: LogConfig,
    segments: Vec<Segment>,
    epochs: LeaderEpochs,
    start_offset: i64,
    /// The epoch of the record before the start, where it is known.
    preceding_epoch: Option<i32>,
    synced_offset: i64,
    /// Whether names in the folder have changed since the last sync.
    folder_dirty: bool,
    /// The failure after which nothing more is written.
    offline: Option<String>,
}

impl Log {
    /// Opens the log in `folder`, which is made if need be, and repairs it. `start_offset` is what its
    /// checkpoint says, 0 if it says nothing.
    ///
    /// # Errors
    /// When the disk refuses. Damage is not an error: it is cut off, and reported.
    pub fn open(folder: &Path, config: LogConfig, start_offset: i64) -> Result<(Self, Recovery)> {
        let made = !folder.exists();
        fs::create_dir_all(folder).map_err(StorageError::io("make the folder", folder))?;
        let mut log = Self {
            folder: folder.to_owned(),
            config,
            segments: Vec::new(),
            epochs: LeaderEpochs::default(),
            start_offset: start_offset.max(0),
            preceding_epoch: None,
            synced_offset: 0,
            folder_dirty: true,
            offline: None,
        };
        let recovery = log.recover()?;
        log.sync()?;
        if made {
            atomic::sync_folder_of(folder)?;
        }
        Ok((log, recovery))
    }

    /// Opens the metadata log in `folder`, which goes on where the newest snapshot ends: it begins there, or
    /// at 0 without one. A log that does not lead up to the snapshot, since it ends below it or holds other
    /// epochs than the quorum committed, is replaced by an empty one at the snapshot's end.
    ///
    /// # Errors
    /// When records between the snapshot and the log's first are missing, or the disk refuses.
    pub fn open_after(
        folder: &Path,
        config: LogConfig,
        snapshot: Option<SnapshotId>,
    ) -> Result<(Self, Recovery)> {
        let snapshot_end = snapshot.map_or(0, |id| id.end_offset);
        let (mut log, mut recovery) = Self::open(folder, config, snapshot_end)?;
        if log.start_offset != snapshot_end {
            return Err(StorageError::Hole {
                path: log.folder,
                start: log.start_offset,
                snapshot_end,
            });
        }
        let Some(id) = snapshot else {
            return Ok((log, recovery));
        };
        // Epochs never decrease, so what follows the snapshot has its epoch or a later one, and what the
        // snapshot stands for ends in its epoch (the log matching property).
        let diverges = log.preceding_epoch.is_some_and(|epoch| epoch != id.epoch)
            || log.epochs.latest().is_some_and(|epoch| epoch < id.epoch);
        if diverges && id.end_offset > 0 {
            recovery.reason.get_or_insert_with(|| {
                format!("{} does not lead up to the snapshot {id}", log.folder.display())
            });
            recovery.cut_bytes += log.size();
            recovery.removed_segments += log.segments.len();
            log.reset_to(id.end_offset)?;
        }
        log.follow(id);
        Ok((log, recovery))
    }

    /// Notes the snapshot at whose end the log begins.
    fn follow(&mut self, id: SnapshotId) {
        // Before offset 0 there is no record, whatever the bootstrap snapshot's epoch is.
        self.preceding_epoch = (id.end_offset > 0).then_some(id.epoch);
    }

    /// Removes the segments that lie wholly below the start, unread: none of it can be asked for, and
    /// damage or a gap there must not cost what lies above. Returns the other segments' files.
    fn remove_files_below_start(&mut self) -> Result<Vec<(i64, PathBuf)>> {
        let mut files = self.segment_files()?;
        let below = files
            .iter()
            .skip(1)
            .take_while(|(next, _)| *next <= self.start_offset);
        let rest = files.split_off(below.count());
        if !files.is_empty() {
            // What says that they may go, a snapshot or a checkpoint, may have been named only just now.
            atomic::sync_folder(&self.folder)?;
        }
        for (base_offset, path) in files {
            Segment::open(path, base_offset)?.remove()?;
            atomic::sync_folder(&self.folder)?;
        }
        Ok(rest)
    }

    fn recover(&mut self) -> Result<Recovery> {
        let mut recovery = Recovery::default();
        let mut cursor = None;
        for (base_offset, path) in self.remove_files_below_start()? {
            // The first segment begins wherever it says, any other where the one before it ended.
            let cursor = cursor.get_or_insert(Cursor {
                next_offset: base_offset,
                leader_epoch: 0,
            });
            if recovery.reason.is_some() || base_offset != cursor.next_offset {
                recovery.reason.get_or_insert_with(|| {
                    format!(
                        "{} does not begin where the log ends, at {}",
                        path.display(),
                        cursor.next_offset
                    )
                });
                recovery.cut_bytes += fs::metadata(&path)
                    .map_err(StorageError::io("stat", &path))?
                    .len();
                recovery.removed_segments += 1;
                fs::remove_file(&path).map_err(StorageError::io("remove", &path))?;
                continue;
            }
            let mut segment = Segment::open(path, base_offset)?;
            let epochs = &mut self.epochs;
            let cut = segment.scan(cursor, |header| {
                epochs.assign(header.leader_epoch, header.base_offset);
            })?;
            self.segments.push(segment);
            if let Some((bytes, reason)) = cut {
                recovery.cut_bytes += bytes;
                recovery.reason = Some(reason);
            }
        }
        if self.segments.is_empty() {
            self.segments
                .push(Segment::create(&self.folder, self.start_offset)?);
        }
        if self.end_offset() < self.start_offset {
            // Nothing readable is left of the log; what lay below its start was not to be read anyway.
            self.epochs = LeaderEpochs::default();
            self.replace_segments(self.start_offset)?;
        }
        self.start_offset = self.start_offset.max(self.segments[0].base_offset());
        self.preceding_epoch = self.epochs.epoch_at(self.start_offset - 1);
        self.epochs.truncate_from_start(self.start_offset);
        if !matches!(LeaderEpochs::read(&self.epochs_path()), Ok(Some(stored)) if stored == self.epochs) {
            self.epochs.write(&self.epochs_path())?;
        }
        Ok(recovery)
    }

    /// The files of segments, in the order of their offsets.
    fn segment_files(&self) -> Result<Vec<(i64, PathBuf)>> {
        let list = StorageError::io("list", &self.folder);
        let entries = fs::read_dir(&self.folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let mut files: Vec<_> = entries
            .map_err(list)?
            .into_iter()
            .filter_map(|entry| Some((Segment::base_offset_of(&entry.path())?, entry.path())))
            .collect();
        files.sort();
        Ok(files)
    }

    /// The first offset that can be read.
    pub fn start_offset(&self) -> i64 {
        self.start_offset
    }

    /// The offset the next record will get.
    pub fn end_offset(&self) -> i64 {
        self.segments
            .last()
            .map_or(self.start_offset, Segment::end_offset)
    }

    /// Everything below this offset survives a loss of power.
    pub fn synced_offset(&self) -> i64 {
        self.synced_offset
    }

    /// The leader-epoch cache; its `end_offset_for` wants [`Log::end_offset`].
    pub fn epochs(&self) -> &LeaderEpochs {
        &self.epochs
    }

    /// The epoch of the last record, also where that is one that a snapshot took the place of.
    pub fn last_epoch(&self) -> Option<i32> {
        self.epochs.latest().or(self.preceding_epoch)
    }

    /// The epoch of the record before `offset`: what a snapshot that ends there is named with. `None` below
    /// the start, beyond the end, and where nothing is known of it.
    pub fn epoch_before(&self, offset: i64) -> Option<i32> {
        if offset == self.start_offset {
            return self.preceding_epoch;
        }
        (self.start_offset..=self.end_offset())
            .contains(&offset)
            .then(|| self.epochs.epoch_at(offset - 1))
            .flatten()
    }

    /// Whether a batch begins at `offset`, or the log ends there: a snapshot may end only at such a place.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn is_batch_boundary(&self, offset: i64) -> Result<bool> {
        if !(self.start_offset..=self.end_offset()).contains(&offset) {
            return Ok(false);
        }
        let found = self.segments[self.segment_of(offset)].find(offset)?;
        Ok(found.is_none_or(|found| found.header.base_offset == offset))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Bytes in all segments.
    pub fn size(&self) -> u64 {
        self.segments.iter().map(Segment::size).sum()
    }

    /// Notes that this replica leads `leader_epoch` from the log's end on, durably. To be called when it
    /// becomes leader, before it serves anyone.
    ///
    /// # Errors
    /// When a later epoch is in the log, or the disk refuses.
    pub fn assign_epoch(&mut self, leader_epoch: i32) -> Result<()> {
        self.check_online()?;
        self.check_epoch(leader_epoch)?;
        let changed = self.epochs.assign(leader_epoch, self.end_offset());
        self.write_epochs(changed)
    }

    /// Appends as a leader: `batches` get the next offsets and `leader_epoch`, in place.
    ///
    /// Not checked: what is in the batches beyond their headers and CRC.
    ///
    /// # Errors
    /// When the batches are not valid, a later epoch is in the log, or the disk refuses. Nothing was
    /// appended then.
    pub fn append_as_leader(&mut self, batches: &mut [u8], leader_epoch: i32) -> Result<Appended> {
        self.check_online()?;
        self.check_epoch(leader_epoch)?;
        let mut headers = self.check_batches(batches)?;
        let (mut at, mut next_offset) = (0, self.end_offset());
        for header in &mut headers {
            let bytes = &mut batches[at..at + header.total_bytes];
            batch::set_base_offset(bytes, next_offset).map_err(|error| self.bad_batch(error))?;
            batch::set_leader_epoch(bytes, leader_epoch).map_err(|error| self.bad_batch(error))?;
            header.base_offset = next_offset;
            header.leader_epoch = leader_epoch;
            next_offset = header.next_offset();
            at += header.total_bytes;
        }
        self.append(batches, &headers)
    }

    /// Appends as a follower: `batches` have their offsets and epochs, and begin at the log's end.
    ///
    /// # Errors
    /// When the batches are not valid, do not continue the log, or the disk refuses. Nothing was
    /// appended then.
    pub fn append_as_follower(&mut self, batches: &[u8]) -> Result<Appended> {
        self.check_online()?;
        let headers = self.check_batches(batches)?;
        let mut next_offset = self.end_offset();
        let mut latest = self.epochs.latest().unwrap_or(0);
        for header in &headers {
            if header.base_offset != next_offset {
                return Err(StorageError::NotContiguous {
                    path: self.folder.clone(),
                    expected: next_offset,
                    found: header.base_offset,
                });
            }
            if header.leader_epoch < latest {
                return Err(self.epoch_went_back(latest, header.leader_epoch));
            }
            next_offset = header.next_offset();
            latest = header.leader_epoch;
        }
        self.append(batches, &headers)
    }

    fn check_batches(&self, batches: &[u8]) -> Result<Vec<BatchHeader>> {
        Batches::new(batches)
            .map(|batch| {
                batch
                    .map(|(header, _)| header)
                    .map_err(|error| self.bad_batch(error))
            })
            .collect()
    }

    fn bad_batch(&self, source: BatchError) -> StorageError {
        StorageError::Batch {
            path: self.folder.clone(),
            source,
        }
    }

    fn check_epoch(&self, leader_epoch: i32) -> Result<()> {
        let latest = self.epochs.latest().unwrap_or(0);
        if leader_epoch < latest {
            Err(self.epoch_went_back(latest, leader_epoch))
        } else {
            Ok(())
        }
    }

    fn epoch_went_back(&self, latest: i32, found: i32) -> StorageError {
        StorageError::EpochWentBack {
            path: self.folder.clone(),
            latest,
            found,
        }
    }

    /// Appends batches that have been found to continue the log. All go into one segment, so that a
    /// failed write can be taken back.
    fn append(&mut self, bytes: &[u8], headers: &[BatchHeader]) -> Result<Appended> {
        let first_offset = self.end_offset();
        let full = |segment: &Segment| {
            segment.size() > 0 && segment.size() + bytes.len() as u64 > self.config.segment_bytes
        };
        let rolled = !headers.is_empty() && self.segments.last().is_none_or(full);
        if rolled {
            self.segments.push(Segment::create(&self.folder, first_offset)?);
            self.folder_dirty = true;
        }
        if let Some(segment) = self.segments.last_mut() {
            let appended = segment.append(bytes, headers);
            self.take_offline_if_unknown(appended)?;
        }
        let mut changed = false;
        for header in headers {
            changed |= self.epochs.assign(header.leader_epoch, header.base_offset);
        }
        self.write_epochs(changed)?;
        Ok(Appended {
            first_offset,
            end_offset: self.end_offset(),
            rolled,
        })
    }

    /// Whole batches from the one that holds `offset` on. Empty at the end, and at the upper bound.
    ///
    /// # Errors
    /// When `offset` is outside the log, or the disk refuses.
    pub fn read(&self, offset: i64, limit: ReadLimit) -> Result<Bytes> {
        self.check_range(offset)?;
        let mut out = Vec::new();
        let mut next = offset;
        for segment in &self.segments[self.segment_of(offset)..] {
            let read_to = read_segment(segment, next, limit, &mut out)?;
            if read_to < segment.end_offset() {
                break;
            }
            next = read_to;
        }
        Ok(out.into())
    }

    /// The headers of the batches from the one that holds `offset` on; none when `offset` is the end.
    ///
    /// # Errors
    /// When `offset` is outside the log, or the disk refuses; the iterator ends after an error.
    pub fn headers(&self, offset: i64) -> Result<impl Iterator<Item = Result<BatchHeader>> + use<'_>> {
        self.check_range(offset)?;
        let segment = self.segment_of(offset);
        let found = self.segments[segment].find(offset)?;
        Ok(Headers {
            segments: &self.segments[segment..],
            position: found.map_or(self.segments[segment].size(), |found| found.position),
            window: Window::default(),
        })
    }

    /// The first record whose timestamp is `timestamp` or later, as its offset and timestamp (ListOffsets
    /// by time). In a compressed batch records cannot be told apart: the batch's first offset and greatest
    /// timestamp stand for them.
    ///
    /// # Errors
    /// When the disk refuses, or a batch has rotted.
    pub fn offset_for_timestamp(&self, timestamp: i64) -> Result<Option<(i64, i64)>> {
        for header in self.headers(self.start_offset)? {
            let header = header?;
            if header.max_timestamp < timestamp {
                continue;
            }
            let limit = ReadLimit {
                max_bytes: 0,
                at_least_one: true,
                upper_bound: self.end_offset(),
            };
            let batch = self.read(header.base_offset.max(self.start_offset), limit)?;
            let found = match Records::of(&batch) {
                Ok(mut records) => records.find_map(|record| {
                    record
                        .ok()
                        .map(|r| (r.offset, r.timestamp))
                        .filter(|(_, time)| *time >= timestamp)
                }),
                Err(BatchError::Compressed(_)) => Some((header.base_offset, header.max_timestamp)),
                Err(source) => return Err(self.segments[self.segment_of(header.base_offset)].rotten(source)),
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Removes every batch that reaches `offset` or beyond, and every epoch that began there, records or
    /// not; the log then ends at or below `offset`. Returns its end. An `offset` beyond the end only
    /// means the end.
    ///
    /// # Errors
    /// When the disk refuses; the log is then offline.
    pub fn truncate_to(&mut self, offset: i64) -> Result<i64> {
        self.check_online()?;
        let holder = self.segments[self.segment_of(offset)].find(offset)?;
        let boundary = holder.map_or(offset, |found| found.header.base_offset);
        let anything_goes = self.start_offset < self.end_offset() || offset < self.start_offset;
        if boundary <= self.start_offset && anything_goes {
            // Nothing that can be read is left.
            let preceding_epoch = self.preceding_epoch.filter(|_| offset >= self.start_offset);
            self.reset_to(offset.min(self.start_offset).max(0))?;
            self.preceding_epoch = preceding_epoch;
            return Ok(self.end_offset());
        }
        let truncated = self.truncate_segments(offset);
        self.take_offline_if(truncated)?;
        let end_offset = self.end_offset();
        self.synced_offset = self.synced_offset.min(end_offset);
        let changed = self.epochs.truncate_from_end(end_offset);
        self.write_epochs(changed)?;
        Ok(end_offset)
    }

    fn truncate_segments(&mut self, offset: i64) -> Result<()> {
        // From the last to the first, so that a crash between leaves no gap. The first one stays.
        while self.segments.len() > 1
            && let Some(segment) = self.segments.pop_if(|segment| segment.base_offset() >= offset)
        {
            self.folder_dirty = true;
            segment.remove()?;
        }
        if let Some(segment) = self.segments.last_mut()
            && let Some(found) = segment.find(offset)?
        {
            segment.truncate(&found)?;
        }
        Ok(())
    }

    /// Removes everything, and starts afresh where a snapshot that was installed ends, synced. The snapshot
    /// must be there for good by now.
    ///
    /// # Errors
    /// When the disk refuses; the log is then offline.
    pub fn reset_after(&mut self, snapshot: SnapshotId) -> Result<()> {
        self.reset_to(snapshot.end_offset)?;
        self.follow(snapshot);
        Ok(())
    }

    /// Removes everything, and starts afresh at `offset`, synced: for a follower whose log lies wholly
    /// outside the leader's.
    ///
    /// # Errors
    /// When the disk refuses; the log is then offline.
    pub fn reset_to(&mut self, offset: i64) -> Result<()> {
        self.check_online()?;
        let replaced = self.replace_segments(offset);
        self.take_offline_if(replaced)?;
        self.preceding_epoch = None;
        self.start_offset = offset;
        self.synced_offset = offset;
        self.epochs = LeaderEpochs::default();
        self.write_epochs(true)?;
        self.sync().map(|_| ())
    }

    fn replace_segments(&mut self, offset: i64) -> Result<()> {
        self.folder_dirty = true;
        while let Some(segment) = self.segments.pop() {
            segment.remove()?;
            atomic::sync_folder(&self.folder)?;
        }
        self.segments.push(Segment::create(&self.folder, offset)?);
        Ok(())
    }

    /// Moves the start up to `offset`, and removes segments that lie wholly below it; the epoch that covers
    /// it is kept. Lower than the start, it does nothing. The caller keeps the log-start checkpoint, or the
    /// snapshot that ends there, and makes that durable first.
    ///
    /// # Errors
    /// When `offset` lies beyond the end, or the disk refuses; the log is then offline.
    pub fn advance_start(&mut self, offset: i64) -> Result<()> {
        self.check_online()?;
        if offset <= self.start_offset {
            return Ok(());
        }
        self.check_range(offset)?;
        let preceding_epoch = self.epoch_before(offset);
        let removed = self.remove_segments_below(offset);
        self.take_offline_if(removed)?;
        self.preceding_epoch = preceding_epoch;
        self.start_offset = offset;
        let changed = self.epochs.truncate_from_start(offset);
        self.write_epochs(changed)
    }

    fn remove_segments_below(&mut self, offset: i64) -> Result<()> {
        // From the first on, so that a crash between leaves no gap. The last one stays.
        while self.segments.len() > 1 && self.segments[0].end_offset() <= offset {
            self.segments.remove(0).remove()?;
            atomic::sync_folder(&self.folder)?;
        }
        Ok(())
    }

    /// Makes everything appended so far survive a loss of power: the data of every segment written
    /// since the last time, and the folder if a segment came or went. Returns the synced end offset.
    ///
    /// # Errors
    /// When the disk refuses; the log is then offline, since a second attempt might succeed without the
    /// data ever having been written.
    pub fn sync(&mut self) -> Result<i64> {
        self.check_online()?;
        let synced = self.segments.iter_mut().try_for_each(Segment::sync);
        self.take_offline_if(synced)?;
        if self.folder_dirty {
            let synced = atomic::sync_folder(&self.folder);
            self.take_offline_if(synced)?;
            self.folder_dirty = false;
        }
        self.synced_offset = self.end_offset();
        Ok(self.synced_offset)
    }

    fn epochs_path(&self) -> PathBuf {
        self.folder.join(epochs::FILE_NAME)
    }

    fn write_epochs(&mut self, changed: bool) -> Result<()> {
        if !changed {
            return Ok(());
        }
        let written = self.epochs.write(&self.epochs_path());
        self.take_offline_if(written)
    }

    /// The segment that holds `offset`, or the last one for the log's end.
    fn segment_of(&self, offset: i64) -> usize {
        self.segments
            .partition_point(|segment| segment.base_offset() <= offset)
            .saturating_sub(1)
    }

    fn check_range(&self, offset: i64) -> Result<()> {
        let (start, end) = (self.start_offset, self.end_offset());
        if (start..=end).contains(&offset) {
            return Ok(());
        }
        Err(StorageError::OutOfRange {
            path: self.folder.clone(),
            offset,
            start,
            end,
        })
    }

    fn check_online(&self) -> Result<()> {
        match &self.offline {
            None => Ok(()),
            Some(cause) => Err(StorageError::Offline {
                path: self.folder.clone(),
                cause: cause.clone(),
            }),
        }
    }

    /// After a failure that leaves the disk's state unknown.
    fn take_offline_if<T>(&mut self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result {
            self.offline.get_or_insert_with(|| error.to_string());
        }
        result
    }

    /// After a failure that may have been undone.
    fn take_offline_if_unknown<T>(&mut self, result: Result<T>) -> Result<T> {
        if let Err(StorageError::Offline { cause, .. }) = &result {
            self.offline.get_or_insert_with(|| cause.clone());
        }
        result
    }
}

/// Adds to `out` the batches of `segment` from the one that holds `offset` on, as far as `limit` lets
/// it. Returns the offset after the last of them, `offset` if there was none.
fn read_segment(segment: &Segment, offset: i64, limit: ReadLimit, out: &mut Vec<u8>) -> Result<i64> {
    let Some(found) = segment.find(offset)? else {
        return Ok(offset);
    };
    let mut room = limit.max_bytes.saturating_sub(out.len());
    if limit.at_least_one && out.is_empty() {
        room = room.max(found.header.total_bytes);
    }
    let bytes = segment.bytes_at(found.position, room)?;
    let (mut end, mut next_offset) = (0, offset);
    while let Ok(header) = BatchHeader::parse(&bytes[end..])
        && header.total_bytes <= bytes.len() - end
        && header.next_offset() <= limit.upper_bound
    {
        end += header.total_bytes;
        next_offset = header.next_offset();
    }
    out.extend_from_slice(&bytes[..end]);
    Ok(next_offset)
}

/// See [`Log::headers`].
struct Headers<'a> {
    segments: &'a [Segment],
    position: u64,
    window: Window,
}

impl Iterator for Headers<'_> {
    type Item = Result<BatchHeader>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (segment, rest) = self.segments.split_first()?;
            match segment.header_at(self.position, &mut self.window) {
                Ok(Some(header)) => {
                    self.position += header.total_bytes as u64;
                    return Some(Ok(header));
                }
                Ok(None) => {
                    self.segments = rest;
                    self.position = 0;
                    self.window = Window::default();
                }
                Err(error) => {
                    self.segments = &[];
                    return Some(Err(error));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
