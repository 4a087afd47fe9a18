//! Reads a snapshot.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::verify::{self, Verified};
use super::{SnapshotHeader, SnapshotId};
use crate::batch::{BatchError, BatchHeader};
use crate::error::{Result, StorageError};
use crate::record::Records;
use crate::window::Window;

/// A snapshot that was found whole and sound when it was opened. It can be read to its end even if it is
/// removed meanwhile.
#[derive(Debug)]
pub struct SnapshotReader {
    id: SnapshotId,
    path: PathBuf,
    file: File,
    verified: Verified,
}

impl SnapshotReader {
    /// Opens the snapshot `id` in `folder`, and checks every byte of it. To answer many FetchSnapshot
    /// requests, keep it open.
    ///
    /// # Errors
    /// When there is none, it is not sound, or the disk refuses.
    pub fn open(folder: &Path, id: SnapshotId) -> Result<Self> {
        let path = id.path(folder);
        let file = File::open(&path).map_err(StorageError::io("open", &path))?;
        let verified = verify::verify(&path, &file, id)?;
        Ok(Self::of(folder, id, file, verified))
    }

    /// Of a file that has been checked and now has its name.
    pub(super) fn of(folder: &Path, id: SnapshotId, file: File, verified: Verified) -> Self {
        let path = id.path(folder);
        Self {
            id,
            path,
            file,
            verified,
        }
    }

    /// Which snapshot it is.
    pub fn id(&self) -> SnapshotId {
        self.id
    }

    /// Its bytes.
    pub fn size(&self) -> u64 {
        self.verified.size
    }

    /// What its first batch says.
    pub fn header(&self) -> &SnapshotHeader {
        &self.verified.header
    }

    /// Its batches in order, those of header and footer included; ends after an error.
    pub fn batches(&self) -> SnapshotBatches<'_> {
        SnapshotBatches {
            reader: self,
            position: 0,
            window: Window::default(),
        }
    }

    /// At most `max_bytes` from byte `position` on, wherever batches begin; none at the end.
    ///
    /// # Errors
    /// When `position` lies beyond the end, or the disk refuses.
    pub fn read_at(&self, position: u64, max_bytes: usize) -> Result<Bytes> {
        let Some(left) = self.size().checked_sub(position) else {
            return Err(StorageError::SnapshotPosition {
                path: self.path.clone(),
                position,
                size: self.size(),
            });
        };
        let length = usize::try_from(left).map_or(max_bytes, |left| left.min(max_bytes));
        let mut bytes = vec![0; length];
        self.file
            .read_exact_at(&mut bytes, position)
            .map_err(StorageError::io("read", &self.path))?;
        Ok(bytes.into())
    }
}

/// A batch of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotBatch {
    /// Its header.
    pub header: BatchHeader,
    /// All its bytes.
    pub bytes: Bytes,
}

impl SnapshotBatch {
    /// Whether it holds control records: the snapshot's header or footer.
    pub fn is_control(&self) -> bool {
        self.header.attributes.is_control()
    }

    /// Its records.
    ///
    /// # Errors
    /// When the batch is compressed.
    pub fn records(&self) -> std::result::Result<Records<'_>, BatchError> {
        Records::of(&self.bytes)
    }
}

/// See [`SnapshotReader::batches`].
#[derive(Debug)]
pub struct SnapshotBatches<'a> {
    reader: &'a SnapshotReader,
    position: u64,
    window: Window,
}

impl SnapshotBatches<'_> {
    fn read(&mut self) -> Result<SnapshotBatch> {
        let SnapshotReader { path, file, .. } = self.reader;
        let position = self.position;
        let size = self.reader.size();
        let bytes = verify::read_batch(path, file, size, &mut self.window, &mut self.position)?;
        let header = BatchHeader::parse(bytes)
            .map_err(|error| StorageError::snapshot(path, position, error.to_string()))?;
        Ok(SnapshotBatch {
            header,
            bytes: Bytes::copy_from_slice(bytes),
        })
    }
}

impl Iterator for SnapshotBatches<'_> {
    type Item = Result<SnapshotBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.position >= self.reader.size() {
            return None;
        }
        let batch = self.read();
        if batch.is_err() {
            self.position = self.reader.size();
        }
        Some(batch)
    }
}
