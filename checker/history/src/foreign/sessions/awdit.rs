//! AWDIT's test format: `w KEY VALUE` or `r KEY VALUE` a line; `-----` begins another transaction, `=====` another
//! session.

use super::super::Format;
use super::super::window::Window;
use super::{MOST_STEPS, Step, Transaction, Transactions};
use crate::ReadError;
use std::io::BufRead;

const EXPECTED: &str = "expected `r KEY VALUE`, `w KEY VALUE` with whole numbers, a line of - or a line of =";

/// Reads transactions from AWDIT's test format.
#[derive(Debug)]
pub(in super::super) struct Awdit<R> {
    window: Window<R>,
    session: u64,
    any: bool,
}

/// What a line says.
enum Line {
    Step(Step),
    NextTransaction,
    NextSession,
}

impl<R: BufRead> Awdit<R> {
    pub fn new(reader: R) -> Awdit<R> {
        Awdit {
            window: Window::new(reader, Format::AwditTestText),
            session: 0,
            any: false,
        }
    }
}

impl<R: BufRead> Transactions for Awdit<R> {
    fn begin(&mut self) -> Result<(), ReadError> {
        self.window.begin()
    }

    fn next(&mut self) -> Result<Option<Transaction>, ReadError> {
        let mut steps = Vec::new();
        let session = loop {
            let session = self.session;
            let Some(length) = self.window.line_length()? else {
                break session;
            };
            let line = parse(self.window.line_text(length)?);
            match line.map_err(|why| self.window.error(0, why))? {
                Line::NextTransaction => {}
                Line::NextSession => self.session = self.session.saturating_add(1),
                Line::Step(_) if steps.len() >= MOST_STEPS => {
                    let why =
                        format!("a transaction of more than {MOST_STEPS} reads and writes: expected -----");
                    return Err(self.window.error(0, why));
                }
                Line::Step(step) => {
                    steps.push(step);
                    self.window.take(length);
                    continue;
                }
            }
            self.window.take(length);
            if !steps.is_empty() {
                break session;
            }
        };
        self.any |= !steps.is_empty();
        match (steps.is_empty(), self.any) {
            (false, _) => Ok(Some(Transaction { session, steps })),
            (true, true) => Ok(None),
            (true, false) => Err(self
                .window
                .error(0, format!("the file has no transaction: {EXPECTED}"))),
        }
    }
}

fn parse(line: &str) -> Result<Line, String> {
    if line.bytes().all(|byte| byte == b'-') {
        return Ok(Line::NextTransaction);
    }
    if line.bytes().all(|byte| byte == b'=') {
        return Ok(Line::NextSession);
    }
    let mut words = line.split_whitespace();
    let is_write = match words.next() {
        Some("w") => true,
        Some("r") => false,
        _ => return Err(EXPECTED.into()),
    };
    let mut number = || words.next().and_then(|word| word.parse::<i64>().ok());
    match (number(), number(), words.next()) {
        (Some(key), Some(value), None) => Ok(Line::Step(Step { is_write, key, value })),
        _ => Err(EXPECTED.into()),
    }
}
