//! `replication-offset-checkpoint`: the high watermarks, written now and then, and at the end.

use std::path::PathBuf;

use storage::StorageError;
use storage::offsets::{self, Offsets};

use super::Broker;

/// How often the file is written, if anything in it changed.
const INTERVAL_MS: u64 = 1_000;

/// The file, and what was last written to it.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    written: Offsets,
    next: u64,
}

impl Checkpoint {
    /// The file as it was found.
    pub fn new(path: PathBuf, written: Offsets) -> Self {
        Self {
            path,
            written,
            next: 0,
        }
    }

    /// What it says.
    pub fn offsets(&self) -> &Offsets {
        &self.written
    }

    /// Removes the marks of partitions that are gone, at once.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn forget(&mut self, gone: &[(String, i32)]) -> Result<(), StorageError> {
        let before = self.written.len();
        self.written.retain(|partition, _| !gone.contains(partition));
        match self.written.len() == before {
            true => Ok(()),
            false => offsets::write(&self.path, &self.written),
        }
    }

    /// When it is due.
    pub fn next_deadline(&self) -> u64 {
        self.next
    }
}

impl Broker {
    /// Writes the file, if that is due and anything changed.
    pub fn write_checkpoint(&mut self, now: u64) -> Result<(), StorageError> {
        if now < self.checkpoint.next {
            return Ok(());
        }
        self.checkpoint.next = now + INTERVAL_MS;
        self.write_checkpoint_now()
    }

    /// Writes the file, if anything changed.
    pub fn write_checkpoint_now(&mut self) -> Result<(), StorageError> {
        // What was found and not heard of yet keeps its mark.
        let mut marks = self.checkpoint.written.clone();
        for (key, partition) in &self.partitions {
            marks.insert(
                (partition.topic.clone(), key.1),
                partition.replica.high_watermark(),
            );
        }
        if marks != self.checkpoint.written {
            offsets::write(&self.checkpoint.path, &marks)?;
            self.checkpoint.written = marks;
        }
        Ok(())
    }
}
