//! The part of a file that is in memory: bytes read and not yet taken. It grows to hold one form or line, never more.

use super::Format;
use crate::ReadError;
use std::io::{BufRead, Read};

/// The longest form, line or stretch of white space that is read: an entry of a million elements takes a tenth of it.
pub(super) const FORM_LIMIT: usize = 64 << 20;

/// How much is read at once: large beside an entry, small beside a cache.
const CHUNK: usize = 256 << 10;

/// What a file of another kind begins with, and what to do.
const MISTAKEN: [(&[u8], &str); 4] = [
    (b"\x1f\x8b", "this is gzip: gunzip it first"),
    (b"\x28\xb5\x2f\xfd", "this is zstd: unzstd it first"),
    (b"\xff\xfe", "this is UTF-16: expected UTF-8, convert it first"),
    (b"\xfe\xff", "this is UTF-16: expected UTF-8, convert it first"),
];

/// A file's bytes that are read and not yet taken.
#[derive(Debug)]
pub(super) struct Window<R> {
    reader: R,
    format: Format,
    buffer: Vec<u8>,
    /// Where what is not taken begins.
    at: usize,
    /// The line of that place, from 1.
    line: u64,
    ended: bool,
}

impl<R: BufRead> Window<R> {
    pub fn new(reader: R, format: Format) -> Window<R> {
        Window {
            reader,
            format,
            buffer: Vec::new(),
            at: 0,
            line: 1,
            ended: false,
        }
    }

    /// Reads the beginning, and refuses what is plainly something else. A byte order mark is taken.
    pub fn begin(&mut self) -> Result<(), ReadError> {
        self.more()?;
        let mistaken = MISTAKEN
            .iter()
            .find(|(magic, _)| self.unread().starts_with(magic));
        if let Some((_, why)) = mistaken {
            return Err(self.error(0, *why));
        }
        if self.unread().starts_with(b"\xef\xbb\xbf") {
            self.take(3);
        }
        Ok(())
    }

    /// What is read and not yet taken.
    pub fn unread(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    /// Whether the whole rest of the file is in [`Window::unread`].
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Takes so many bytes.
    pub fn take(&mut self, bytes: usize) {
        let taken = self.unread().get(..bytes).unwrap_or_default();
        self.line += newlines(taken);
        self.at = self.buffer.len().min(self.at.saturating_add(bytes));
    }

    /// Reads at least as much again as there is, so that one who begins anew after each call is done in linear time.
    /// False at the file's end.
    pub fn more(&mut self) -> Result<bool, ReadError> {
        if self.ended {
            return Ok(false);
        }
        let unread = self.unread().len();
        if unread >= FORM_LIMIT {
            let why = format!(
                "what begins here is longer than {} MiB: expected an entry, a form or a line",
                FORM_LIMIT >> 20
            );
            return Err(self.error(0, why));
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        let wanted = unread.max(CHUNK).min(FORM_LIMIT - unread) as u64;
        let got = (&mut self.reader).take(wanted).read_to_end(&mut self.buffer)?;
        self.ended = (got as u64) < wanted;
        Ok(got > 0)
    }

    /// Passes over what is blank, as `blank_length` says of bytes that begin in it, and gives the byte behind; that is
    /// not taken. None at the file's end.
    pub fn next_byte(
        &mut self,
        mut blank_length: impl FnMut(&[u8]) -> usize,
    ) -> Result<Option<u8>, ReadError> {
        let mut passed = 0_usize;
        loop {
            let blank = blank_length(self.unread());
            self.take(blank);
            if let Some(byte) = self.unread().first() {
                return Ok(Some(*byte));
            }
            passed = passed.saturating_add(blank);
            if passed > FORM_LIMIT {
                let why = format!(
                    "{} MiB of white space and comments before this: expected an entry",
                    FORM_LIMIT >> 20
                );
                return Err(self.error(0, why));
            }
            if !self.more()? {
                return Ok(None);
            }
        }
    }

    /// The line of a place in what is unread.
    pub fn line_at(&self, place: usize) -> u64 {
        let before = self.unread().get(..place).unwrap_or(self.unread());
        self.line + newlines(before)
    }

    /// An error at a place in what is unread.
    pub fn error(&self, place: usize, why: impl Into<String>) -> ReadError {
        ReadError::Foreign {
            format: self.format,
            line: self.line_at(place),
            why: why.into(),
        }
    }

    /// The length of the next line that is not empty, with its newline; none at the file's end. White space before it
    /// is taken.
    pub fn line_length(&mut self) -> Result<Option<usize>, ReadError> {
        self.next_byte(white_space)?;
        let mut searched = 0;
        loop {
            let rest = self.unread().get(searched..).unwrap_or_default();
            if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                return Ok(Some(searched + at + 1));
            }
            searched = self.unread().len();
            if !self.more()? {
                return Ok((searched > 0).then_some(searched));
            }
        }
    }

    /// The line at the beginning, of a length that [`Window::line_length`] gave, without its end and outer white space.
    pub fn line_text(&self, length: usize) -> Result<&str, ReadError> {
        let bytes = self.unread().get(..length).unwrap_or_default();
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.trim()),
            Err(error) => Err(self.error(error.valid_up_to(), "expected UTF-8")),
        }
    }
}

/// How many bytes of ASCII white space there are.
pub(super) fn white_space(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|byte| !byte.is_ascii_whitespace());
    end.unwrap_or(bytes.len())
}

/// How many newlines there are. Counted in bytes, and those summed before they overflow: the compiler makes vectors of
/// that, which it does not of a plain count.
fn newlines(bytes: &[u8]) -> u64 {
    let stretches = bytes.chunks(u8::MAX as usize);
    stretches
        .map(|stretch| u64::from(stretch.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>()))
        .sum()
}
