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

    /// A `Parse` error of line `line`, counted from 1.
    pub(crate) fn parse(path: &Path, line: usize, reason: impl Into<String>) -> Self {
        Self::Parse {
            path: path.to_owned(),
            line,
            reason: reason.into(),
        }
    }
}
