//! DBCop's binary (bincode 1, little-endian, fixed widths): id, nodes, variables, transactions and events a
//! transaction, as 64-bit numbers; three texts; then sessions of transactions of events. Transactions that did not
//! commit are left out, and events that did not succeed.

use super::super::Format;
use super::{MOST_STEPS, Step, Transaction, Transactions};
use crate::ReadError;
use std::io::{BufRead, ErrorKind, Read};

/// The header's numbers, each of eight bytes.
const HEADER_BYTES: u64 = 5 * 8;
/// The header's texts: information, start, end.
const TEXTS: usize = 3;
/// The longest of them that is believed.
const TEXT_LIMIT: u64 = 1 << 20;

/// Reads transactions from DBCop's binary.
#[derive(Debug)]
pub(in super::super) struct Dbcop<R> {
    reader: R,
    /// How many bytes were read.
    at: u64,
    /// How many sessions are left behind this one.
    sessions: u64,
    /// This session, counted from 1; 0 before the first.
    session: u64,
    /// How many transactions of it are left.
    transactions: u64,
}

impl<R: BufRead> Dbcop<R> {
    pub fn new(reader: R) -> Dbcop<R> {
        Dbcop {
            reader,
            at: 0,
            sessions: 0,
            session: 0,
            transactions: 0,
        }
    }

    fn error(&self, why: impl Into<String>) -> ReadError {
        ReadError::Binary {
            format: Format::DbcopBincode,
            at: self.at,
            why: why.into(),
        }
    }

    fn bytes<const N: usize>(&mut self, what: &str) -> Result<[u8; N], ReadError> {
        let mut bytes = [0; N];
        match self.reader.read_exact(&mut bytes) {
            Ok(()) => {
                self.at += N as u64;
                Ok(bytes)
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(self.error(format!("expected {what}: the file ends, it is cut off")))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn number(&mut self, what: &str) -> Result<i64, ReadError> {
        Ok(i64::from_le_bytes(self.bytes(what)?))
    }

    fn count(&mut self, what: &str) -> Result<u64, ReadError> {
        let at = self.at;
        let number = self.number(what)?;
        u64::try_from(number).map_err(|_| ReadError::Binary {
            format: Format::DbcopBincode,
            at,
            why: format!("expected {what}: found {number}"),
        })
    }

    fn truth(&mut self, what: &str) -> Result<bool, ReadError> {
        match self.bytes::<1>(what)? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(self.error(format!("expected {what}, 0 or 1: found {other}"))),
        }
    }

    fn skip(&mut self, length: u64, what: &str) -> Result<(), ReadError> {
        let skipped = std::io::copy(&mut (&mut self.reader).take(length), &mut std::io::sink())?;
        self.at += skipped;
        match skipped == length {
            true => Ok(()),
            false => Err(self.error(format!("expected {what}: the file ends, it is cut off"))),
        }
    }

    /// Reads a transaction; none where it did not commit.
    fn transaction(&mut self) -> Result<Option<Transaction>, ReadError> {
        let events = self.count("a transaction's count of events")?;
        if events > MOST_STEPS as u64 {
            return Err(self.error(format!(
                "a transaction of {events} events: expected at most {MOST_STEPS}; is it DBCop's format?"
            )));
        }
        let mut steps = Vec::new();
        for _ in 0..events {
            let is_write = self.truth("whether the event is a write")?;
            let key = self.number("an event's variable")?;
            let value = self.number("an event's value")?;
            if self.truth("whether the event succeeded")? {
                steps.push(Step { is_write, key, value });
            }
        }
        let committed = self.truth("whether the transaction committed")?;
        let session = self.session.saturating_sub(1);
        Ok((committed && !steps.is_empty()).then_some(Transaction { session, steps }))
    }
}

impl<R: BufRead> Transactions for Dbcop<R> {
    fn begin(&mut self) -> Result<(), ReadError> {
        self.skip(HEADER_BYTES, "the header's five numbers")?;
        for _ in 0..TEXTS {
            let length = self.count("a text's length")?;
            if length > TEXT_LIMIT {
                return Err(self.error(format!(
                    "a text of {length} bytes: expected at most {TEXT_LIMIT}; is it DBCop's format?"
                )));
            }
            self.skip(length, "a text")?;
        }
        self.sessions = self.count("the count of sessions")?;
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Transaction>, ReadError> {
        loop {
            if self.transactions > 0 {
                self.transactions -= 1;
                if let Some(transaction) = self.transaction()? {
                    return Ok(Some(transaction));
                }
            } else if self.sessions > 0 {
                self.sessions -= 1;
                self.session += 1;
                self.transactions = self.count("a session's count of transactions")?;
            } else if self.reader.fill_buf()?.is_empty() {
                return Ok(None);
            } else {
                return Err(self.error("expected nothing behind the last session"));
            }
        }
    }
}
