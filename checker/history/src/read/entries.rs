//! A history's entries, as a stream that is read in batches: while one batch of lines is parsed, by several threads
//! where it is large, the next one is read.

use super::part::{self, Part};
use super::{Dropped, ReadError};
use crate::{Entry, Header, SCHEMA};
use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::thread;

/// The longest line that is read: a poll of a million records is half of it.
const LINE_LIMIT: usize = 64 << 20;
/// How much is read at once: thousands of lines for each thread. More takes longer: what they become leaves the cache.
const BATCH: usize = 1 << 20;
/// A thread is not worth starting for fewer bytes.
const PART: usize = 256 << 10;
/// More threads than that would wait for the reader.
const MOST_THREADS: usize = 8;
/// What gzip begins with.
const GZIP: &[u8] = b"\x1f\x8b";

/// The entries of a history, as a stream. It ends after its first error.
#[derive(Debug)]
pub struct Entries<R> {
    reader: R,
    header: Header,
    dropped: Option<Dropped>,
    /// Bytes that are read and not yet parsed. They begin with a line.
    unparsed: Vec<u8>,
    /// What reading further came to, where it failed; told once all before it is parsed.
    failed: Option<io::Error>,
    /// Whether all bytes are read.
    exhausted: bool,
    /// What is parsed and not yet given.
    parts: VecDeque<Part>,
    order: Order,
    ended: bool,
}

/// The order that entries are in.
#[derive(Debug)]
struct Order {
    /// The index that comes next. Its line is the second one behind.
    index: u64,
    /// The time of the entry before.
    time: u64,
}

impl Order {
    fn line(&self) -> usize {
        usize::try_from(self.index).map_or(usize::MAX, |index| index.saturating_add(2))
    }

    fn error(&self, why: String) -> ReadError {
        ReadError::Line {
            line: self.line(),
            why,
        }
    }

    fn check(&mut self, entry: &Entry) -> Result<(), ReadError> {
        if entry.index != self.index {
            return Err(self.error(format!("index {} where {} was expected", entry.index, self.index)));
        }
        if self.time > entry.time {
            return Err(self.error(format!("time {} is before the line above", entry.time)));
        }
        self.index += 1;
        self.time = entry.time;
        Ok(())
    }
}

impl<R: BufRead> Entries<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// Where it is missing, or of another schema.
    pub fn new(mut reader: R) -> Result<Entries<R>, ReadError> {
        let mut line = Vec::new();
        (&mut reader)
            .take(LINE_LIMIT as u64)
            .read_until(b'\n', &mut line)?;
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
            unparsed: Vec::new(),
            failed: None,
            exhausted: false,
            parts: VecDeque::new(),
            order: Order { index: 0, time: 0 },
            ended: false,
        })
    }

    /// Adds all entries that are left to those that are there.
    pub(super) fn read_into(&mut self, entries: &mut Vec<Entry>) -> Result<(), ReadError> {
        while let Some(mut part) = self.next_part()? {
            let first = entries.len();
            entries.extend(part.entries.by_ref());
            for entry in entries.iter().skip(first) {
                self.order.check(entry)?;
            }
            if let Some(why) = part.wrong {
                return Err(self.order.error(why));
            }
        }
        Ok(())
    }

    /// The next part that is parsed; none at the end.
    fn next_part(&mut self) -> Result<Option<Part>, ReadError> {
        loop {
            if let Some(part) = self.parts.pop_front() {
                return Ok(Some(part));
            }
            if !self.parse_batch()? {
                return Ok(None);
            }
        }
    }

    /// Parses what is read, and meanwhile reads on; false at the end.
    fn parse_batch(&mut self) -> Result<bool, ReadError> {
        let end = self
            .unparsed
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map(|at| at + 1);
        let Some(end) = end.filter(|end| *end > 0) else {
            return self.read_a_line();
        };
        let mut next = self.unparsed.split_off(end);
        let parts = part::cut(&self.unparsed, PART, threads());
        let parsed = thread::scope(|scope| {
            let (first, others) = parts.split_first()?;
            let others: Vec<_> = others
                .iter()
                .map(|lines| scope.spawn(|| Part::of(lines)))
                .collect();
            let mut parsed = VecDeque::new();
            if others.is_empty() {
                parsed.push_back(Part::of(first));
                return Some((parsed, None));
            }
            let first = scope.spawn(|| Part::of(first));
            let read = read_on(&mut self.reader, &mut next, self.exhausted);
            // A parser that panics is a bug of ours, and goes on here.
            for part in std::iter::once(first).chain(others) {
                parsed.push_back(
                    part.join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                );
            }
            Some((parsed, Some(read)))
        });
        self.unparsed = next;
        let Some((parsed, read)) = parsed else {
            return Ok(true);
        };
        self.parts = parsed;
        match read {
            None => {}
            Some(Ok(exhausted)) => self.exhausted = exhausted,
            Some(Err(error)) => self.failed = Some(error),
        }
        Ok(true)
    }

    /// Reads until there is a whole line; false at the end.
    fn read_a_line(&mut self) -> Result<bool, ReadError> {
        if let Some(error) = self.failed.take() {
            return Err(error.into());
        }
        if self.unparsed.len() >= LINE_LIMIT {
            return Err(self
                .order
                .error(format!("the line is longer than {} MiB", LINE_LIMIT >> 20)));
        }
        if self.exhausted {
            let bytes = self.unparsed.len();
            if bytes > 0 {
                let line = self.order.line();
                self.dropped = Some(Dropped { line, bytes });
            }
            return Ok(false);
        }
        self.exhausted = read_on(&mut self.reader, &mut self.unparsed, false)?;
        Ok(true)
    }

    fn read(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            if let Some(part) = self.parts.front_mut() {
                if let Some(entry) = part.entries.next() {
                    self.order.check(&entry)?;
                    return Ok(Some(entry));
                }
                if let Some(why) = part.wrong.take() {
                    return Err(self.order.error(why));
                }
                self.parts.pop_front();
            } else if !self.parse_batch()? {
                return Ok(None);
            }
        }
    }
}

impl<R> Entries<R> {
    /// The history's first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The history's first line, for keeps.
    pub fn into_header(self) -> Header {
        self.header
    }

    /// A torn last line that was dropped, once the end was reached.
    pub fn dropped(&self) -> Option<Dropped> {
        self.dropped.clone()
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

/// Reads at least as much again as there is; true where nothing is left.
fn read_on(reader: &mut impl BufRead, bytes: &mut Vec<u8>, exhausted: bool) -> io::Result<bool> {
    if exhausted {
        return Ok(true);
    }
    let wanted = bytes
        .len()
        .max(BATCH)
        .min(LINE_LIMIT.saturating_sub(bytes.len()))
        .max(1) as u64;
    let got = reader.take(wanted).read_to_end(bytes)?;
    Ok((got as u64) < wanted)
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, |count| count.get().min(MOST_THREADS))
}
