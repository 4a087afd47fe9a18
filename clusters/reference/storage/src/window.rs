//! Buffered reading of a file at positions that mostly go forward, without the file's own cursor, which
//! an appender may be using.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// How much is read at once: a few hundred small batches, and one request to a file system in user space.
const READ_AHEAD_BYTES: usize = 64 * 1024;

/// A piece of a file, held in memory.
#[derive(Debug, Default)]
pub(crate) struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// The bytes from `at` on: `length` of them, or as many as lie below `limit`.
    pub(crate) fn get(&mut self, file: &File, at: u64, length: usize, limit: u64) -> io::Result<&[u8]> {
        let there = usize::try_from(limit.saturating_sub(at)).unwrap_or(usize::MAX);
        let wanted = length.min(there);
        let held = at >= self.start && at - self.start + wanted as u64 <= self.bytes.len() as u64;
        if !held {
            self.bytes.resize(there.min(length.max(READ_AHEAD_BYTES)), 0);
            self.start = at;
            if let Err(error) = file.read_exact_at(&mut self.bytes, at) {
                self.bytes.clear();
                return Err(error);
            }
        }
        // The piece begins at or before `at`, and holds `wanted` bytes from there.
        let from = (at - self.start) as usize;
        Ok(&self.bytes[from..from + wanted])
    }
}
