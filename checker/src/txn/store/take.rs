//! Takes a history's operations into columns.

use super::keys::Datum;
use super::{Element, End, Orders, Step, Store, Transaction};
use crate::{Budget, JudgeError};
use history::{Kind, Op, Operation, Process, ReadError, Value, pairs};
use rustc_hash::FxHashSet;

/// How often progress is told, in transactions.
const TOLD_EVERY: u64 = 1 << 16;

/// Takes a history: of lists, or of registers. Operations of no process are passed over: nothing says which completion
/// is whose.
///
/// # Errors
/// Where the history cannot be read, or a transaction does not fit.
pub(in crate::txn) fn take(
    lists: bool,
    budget: &Budget,
    history: impl Iterator<Item = Result<Op, ReadError>>,
) -> Result<Store, JudgeError> {
    let mut taker = Taker {
        store: Store {
            orders: Orders::new(lists),
            ..Store::default()
        },
        lists,
        list: Vec::new(),
        met: FxHashSet::default(),
    };
    for operation in pairs(history) {
        let operation = operation?;
        if let Process::Client(process) = operation.process {
            taker.operation(process, &operation)?;
        }
        let taken = taker.store.transactions.len() as u64;
        if taken.is_multiple_of(TOLD_EVERY) {
            budget.tell("reading transactions", taken, 0);
        }
    }
    Ok(taker.store)
}

struct Taker {
    store: Store,
    lists: bool,
    /// The list at hand, kept for its memory.
    list: Vec<Datum>,
    /// Keys whose latest write was met, likewise.
    met: FxHashSet<u32>,
}

impl Taker {
    fn operation(&mut self, process: u64, operation: &Operation) -> Result<(), JudgeError> {
        let end = match operation.outcome {
            Kind::Ok => End::Committed,
            Kind::Fail => End::Aborted,
            Kind::Info | Kind::Invoke => End::Unknown,
        };
        let outcomes = &mut self.store.operations;
        match end {
            End::Committed => outcomes.ok += 1,
            End::Aborted => outcomes.fail += 1,
            End::Unknown => outcomes.info += 1,
        }
        let moment = match (end, operation.completed) {
            (End::Committed | End::Aborted, Some(completed)) => completed,
            _ => operation.invoked,
        };
        let fail = |why: String| JudgeError::Entry {
            index: moment.index,
            why,
        };
        let transaction = self.store.count();
        self.store.transactions.push(Transaction {
            process,
            began: operation.invoked.position,
            ended: operation
                .completed
                .filter(|_| end != End::Unknown)
                .map(|at| at.position),
            index: moment.index,
            end,
            first: self.store.steps.len() as u32,
        });
        let value = operation.value();
        if *value == Value::Nil && end != End::Committed {
            return Ok(());
        }
        let steps = value.list().ok_or_else(|| {
            fail(format!(
                "expected a transaction, a list of steps [name key value], not {value}"
            ))
        })?;
        for step in steps {
            self.step(transaction, end, step).map_err(fail)?;
        }
        self.mark_intermediate(transaction);
        Ok(())
    }

    fn step(&mut self, transaction: u32, end: End, step: &Value) -> Result<(), String> {
        let Some([name, key, value]) = step.list() else {
            return Err(format!("expected a step [name key value], not {step}"));
        };
        match (name.name(), self.lists) {
            (Some("append"), true) | (Some("w" | "write"), false) => self.write(transaction, key, value),
            (Some("r" | "read"), _) if end != End::Committed => Ok(()),
            (Some("r" | "read"), lists) => {
                let key = self.store.keys.key(key);
                let step = if lists {
                    self.list(key, value)?
                } else {
                    self.value(key, value)
                };
                self.store.steps.push(step);
                Ok(())
            }
            _ => {
                let write = if self.lists { "append" } else { "w" };
                Err(format!("expected a step named {write} or r, not {step}"))
            }
        }
    }

    fn write(&mut self, transaction: u32, key: &Value, value: &Value) -> Result<(), String> {
        if *value == Value::Nil {
            return Err(format!("nil is what {key} holds at first: it cannot be written"));
        }
        let number = self.store.keys.key(key);
        let datum = self.store.keys.datum(value);
        let element = self.store.elements.number(number, datum);
        if !self.store.elements.written(element, transaction) {
            return Err(format!(
                "{value} is written to {key} a second time: values must be unique for each key"
            ));
        }
        self.store.steps.push(Step::Write { element });
        Ok(())
    }

    fn list(&mut self, key: u32, value: &Value) -> Result<Step, String> {
        let elements = match value {
            Value::Nil => &[],
            other => other
                .list()
                .ok_or_else(|| format!("expected a list that was read, not {other}"))?,
        };
        if elements.is_empty() {
            return Ok(Step::List {
                key,
                order: 0,
                length: 0,
            });
        }
        let Store {
            keys,
            elements: known,
            orders,
            ..
        } = &mut self.store;
        self.list.clear();
        self.list
            .extend(elements.iter().map(|element| keys.datum(element)));
        let order = orders.place(key, &self.list, |datum| known.number(key, datum));
        Ok(Step::List {
            key,
            order,
            length: self.list.len() as u32,
        })
    }

    fn value(&mut self, key: u32, value: &Value) -> Step {
        let element = (*value != Value::Nil).then(|| {
            let datum = self.store.keys.datum(value);
            Element::new(self.store.elements.number(key, datum))
        });
        Step::Value { key, element }
    }

    /// Marks those writes of a transaction that it overwrote itself.
    fn mark_intermediate(&mut self, transaction: u32) {
        let places = self.store.places(transaction);
        self.met.clear();
        for place in places.rev() {
            if let Step::Write { element } = self.store.steps[place] {
                let key = self.store.elements.key(element);
                if !self.met.insert(key) {
                    self.store.elements.intermediate(element);
                }
            }
        }
    }
}
