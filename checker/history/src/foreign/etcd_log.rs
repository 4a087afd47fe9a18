//! Lines of a Jepsen log, as Porcupine reads them: `INFO jepsen.util - PROCESS :TYPE :F PAYLOAD`.
//!
//! A log has other lines: those of other loggers, and what an exception prints behind one of them. They are passed
//! over; but the first line must be one of a log, and nothing but one may stand behind an operation's.

use super::Format;
use super::edn::{FastEdn, first_form};
use super::names::Names;
use super::raw::{Raw, kind};
use super::window::Window;
use crate::{Process, ReadError, Value};
use std::io::BufRead;

/// What the lines of operations have.
const LOGGER: &str = "jepsen.util";
/// One of these stands among a log line's first words.
const LEVELS: [&str; 6] = ["INFO", "WARN", "ERROR", "DEBUG", "TRACE", "FATAL"];
/// How many words may stand before the level: a date, a time, a thread.
const WORDS_BEFORE_LEVEL: usize = 4;

const EXPECTED: &str = "expected INFO jepsen.util - PROCESS :TYPE :F VALUE";

/// Reads entries from a Jepsen log.
#[derive(Debug)]
pub(super) struct EtcdLog<R> {
    window: Window<R>,
    names: Names,
    fast: FastEdn,
    /// Whether any entry was read.
    any: bool,
    /// Whether the line before was another logger's, so that an exception's lines may follow.
    may_go_on: bool,
}

impl<R: BufRead> EtcdLog<R> {
    pub fn new(reader: R) -> EtcdLog<R> {
        EtcdLog {
            window: Window::new(reader, Format::PorcupineEtcdLog),
            names: Names::default(),
            fast: FastEdn::default(),
            any: false,
            may_go_on: false,
        }
    }

    pub fn begin(&mut self) -> Result<(), ReadError> {
        self.window.begin()
    }

    pub fn next(&mut self) -> Result<Option<Raw>, ReadError> {
        while let Some(length) = self.window.line_length()? {
            let line = self.window.line_text(length)?;
            let read = if let Some(operation) = operation_of(line) {
                self.may_go_on = false;
                entry(operation, &mut self.names, &mut self.fast).map(Some)
            } else if is_log_line(line) {
                self.may_go_on = true;
                Ok(None)
            } else if self.may_go_on {
                Ok(None)
            } else {
                Err(EXPECTED.into())
            };
            let read = read.map_err(|why| self.window.error(0, why))?;
            self.window.take(length);
            if read.is_some() {
                self.any = true;
                return Ok(read);
            }
        }
        match self.any {
            true => Ok(None),
            false => Err(self
                .window
                .error(0, format!("the file has no operation: {EXPECTED}"))),
        }
    }
}

fn is_log_line(line: &str) -> bool {
    let mut words = line.split_whitespace().take(WORDS_BEFORE_LEVEL + 1);
    words.any(|word| LEVELS.contains(&word))
}

/// What stands behind the logger's name, where it is the one.
fn operation_of(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("INFO")?.trim_start().strip_prefix(LOGGER)?;
    rest.trim_start().strip_prefix('-').map(str::trim)
}

fn entry(text: &str, names: &mut Names, fast: &mut FastEdn) -> Result<Raw, String> {
    let (process, rest) = word(text);
    let (state, rest) = word(rest);
    let (f, payload) = word(rest);
    let mut raw = Raw::new(names.none());
    raw.process = match process.parse::<i64>() {
        Ok(number) => Process::Client(number as u64),
        Err(_) if process.starts_with(':') => Process::Nemesis,
        Err(_) => return Err(format!("{process:?} is no process: {EXPECTED}")),
    };
    let state = state.strip_prefix(':').unwrap_or_default();
    raw.kind = Some(kind(&Value::Keyword(names.get(state)))?);
    let f = f.strip_prefix(':').filter(|f| !f.is_empty());
    raw.f = names.get(f.ok_or_else(|| format!("an operation has no name: {EXPECTED}"))?);
    raw.value = match (raw.process, payload) {
        // What a nemesis says of itself is prose, and nobody reads it.
        (Process::Nemesis, _) => Value::Nil,
        (_, "") => return Err(format!("an operation has no value: {EXPECTED}")),
        (_, payload) => first_form(payload, names, fast)?,
    };
    Ok(raw)
}

/// A text's first word, and what is behind it.
fn word(text: &str) -> (&str, &str) {
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim_start()),
        None => (text, ""),
    }
}
