//! Takes in a snapshot that a leader sends in chunks (FetchSnapshot, KIP-630).

use std::os::unix::fs::FileExt;
use std::path::Path;

use super::temporary::Temporary;
use super::{SnapshotId, SnapshotReader, verify};
use crate::error::{Result, StorageError};

/// A snapshot on its way. Dropped before [`SnapshotReceiver::finish`], it leaves nothing.
#[derive(Debug)]
pub struct SnapshotReceiver {
    file: Temporary,
    size: u64,
    position: u64,
}

impl SnapshotReceiver {
    /// Begins to take in the snapshot `id`, which has `size` bytes, into the metadata log's folder. One
    /// that has its name already is replaced at the end: it may be the one that has rotted.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn begin(folder: &Path, id: SnapshotId, size: u64) -> Result<Self> {
        Ok(Self {
            file: Temporary::create(folder, id)?,
            size,
            position: 0,
        })
    }

    /// Which snapshot it will be.
    pub fn id(&self) -> SnapshotId {
        self.file.id()
    }

    /// The byte to ask for next.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Bytes that the leader said it has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether every byte has come.
    pub fn is_complete(&self) -> bool {
        self.position == self.size
    }

    /// Takes the chunk that begins at byte `position`.
    ///
    /// # Errors
    /// When it does not begin where the last one ended, or reaches beyond the snapshot's size; nothing is
    /// taken then. When the disk refuses.
    pub fn append(&mut self, position: u64, bytes: &[u8]) -> Result<()> {
        let left = self.size - self.position;
        if position != self.position || bytes.len() as u64 > left {
            return Err(StorageError::SnapshotChunk {
                path: self.file.path().to_owned(),
                expected: self.position,
                left,
                found: position,
                length: bytes.len(),
            });
        }
        self.file
            .file()
            .write_all_at(bytes, position)
            .map_err(StorageError::io("write", self.file.path()))?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Checks the whole file, syncs, and gives it its name: when this returns, the snapshot is there for
    /// good. A bad one is removed, and a snapshot that had the name stays.
    ///
    /// # Errors
    /// When bytes are missing, the snapshot is not sound, or the disk refuses.
    pub fn finish(self) -> Result<SnapshotReader> {
        if !self.is_complete() {
            let reason = format!("{} of {} bytes came", self.position, self.size);
            return Err(StorageError::snapshot(self.file.path(), self.position, reason));
        }
        let verified = verify::verify(self.file.path(), self.file.file(), self.id())?;
        let (folder, id) = (self.file.folder().to_owned(), self.id());
        let file = self.file.name()?;
        Ok(SnapshotReader::of(&folder, id, file, verified))
    }
}
