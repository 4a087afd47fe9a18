//! Pairing: invocations with their completions, in one pass (Jepsen's pair index).
//!
//! An invocation pairs with the next entry of its process that is none. Positions in the stream are the order of real
//! time. Held are the open operations alone. What is no client's (nemesis, harness, observer) is passed over.
//!
//! As tolerant as Jepsen is: a client may go on after an `info`; an `info` that nothing invoked is an operation that
//! took no time. A second invocation by a process that has one open, and an `ok` or a `fail` that nothing invoked, are
//! errors. Entries without a process pair with nothing: an invocation stays open, a completion takes no time.

use crate::{Kind, Op, Process, ReadError, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// When an operation began or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Moment {
    /// The entry's position in the stream, from 0: the order of real time.
    pub position: u64,
    /// The entry's index, as the history names it: for people.
    pub index: u64,
    /// Its time in nanoseconds; the position where the history has none.
    pub time: u64,
}

/// An operation: an invocation and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Who did it.
    pub process: Process,
    /// Its name.
    pub f: Arc<str>,
    /// When it began.
    pub invoked: Moment,
    /// When it ended; none where it never did.
    pub completed: Option<Moment>,
    /// How it ended: [`Kind::Info`] where it never did, never [`Kind::Invoke`].
    pub outcome: Kind,
    /// The invocation's value.
    pub asked: Value,
    /// The completion's value, where there is one.
    pub answered: Option<Value>,
}

impl Operation {
    /// What it did: the completion's value where it is `ok`, else the invocation's.
    pub fn value(&self) -> &Value {
        match (&self.answered, self.outcome) {
            (Some(answered), Kind::Ok) => answered,
            _ => &self.asked,
        }
    }
}

/// Gives the operations of a stream of entries: each as it completes, then those that never did, by invocation.
///
/// # Errors
/// Its items are errors where the stream's are, and where an entry cannot be paired; it ends after one.
pub fn pairs<I>(entries: I) -> Pairs<I::IntoIter>
where
    I: IntoIterator<Item = Result<Op, ReadError>>,
{
    Pairs {
        entries: Some(entries.into_iter()),
        position: 0,
        open: HashMap::new(),
        left: Vec::new(),
    }
}

/// The iterator of [`pairs`].
#[derive(Debug)]
pub struct Pairs<I> {
    /// None once it has ended.
    entries: Option<I>,
    position: u64,
    open: HashMap<u64, Operation>,
    /// What stays open for ever; at the end all of it, the latest invocation first.
    left: Vec<Operation>,
}

impl<I: Iterator<Item = Result<Op, ReadError>>> Iterator for Pairs<I> {
    type Item = Result<Operation, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(entries) = &mut self.entries {
            let paired = match entries.next() {
                Some(Ok(op)) => self.take(op),
                Some(Err(error)) => Err(error),
                None => {
                    self.end();
                    break;
                }
            };
            match paired {
                Ok(None) => {}
                Ok(Some(operation)) => return Some(Ok(operation)),
                Err(error) => {
                    self.entries = None;
                    self.left.clear();
                    return Some(Err(error));
                }
            }
        }
        self.left.pop().map(Ok)
    }
}

impl<I> Pairs<I> {
    fn end(&mut self) {
        self.entries = None;
        self.left
            .extend(self.open.drain().map(|(_, operation)| operation));
        self.left
            .sort_unstable_by_key(|operation| std::cmp::Reverse(operation.invoked.position));
    }

    fn take(&mut self, op: Op) -> Result<Option<Operation>, ReadError> {
        let moment = Moment {
            position: self.position,
            index: op.index,
            time: op.time,
        };
        self.position += 1;
        match (op.process, op.kind) {
            (Process::Client(client), Kind::Invoke) => {
                let operation = begun(op, moment);
                match self.open.insert(client, operation) {
                    Some(before) => Err(still_open(client, &before, moment)),
                    None => Ok(None),
                }
            }
            (Process::Client(client), kind) => match self.open.remove(&client) {
                Some(operation) => Ok(Some(ended(operation, op, moment))),
                None if kind == Kind::Info => Ok(Some(at_once(op, moment))),
                None => Err(not_invoked(client, moment)),
            },
            (Process::Unnamed, Kind::Invoke) => {
                self.left.push(begun(op, moment));
                Ok(None)
            }
            (Process::Unnamed, _) => Ok(Some(at_once(op, moment))),
            (Process::Nemesis | Process::Harness | Process::Observer, _) => Ok(None),
        }
    }
}

fn begun(op: Op, invoked: Moment) -> Operation {
    Operation {
        process: op.process,
        f: op.body.f,
        invoked,
        completed: None,
        outcome: Kind::Info,
        asked: op.body.value,
        answered: None,
    }
}

fn ended(mut operation: Operation, op: Op, completed: Moment) -> Operation {
    operation.completed = Some(completed);
    operation.outcome = op.kind;
    operation.answered = Some(op.body.value);
    operation
}

/// A completion that nothing invoked.
fn at_once(op: Op, moment: Moment) -> Operation {
    Operation {
        process: op.process,
        f: op.body.f,
        invoked: moment,
        completed: Some(moment),
        outcome: op.kind,
        asked: op.body.value.clone(),
        answered: Some(op.body.value),
    }
}

fn still_open(client: u64, before: &Operation, moment: Moment) -> ReadError {
    ReadError::Pairing {
        index: moment.index,
        why: format!(
            "process {client} invokes while its operation {} is open: expected that one's ok, fail or info first. \
             Give each client that runs at the same time a number of its own",
            before.invoked.index
        ),
    }
}

fn not_invoked(client: u64, moment: Moment) -> ReadError {
    ReadError::Pairing {
        index: moment.index,
        why: format!(
            "process {client} completes what it never invoked: expected an invoke of that process before it. \
             Look whether entries are missing, or out of order"
        ),
    }
}
