//! Plume's text: `r(KEY,VALUE,SESSION,TRANSACTION)` or `w(…)` a line. The lines of a session are in its order; those of
//! different sessions may alternate, so that one transaction a session is held.

use super::super::Format;
use super::super::window::Window;
use super::{MOST_STEPS, Step, Transaction, Transactions};
use crate::ReadError;
use std::collections::{BTreeMap, VecDeque};
use std::io::BufRead;

const EXPECTED: &str = "expected `r(KEY,VALUE,SESSION,TRANSACTION)` or `w(…)`, with whole numbers";

/// Reads transactions from Plume's text.
#[derive(Debug)]
pub(in super::super) struct Plume<R> {
    window: Window<R>,
    /// By session, the transaction whose lines are being read.
    open: BTreeMap<i64, Open>,
    /// What is left at the end.
    left: VecDeque<Transaction>,
    any: bool,
}

#[derive(Debug)]
struct Open {
    number: i64,
    steps: Vec<Step>,
}

/// What a line says.
struct Line {
    step: Step,
    session: i64,
    number: i64,
}

impl<R: BufRead> Plume<R> {
    pub fn new(reader: R) -> Plume<R> {
        Plume {
            window: Window::new(reader, Format::PlumeText),
            open: BTreeMap::new(),
            left: VecDeque::new(),
            any: false,
        }
    }

    /// Takes a line in; gives the transaction that it ends.
    fn take(&mut self, line: Line) -> Result<Option<Transaction>, String> {
        let open = self.open.entry(line.session).or_insert_with(|| Open {
            number: line.number,
            steps: Vec::new(),
        });
        if open.steps.len() >= MOST_STEPS {
            return Err(format!(
                "a transaction of more than {MOST_STEPS} reads and writes"
            ));
        }
        let mut ended = None;
        if open.number != line.number {
            open.number = line.number;
            ended = Some(transaction(line.session, std::mem::take(&mut open.steps)));
        }
        open.steps.push(line.step);
        Ok(ended)
    }
}

fn transaction(session: i64, steps: Vec<Step>) -> Transaction {
    Transaction {
        // A negative one stands as its two's complement, as processes do.
        session: session as u64,
        steps,
    }
}

impl<R: BufRead> Transactions for Plume<R> {
    fn begin(&mut self) -> Result<(), ReadError> {
        self.window.begin()
    }

    fn next(&mut self) -> Result<Option<Transaction>, ReadError> {
        while let Some(length) = self.window.line_length()? {
            let text = self.window.line_text(length)?;
            let line = parse(text).ok_or_else(|| self.window.error(0, EXPECTED))?;
            self.any = true;
            let ended = self.take(line);
            let ended = ended.map_err(|why| self.window.error(0, why))?;
            self.window.take(length);
            if ended.is_some() {
                return Ok(ended);
            }
        }
        if !self.any {
            return Err(self
                .window
                .error(0, format!("the file has no transaction: {EXPECTED}")));
        }
        let open = std::mem::take(&mut self.open).into_iter();
        self.left
            .extend(open.map(|(session, open)| transaction(session, open.steps)));
        Ok(self.left.pop_front())
    }
}

fn parse(line: &str) -> Option<Line> {
    let (is_write, rest) = match line.split_once('(')? {
        ("w", rest) => (true, rest),
        ("r", rest) => (false, rest),
        _ => return None,
    };
    let mut numbers = rest
        .strip_suffix(')')?
        .split(',')
        .map(|word| word.trim().parse::<i64>().ok());
    let mut number = || numbers.next().flatten();
    let (key, value, session, transaction) = (number()?, number()?, number()?, number()?);
    let step = Step { is_write, key, value };
    let line = Line {
        step,
        session,
        number: transaction,
    };
    numbers.next().is_none().then_some(line)
}
