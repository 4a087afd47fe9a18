//! Reading a history back.

mod entries;
mod fast;
mod part;

pub use entries::Entries;

use crate::{Entry, Format, Header, SCHEMA};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// A history read whole.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// Its first line.
    pub header: Header,
    /// Its entries, by index.
    pub entries: Vec<Entry>,
    /// A torn last line that was dropped, if there was one.
    pub dropped: Option<Dropped>,
}

/// A torn last line: the harness died while writing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Its number, from 1.
    pub line: usize,
    /// How many bytes of it there were.
    pub bytes: usize,
}

/// Why a history could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("the history cannot be read: {0}")]
    Io(#[from] io::Error),
    /// There is no header.
    #[error("the history has no first line with schema, ackall_version and started_at: {0}")]
    Header(String),
    /// Another version of the format.
    #[error("the history has schema {found}, this program reads {SCHEMA}")]
    Schema {
        /// What the header says.
        found: u32,
    },
    /// A line that is no entry.
    #[error("line {line}: expected an entry of a history: {why}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// A foreign history's line that is not what its format has.
    #[error("line {line} of a history in {format}: {why}")]
    Foreign {
        /// The format that it was read in.
        format: Format,
        /// The line's number, from 1.
        line: u64,
        /// What was expected, what is there, what to do.
        why: String,
    },
    /// A binary history's bytes that are not what its format has.
    #[error("byte {at} of a history in {format}: {why}")]
    Binary {
        /// The format that it was read in.
        format: Format,
        /// The bytes before it.
        at: u64,
        /// What was expected, what is there, what to do.
        why: String,
    },
    /// Entries that cannot be paired.
    #[error("operation {index}: {why}")]
    Pairing {
        /// The index of the entry that does not fit.
        index: u64,
        /// What was expected, what is there, what to do.
        why: String,
    },
}

/// Reads the history at a path.
///
/// # Errors
/// As [`read`].
pub fn read_path(path: &Path) -> Result<History, ReadError> {
    read(BufReader::new(File::open(path)?))
}

/// Reads a history. A last line without its newline is dropped, and said in [`History::dropped`].
///
/// # Errors
/// Where the reader fails, the header is missing or of another schema, a line is no entry, or indexes and
/// times are out of order.
pub fn read(reader: impl BufRead) -> Result<History, ReadError> {
    let mut stream = Entries::new(reader)?;
    let mut entries = Vec::new();
    stream.read_into(&mut entries)?;
    let dropped = stream.dropped();
    Ok(History {
        header: stream.into_header(),
        entries,
        dropped,
    })
}
