//! Writes a snapshot.

use std::io::Write;
use std::path::Path;

use super::temporary::Temporary;
use super::{SnapshotHeader, SnapshotId};
use crate::BatchBuilder;
use crate::batch::BatchError;
use crate::control::{self, ControlType};
use crate::error::{Result, StorageError};

/// A data batch is closed before it grows beyond this: large enough that its header (61 bytes) weighs
/// nothing, small enough that a reader, which holds one batch at a time, needs no thought of memory, and
/// far below the 8 MiB for which Kafka's reader makes its first buffer. A record larger than this has a
/// batch of its own.
pub const BATCH_BYTES: usize = 64 * 1024;
/// The largest record: Kafka takes no batch above 8 MiB into a metadata log, so there is none to stand
/// in a snapshot of it.
pub const MAX_RECORD_BYTES: usize = 8 * 1024 * 1024;

/// What a record takes in a batch beside its value, at most: its length and the value's (5 bytes each),
/// attributes and timestamp (1 each), its number in the batch (5), no key and no headers (1 each).
const RECORD_OVERHEAD_BYTES: usize = 19;

/// A snapshot under construction. Dropped before [`SnapshotWriter::finish`], it leaves nothing.
#[derive(Debug)]
pub struct SnapshotWriter {
    file: Temporary,
    timestamp: i64,
    next_offset: i64,
    size: u64,
    batch: BatchBuilder,
}

impl SnapshotWriter {
    /// Begins the snapshot `id` in the metadata log's folder. Batches carry `timestamp`, in milliseconds
    /// since 1970.
    ///
    /// # Errors
    /// When there is such a snapshot, `header` holds control records that do not belong there, or the
    /// disk refuses.
    pub fn create(folder: &Path, id: SnapshotId, header: &SnapshotHeader, timestamp: i64) -> Result<Self> {
        let path = id.path(folder);
        if path.exists() {
            return Err(StorageError::SnapshotExists { path });
        }
        let mut batch = BatchBuilder::new(timestamp).control();
        let body = control::snapshot_header(header.last_contained_log_timestamp);
        let mut push = |control_type: ControlType, value: &[u8]| {
            batch
                .push(Some(&control_type.key()), Some(value), &[])
                .map_err(|source| batch_error(&path, source))
        };
        push(ControlType::SnapshotHeader, &body)?;
        for record in &header.quorum {
            match record.control_type {
                ControlType::KRaftVersion | ControlType::KRaftVoters => {
                    push(record.control_type, &record.value)?;
                }
                other => {
                    let reason = format!("a record of type {other:?} does not belong into a header");
                    return Err(StorageError::snapshot(&path, 0, reason));
                }
            }
        }
        let mut writer = Self {
            file: Temporary::create(folder, id)?,
            timestamp,
            next_offset: 0,
            size: 0,
            batch: BatchBuilder::new(timestamp),
        };
        writer.write(&batch)?;
        Ok(writer)
    }

    /// Adds a data record: the framed value of a metadata record, which has no key.
    ///
    /// # Errors
    /// When `value` is empty or larger than [`MAX_RECORD_BYTES`]; it is then not added. When the disk
    /// refuses; the snapshot is then to be dropped.
    pub fn append(&mut self, value: &[u8]) -> Result<()> {
        if value.is_empty() || value.len() > MAX_RECORD_BYTES {
            // An empty one is what Kafka's reader takes for damage.
            return Err(StorageError::SnapshotRecord {
                path: self.file.path().to_owned(),
                length: value.len(),
                limit: MAX_RECORD_BYTES,
            });
        }
        let full = self.batch.bytes() + value.len() + RECORD_OVERHEAD_BYTES > BATCH_BYTES;
        if full && !self.batch.is_empty() {
            self.close_batch()?;
        }
        self.batch
            .push(None, Some(value), &[])
            .map_err(|source| batch_error(self.file.path(), source))
    }

    /// Which snapshot it will be.
    pub fn id(&self) -> SnapshotId {
        self.file.id()
    }

    /// Adds the footer, syncs, and gives the file its name: when this returns, the snapshot is there for
    /// good. Returns its size.
    ///
    /// # Errors
    /// When the disk refuses. Unless it was the last sync of the folder that failed, there is no snapshot.
    pub fn finish(mut self) -> Result<u64> {
        if !self.batch.is_empty() {
            self.close_batch()?;
        }
        let mut footer = BatchBuilder::new(self.timestamp).control();
        footer
            .push(
                Some(&ControlType::SnapshotFooter.key()),
                Some(&control::snapshot_footer()),
                &[],
            )
            .map_err(|source| batch_error(self.file.path(), source))?;
        self.write(&footer)?;
        self.file.name()?;
        Ok(self.size)
    }

    fn close_batch(&mut self) -> Result<()> {
        let batch = std::mem::replace(&mut self.batch, BatchBuilder::new(self.timestamp));
        self.write(&batch)
    }

    fn write(&mut self, batch: &BatchBuilder) -> Result<()> {
        let bytes = batch
            .build(self.next_offset, self.file.id().epoch)
            .map_err(|source| batch_error(self.file.path(), source))?;
        let mut file = self.file.file();
        file.write_all(&bytes)
            .map_err(StorageError::io("write", self.file.path()))?;
        self.next_offset += batch.len() as i64;
        self.size += bytes.len() as u64;
        Ok(())
    }
}

fn batch_error(path: &Path, source: BatchError) -> StorageError {
    StorageError::Batch {
        path: path.to_owned(),
        source,
    }
}
