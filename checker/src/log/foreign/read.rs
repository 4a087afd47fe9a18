//! From entries to columns: pairs invocations with completions, takes micro-operations apart.

use super::transfers::{Assignment, Name, Operation, Partition, Record, Transfers};
use crate::JudgeError;
use history::{Call, Kind, Op, Process, ReadError, Value};
use rustc_hash::FxHashMap;

/// Values that are no whole numbers get numbers of their own, from here on up.
const FIRST_NUMBER: i64 = i64::MIN;

/// Reads a history.
///
/// # Errors
/// Where it cannot be read, or an entry is no operation on logs.
pub(super) fn read(history: impl Iterator<Item = Result<Op, ReadError>>) -> Result<Transfers, JudgeError> {
    let mut reader = Reader::default();
    for entry in history {
        let entry = entry?;
        // Faults and other observers decide nothing here.
        if let Process::Client(_) = entry.process {
            reader.take(entry)?;
        }
    }
    reader.finish()
}

#[derive(Default)]
struct Reader {
    transfers: Transfers,
    open: FxHashMap<Process, Op>,
    processes: FxHashMap<Process, u32>,
    names: FxHashMap<Name, u32>,
    /// The partition that was met last: most often it is the next one too.
    last: Option<(Value, u32)>,
    others: FxHashMap<Value, i64>,
}

impl Reader {
    fn take(&mut self, entry: Op) -> Result<(), JudgeError> {
        if entry.kind == Kind::Invoke {
            // One that was left open never completes.
            return match self.open.insert(entry.process, entry) {
                Some(open) => self.close(open, None),
                None => Ok(()),
            };
        }
        match self.open.remove(&entry.process) {
            Some(open) => self.close(open, Some(entry)),
            // A completion without an invocation is taken as an operation that took no time.
            None => self.close(entry.clone(), Some(entry)),
        }
    }

    /// What was left open may have happened.
    fn finish(mut self) -> Result<Transfers, JudgeError> {
        let mut left: Vec<Op> = std::mem::take(&mut self.open).into_values().collect();
        left.sort_unstable_by_key(|op| op.index);
        for open in left {
            self.close(open, None)?;
        }
        Ok(self.transfers)
    }

    fn close(&mut self, open: Op, done: Option<Op>) -> Result<(), JudgeError> {
        let kind = done.as_ref().map_or(Kind::Info, |done| done.kind);
        match kind {
            Kind::Ok => self.transfers.counts.ok += 1,
            Kind::Fail => self.transfers.counts.fail += 1,
            Kind::Info | Kind::Invoke => self.transfers.counts.info += 1,
        }
        let index = done.as_ref().map_or(open.index, |done| done.index);
        let next = self.processes.len() as u32;
        let process = *self.processes.entry(open.process).or_insert(next);
        if process == next {
            self.transfers.assignments.push(Vec::new());
            self.transfers.polls.push(Vec::new());
        }
        let operation = Operation {
            process,
            kind,
            invoked: open.index,
            done: index,
            completed: done.is_some(),
            invoked_at: open.time,
            done_at: done.as_ref().map_or(u64::MAX, |done| done.time),
            polls: false,
        };
        // Where nothing is said of how it went, what was asked stands.
        let said = done.map(|done| done.body).filter(|call| call.value != Value::Nil);
        let call = said.unwrap_or(open.body);
        self.operation(operation, &call).map_err(|why| JudgeError::Entry {
            index,
            why: format!("{}: {why}, and {} is there", call.f, short(&call.value)),
        })
    }

    fn operation(&mut self, mut operation: Operation, call: &Call) -> Result<(), String> {
        let op = u32::try_from(self.transfers.operations.len())
            .ok()
            .filter(|op| *op < u32::MAX)
            .ok_or("it is one of fewer than 2^32 operations that are expected")?;
        match &*call.f {
            "send" | "poll" | "txn" => {
                operation.polls = &*call.f != "send";
                for micro in list(&call.value, "a list of micro-operations is expected")? {
                    self.micro(op, micro)?;
                }
                if operation.polls && operation.kind == Kind::Ok {
                    self.transfers.polls[operation.process as usize].push(op);
                }
            }
            "assign" | "subscribe" => self.assign(op, &operation, call)?,
            // What else clients do (`crash`, for one) moves no record.
            _ => return Ok(()),
        }
        self.transfers.operations.push(operation);
        Ok(())
    }

    fn assign(&mut self, op: u32, operation: &Operation, call: &Call) -> Result<(), String> {
        if operation.kind == Kind::Fail {
            return Ok(());
        }
        let mut kept = Vec::new();
        for key in list(&call.value, "a list of partitions is expected")? {
            kept.push(self.partition(key)?);
        }
        kept.sort_unstable();
        self.transfers.assignments[operation.process as usize].push(Assignment {
            op,
            kept,
            manual: &*call.f == "assign",
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
