//! Reading a history back.

use crate::{Entry, Format, Header, SCHEMA};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// What gzip begins with.
const GZIP: &[u8] = b"\x1f\x8b";

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
    let mut entries = Entries::new(reader)?;
    let read = entries.by_ref().collect::<Result<_, _>>()?;
    Ok(History {
        header: entries.header,
        entries: read,
        dropped: entries.dropped,
    })
}

/// The longest line that is read: a poll of a million records is half of it.
const LINE_LIMIT: u64 = 64 << 20;

/// The entries of a history, as a stream. It ends after its first error.
#[derive(Debug)]
pub struct Entries<R> {
    reader: R,
    header: Header,
    dropped: Option<Dropped>,
    line: Vec<u8>,
    /// The number of the line read last.
    number: usize,
    /// The index that comes next.
    index: u64,
    /// The time of the entry before.
    time: u64,
    ended: bool,
}

impl<R: BufRead> Entries<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// Where it is missing, or of another schema.
    pub fn new(mut reader: R) -> Result<Entries<R>, ReadError> {
        let mut line = Vec::new();
        (&mut reader).take(LINE_LIMIT).read_until(b'\n', &mut line)?;
        if line.starts_with(GZIP) {
            return Err(ReadError::Header("it is gzip: gunzip it first".into()));
        }
        if line.pop() != Some(b'\n') {
            return Err(ReadError::Header("it is missing or torn".into()));
        }
        let header: Header = serde_json::from_slice(&line).map_err(|e| ReadError::Header(e.to_string()))?;
        if header.schema != SCHEMA {
            return Err(ReadError::Schema { found: header.schema });
        }
        Ok(Entries {
            reader,
            header,
            dropped: None,
            line,
            number: 1,
            index: 0,
            time: 0,
            ended: false,
        })
    }

    /// The history's first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// A torn last line that was dropped, once the end was reached.
    pub fn dropped(&self) -> Option<Dropped> {
        self.dropped.clone()
    }

    fn read(&mut self) -> Result<Option<Entry>, ReadError> {
        self.line.clear();
        self.number += 1;
        let mut limited = (&mut self.reader).take(LINE_LIMIT);
        if limited.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        let line = self.number;
        let fail = |why: String| ReadError::Line { line, why };
        if self.line.len() as u64 == LINE_LIMIT {
            return Err(fail(format!("the line is longer than {} MiB", LINE_LIMIT >> 20)));
        }
        if self.line.last() != Some(&b'\n') {
            let bytes = self.line.len();
            self.dropped = Some(Dropped { line, bytes });
            return Ok(None);
        }
        let entry: Entry = serde_json::from_slice(&self.line).map_err(|e| fail(e.to_string()))?;
        let expected = self.index;
        if entry.index != expected {
            return Err(fail(format!(
                "index {} where {expected} was expected",
                entry.index
            )));
        }
        if self.time > entry.time {
            return Err(fail(format!("time {} is before the line above", entry.time)));
        }
        self.index += 1;
        self.time = entry.time;
        Ok(Some(entry))
    }
}

impl<R: BufRead> Iterator for Entries<R> {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = self.read().transpose();
        self.ended = !matches!(read, Some(Ok(_)));
        read
    }
}
