//! What can go wrong with a file: said with what was tried, on which path, why, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use crate::batch::BatchError;

/// The result of everything here that touches a file.
pub type Result<T> = std::result::Result<T, StorageError>;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The operating system refused.
    #[error("cannot {tried} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb phrase: "open", "sync".
        tried: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file's text is not what its format says.
    #[error("cannot read {} line {line}: {reason}; restore the file, or remove it to start without it", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What was expected and what was found.
        reason: String,
    },
    /// Bytes handed to [`crate::Log`] are not whole, valid record batches. Nothing was written.
    #[error("cannot append to {}: {source}; the sender must send whole, valid batches", path.display())]
    Batch {
        /// The log's folder.
        path: PathBuf,
        /// What is wrong with them.
        source: BatchError,
    },
    /// A batch does not begin where the log ends. Nothing was written.
    #[error("cannot append to {}: a batch begins at offset {found}, the log ends at {expected}; fetch again from its end", path.display())]
    NotContiguous {
        /// The log's folder.
        path: PathBuf,
        /// The log's end offset.
        expected: i64,
        /// The batch's base offset.
        found: i64,
    },
    /// A batch's leader epoch is lower than one already in the log. Nothing was written.
    #[error("cannot append to {}: a batch of leader epoch {found} after one of epoch {latest}; it comes from a deposed leader", path.display())]
    EpochWentBack {
        /// The log's folder.
        path: PathBuf,
        /// The latest epoch in the log.
        latest: i32,
        /// The batch's.
        found: i32,
    },
    /// A read, or a move of the log's start, outside `start..=end`.
    #[error("offset {offset} of {} is outside {start}..={end}; ask for the offsets it has", path.display())]
    OutOfRange {
        /// The log's folder.
        path: PathBuf,
        /// The offset that was asked for.
        offset: i64,
        /// The log's start offset.
        start: i64,
        /// The log's end offset.
        end: i64,
    },
    /// A batch that was sound is not any more.
    #[error("{} has rotted: {source}; remove this replica's log and let it fetch a new one", path.display())]
    Rotten {
        /// The segment.
        path: PathBuf,
        /// What is wrong with the batch.
        source: BatchError,
    },
    /// `quorum-state` is not what its format says. Nothing was written.
    #[error("cannot read {} line {line}: {reason}; restore the file as this node last wrote it, or take the node out of the quorum and format it anew: without the file it might vote twice in an epoch", path.display())]
    QuorumState {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What was expected and what was found.
        reason: String,
    },
    /// The log does not reach down to the newest snapshot.
    #[error("the log {} begins at offset {start}, the newest snapshot ends at {snapshot_end}: the records between are missing; restore the snapshot that was removed, or remove the log and let this replica fetch a new one", path.display())]
    Hole {
        /// The log's folder.
        path: PathBuf,
        /// Where the log begins.
        start: i64,
        /// Where the newest snapshot ends; 0 if there is none.
        snapshot_end: i64,
    },
    /// A snapshot is not whole and sound.
    #[error("the snapshot {} is not sound at byte {position}: {reason}; remove it, and let this replica fetch one from the leader", path.display())]
    Snapshot {
        /// The file.
        path: PathBuf,
        /// Where in it.
        position: u64,
        /// What was expected and what was found.
        reason: String,
    },
    /// There is such a snapshot already. Nothing was written.
    #[error("cannot make the snapshot {}: it exists; use that one", path.display())]
    SnapshotExists {
        /// The file.
        path: PathBuf,
    },
    /// A record cannot stand in a snapshot. Nothing was written.
    #[error("cannot add a record of {length} bytes to {}: a snapshot takes 1 to {limit}; the record is not one of a metadata log", path.display())]
    SnapshotRecord {
        /// The file.
        path: PathBuf,
        /// The record's bytes.
        length: usize,
        /// The most that are taken.
        limit: usize,
    },
    /// A chunk of a snapshot is not the one that is due. Nothing was written.
    #[error("cannot add {length} bytes at {found} to {}: {left} bytes from {expected} on are due; ask the leader for those", path.display())]
    SnapshotChunk {
        /// The file.
        path: PathBuf,
        /// Where the next chunk must begin.
        expected: u64,
        /// Bytes that are missing.
        left: u64,
        /// Where the chunk begins.
        found: u64,
        /// Its bytes.
        length: usize,
    },
    /// A read beyond the end of a snapshot.
    #[error("byte {position} of {} lies beyond its {size} bytes; ask for what it has", path.display())]
    SnapshotPosition {
        /// The file.
        path: PathBuf,
        /// The byte that was asked for.
        position: u64,
        /// Bytes that it has.
        size: u64,
    },
    /// An earlier write or sync failed, and what the disk holds is unknown.
    #[error("the log {} is offline since an earlier write or sync failed ({cause}); restart the node to recover it", path.display())]
    Offline {
        /// The log's folder.
        path: PathBuf,
        /// The first failure.
        cause: String,
    },
}

impl StorageError {
    /// An `Io` error: `File::open(p).map_err(StorageError::io("open", p))`.
    pub(crate) fn io(tried: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { tried, path, source }
    }

    /// A `Snapshot` error.
    pub(crate) fn snapshot(path: &Path, position: u64, reason: String) -> Self {
        let path = path.to_owned();
        Self::Snapshot {
            path,
            position,
            reason,
        }
    }

    /// A `Parse` error of line `line`, counted from 1.
    pub(crate) fn parse(path: &Path, line: usize, reason: impl Into<String>) -> Self {
        Self::Parse {
            path: path.to_owned(),
            line,
            reason: reason.into(),
        }
    }
}
