//! Writing a history as it happens.

use crate::{Body, Entry, Header, Kind, Process};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Writes a history. Shared by all who record; each entry is in the kernel's hands when [`Recorder::record`]
/// returns, so a death of the harness loses nothing that was recorded.
pub struct Recorder {
    began: Instant,
    inner: Mutex<Inner>,
}

struct Inner {
    file: Box<dyn Write + std::marker::Send>,
    next: u64,
    line: Vec<u8>,
}

impl Recorder {
    /// Writes the header; `began` is the zero of the run's clock.
    ///
    /// `file` must hand each `write` to the kernel at once (a [`std::fs::File`], not a buffered writer).
    ///
    /// # Errors
    /// Where the header cannot be written.
    pub fn new(
        mut file: impl Write + std::marker::Send + 'static,
        header: &Header,
        began: Instant,
    ) -> io::Result<Recorder> {
        let mut line = serde_json::to_vec(header)?;
        line.push(b'\n');
        file.write_all(&line)?;
        Ok(Recorder {
            began,
            inner: Mutex::new(Inner {
                file: Box::new(file),
                next: 0,
                line,
            }),
        })
    }

    /// Nanoseconds on the run's clock, now.
    pub fn now(&self) -> u64 {
        self.at(Instant::now())
    }

    /// An instant on the run's clock; 0 for what was before its zero.
    pub fn at(&self, instant: Instant) -> u64 {
        // 2^64 ns are 584 years: no run is that long.
        instant.saturating_duration_since(self.began).as_nanos() as u64
    }

    /// Records one entry, stamped now, and gives its index. Entries are stamped and written under one lock,
    /// so that their order in the file is their order in time.
    ///
    /// # Errors
    /// Where the file takes no more (a full disk): the run must end then.
    pub fn record(&self, process: Process, kind: Kind, body: Body) -> io::Result<u64> {
        // A panic while holding the lock can only come from serialisation, which leaves `next` untouched.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { file, next, line } = &mut *inner;
        let entry = Entry {
            index: *next,
            time: self.now(),
            process,
            kind,
            body,
        };
        line.clear();
        serde_json::to_writer(&mut *line, &entry)?;
        line.push(b'\n');
        file.write_all(line)?;
        *next += 1;
        Ok(entry.index)
    }
}
