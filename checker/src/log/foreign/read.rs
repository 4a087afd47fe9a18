//! From entries to columns: takes micro-operations apart.

use super::transfers::{Assignment, Name, Operation, Partition, Record, Transfers};
use crate::JudgeError;
use history::{Kind, Op, Process, ReadError, Value};
use rustc_hash::FxHashMap;
use std::sync::mpsc;
use std::thread;

/// Up to so many operations are read by one thread: another costs more than it saves.
const FEW: usize = 1000;
/// How many operations are handed over at a time.
const BATCH: usize = 64;
/// How many batches may lie between the two threads.
const AHEAD: usize = 8;
/// Values that are no whole numbers get numbers of their own, from here on up.
const FIRST_NUMBER: i64 = i64::MIN;

/// Reads a history.
///
/// # Errors
/// Where it cannot be read, or an entry is no operation on logs.
pub(super) fn read(history: impl Iterator<Item = Result<Op, ReadError>>) -> Result<Transfers, JudgeError> {
    let mut reader = Reader::default();
    let mut operations = history::pairs(history);
    for operation in operations.by_ref().take(FEW) {
        reader.take(operation?)?;
    }
    match operations.next() {
        None => Ok(reader.transfers),
        Some(next) => read_on(reader, std::iter::once(next).chain(operations)),
    }
}

/// Reads a long history: here what is in the file, on a thread of its own what becomes of it.
fn read_on(
    mut reader: Reader,
    mut operations: impl Iterator<Item = Result<history::Operation, ReadError>>,
) -> Result<Transfers, JudgeError> {
    thread::scope(|scope| {
        let (give, taken) = mpsc::sync_channel::<Vec<history::Operation>>(AHEAD);
        let taking = scope.spawn(move || -> Result<Transfers, JudgeError> {
            for operation in taken.into_iter().flatten() {
                reader.take(operation)?;
            }
            Ok(reader.transfers)
        });
        let mut failed = None;
        while failed.is_none() {
            let mut batch = Vec::with_capacity(BATCH);
            for operation in operations.by_ref().take(BATCH) {
                match operation {
                    Ok(operation) => batch.push(operation),
                    Err(error) => failed = Some(error),
                }
            }
            // Nobody takes it where an operation before was refused.
            if batch.is_empty() || give.send(batch).is_err() {
                break;
            }
        }
        drop(give);
        let transfers = taking
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        failed.map_or(Ok(transfers), |error| Err(error.into()))
    })
}

#[derive(Default)]
struct Reader {
    transfers: Transfers,
    processes: FxHashMap<Process, u32>,
    names: FxHashMap<Name, u32>,
    /// The partition that was met last: most often it is the next one too.
    last: Option<(Value, u32)>,
    others: FxHashMap<Value, i64>,
}

impl Reader {
    fn take(&mut self, read: history::Operation) -> Result<(), JudgeError> {
        let counts = &mut self.transfers.counts;
        match read.outcome {
            Kind::Ok => counts.ok += 1,
            Kind::Fail => counts.fail += 1,
            Kind::Info | Kind::Invoke => counts.info += 1,
        }
        let next = self.processes.len() as u32;
        let process = *self.processes.entry(read.process).or_insert(next);
        if process == next {
            self.transfers.assignments.push(Vec::new());
            self.transfers.polls.push(Vec::new());
        }
        let operation = Operation {
            process,
            kind: read.outcome,
            invoked: read.invoked,
            completed: read.completed,
            polls: false,
        };
        // Where nothing is said of how it went, what was asked stands. What is said of one that failed, or may have,
        // counts: polls show what is in the log however their operation ends.
        let value = read
            .answered
            .filter(|answered| *answered != Value::Nil)
            .unwrap_or(read.asked);
        let index = operation.done();
        self.operation(operation, &read.f, &value)
            .map_err(|why| JudgeError::Entry {
                index,
                why: format!("{}: {why}, and {} is there", read.f, short(&value)),
            })
    }

    fn operation(&mut self, mut operation: Operation, f: &str, value: &Value) -> Result<(), String> {
        let op = u32::try_from(self.transfers.operations.len())
            .ok()
            .filter(|op| *op < u32::MAX)
            .ok_or("it is one of fewer than 2^32 operations that are expected")?;
        match f {
            "send" | "poll" | "txn" => {
                operation.polls = f != "send";
                for micro in list(value, "a list of micro-operations is expected")? {
                    self.micro(op, micro)?;
                }
                if operation.polls && operation.kind == Kind::Ok {
                    self.transfers.polls[operation.process as usize].push(op);
                }
            }
            "assign" | "subscribe" => self.assign(op, &operation, f, value)?,
            // What else clients do (`crash`, for one) moves no record.
            _ => return Ok(()),
        }
        self.transfers.operations.push(operation);
        Ok(())
    }

    fn assign(&mut self, op: u32, operation: &Operation, f: &str, value: &Value) -> Result<(), String> {
        if operation.kind == Kind::Fail {
            return Ok(());
        }
        let mut kept = Vec::new();
        for key in list(value, "a list of partitions is expected")? {
            kept.push(self.partition(key)?);
        }
        kept.sort_unstable();
        self.transfers.assignments[operation.process as usize].push(Assignment {
            op,
            kept,
            manual: f == "assign",
            ok: operation.kind == Kind::Ok,
        });
        Ok(())
    }

    fn micro(&mut self, op: u32, micro: &Value) -> Result<(), String> {
        const EXPECTED: &str = "[\"send\", key, value], [\"send\", key, [offset, value]], [\"poll\"] or [\"poll\", \
                                {key: [[offset, value], ...]}] is expected";
        let parts = list(micro, EXPECTED)?;
        match (parts.first().and_then(Value::name), &parts[1.min(parts.len())..]) {
            (Some("send"), [key, value]) => {
                let partition = self.partition(key)? as usize;
                let record = match value.list() {
                    Some(_) => self.record(op, value)?,
                    None => Record::new(op, None, self.value(value)),
                };
                self.transfers.partitions[partition].sends.push(record);
                Ok(())
            }
            (Some("poll"), [] | [Value::Nil]) => Ok(()),
            (Some("poll"), [Value::Map(polled)]) => {
                for (key, records) in polled {
                    let partition = self.partition(key)? as usize;
                    for record in list(records, EXPECTED)? {
                        let record = self.record(op, record)?;
                        self.transfers.partitions[partition].polls.push(record);
                    }
                }
                Ok(())
            }
            _ => Err(EXPECTED.to_owned()),
        }
    }

    /// `[offset, value]`; the offset may be nil.
    fn record(&mut self, op: u32, pair: &Value) -> Result<Record, String> {
        match pair.list() {
            Some([Value::Int(offset), value]) => Ok(Record::new(op, Some(*offset), self.value(value))),
            Some([Value::Nil, value]) => Ok(Record::new(op, None, self.value(value))),
            _ => Err("[offset, value] is expected".to_owned()),
        }
    }

    fn value(&mut self, value: &Value) -> i64 {
        match value {
            Value::Int(number) => *number,
            _ => {
                let next = FIRST_NUMBER.saturating_add_unsigned(self.others.len() as u64);
                *self.others.entry(value.clone()).or_insert(next)
            }
        }
    }

    fn partition(&mut self, key: &Value) -> Result<u32, String> {
        if let Some((_, place)) = self.last.as_ref().filter(|(last, _)| last == key) {
            return Ok(*place);
        }
        let name = Name::of(key).ok_or("a partition's name (a number or a text) is expected")?;
        let next = self.names.len() as u32;
        let place = *self.names.entry(name.clone()).or_insert(next);
        if place == next {
            self.transfers.partitions.push(Partition {
                name,
                sends: Vec::new(),
                polls: Vec::new(),
            });
        }
        self.last = Some((key.clone(), place));
        Ok(place)
    }
}

fn list<'v>(value: &'v Value, expected: &str) -> Result<&'v [Value], String> {
    value.list().ok_or_else(|| expected.to_owned())
}

/// A value as an error shows it.
fn short(value: &Value) -> String {
    const MOST: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
