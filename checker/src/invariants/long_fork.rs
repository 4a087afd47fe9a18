//! Reads of groups of keys that are written once each (Jepsen's long-fork): no two reads may see two writes in
//! different orders, which parallel snapshot isolation allows and snapshot isolation does not.
//!
//! A read tells of each of its keys whether its write was seen. Two reads fork where one saw a write that the other
//! did not see, and the other way round, on keys that both read. Reads of the same keys that saw the same are one
//! *view*, so that few pairs are left to compare.

use super::report::{Instances, Report};
use super::told_at;
use crate::{Budget, JudgeError};
use history::{Kind, Operation, Process, Value};
use rustc_hash::FxHashMap;

/// What some reads saw: their keys, in order, and of each whether its write was seen.
type View = Vec<(u32, bool)>;

/// Who saw a view.
#[derive(Clone, Copy, Debug)]
struct Seen {
    first: u64,
    count: u64,
}

/// What was seen so far.
pub(super) struct Reads {
    group_size: Option<usize>,
    keys: Vec<Value>,
    numbers: FxHashMap<Value, u32>,
    /// What was written to each key, and by which entry.
    written: FxHashMap<u32, (Value, u64)>,
    /// What was read of each key, and by which entry.
    read: FxHashMap<u32, (Value, u64)>,
    views: FxHashMap<View, Seen>,
    reads: u64,
}

impl Reads {
    pub(super) fn new(group_size: Option<usize>) -> Reads {
        Reads {
            group_size,
            keys: Vec::new(),
            numbers: FxHashMap::default(),
            written: FxHashMap::default(),
            read: FxHashMap::default(),
            views: FxHashMap::default(),
            reads: 0,
        }
    }

    pub(super) fn take(&mut self, operation: Operation) -> Result<(), JudgeError> {
        // Without processes the completion tells the same once more.
        if operation.process == Process::Unnamed && operation.completed.is_none() {
            return Ok(());
        }
        let index = told_at(&operation);
        let micros = micros(index, operation.value())?;
        let writes = micros.iter().filter(|micro| micro.0).count();
        if writes > 0 && writes < micros.len() {
            return Err(JudgeError::Entry {
                index,
                why: "long-fork: expected reads alone or a write alone, and found both in one operation"
                    .into(),
            });
        }
        if writes > 0 {
            // One that failed wrote nothing.
            let happened = operation.outcome != Kind::Fail;
            return match happened {
                true => micros
                    .iter()
                    .try_for_each(|(_, key, value)| self.write(index, key, value)),
                false => Ok(()),
            };
        }
        match operation.outcome {
            Kind::Ok => self.read(index, &micros),
            _ => Ok(()),
        }
    }

    fn number(&mut self, key: &Value) -> u32 {
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        // Four thousand million keys do not fit into memory.
        let number = self.keys.len() as u32;
        self.keys.push(key.clone());
        self.numbers.insert(key.clone(), number);
        number
    }

    fn write(&mut self, index: u64, key: &Value, value: &Value) -> Result<(), JudgeError> {
        let number = self.number(key);
        match self.written.insert(number, (value.clone(), index)) {
            None => Ok(()),
            Some((_, before)) => Err(JudgeError::Entry {
                index,
                why: format!(
                    "long-fork: expected one write of each key, and found another one of {key} (the first is operation \
                     {before}). Such a history cannot be judged as this model; rw-register can"
                ),
            }),
        }
    }

    fn read(&mut self, index: u64, micros: &[(bool, &Value, &Value)]) -> Result<(), JudgeError> {
        let mut view: View = Vec::with_capacity(micros.len());
        for (_, key, value) in micros {
            let number = self.number(key);
            view.push((number, **value != Value::Nil));
            if **value == Value::Nil {
                continue;
            }
            let (known, by) = self
                .read
                .entry(number)
                .or_insert_with(|| ((*value).clone(), index));
            if known != *value {
                return Err(JudgeError::Entry {
                    index,
                    why: format!(
                        "long-fork: expected one value of key {key}, which is written once, and found {value} where \
                         operation {by} read {known}"
                    ),
                });
            }
        }
        view.sort_unstable();
        let keys = view.len();
        view.dedup_by_key(|(key, _)| *key);
        if keys != view.len() || self.group_size.is_some_and(|size| size != keys) {
            let expected = self
                .group_size
                .map_or_else(|| "different".into(), |size| size.to_string());
            return Err(JudgeError::Entry {
                index,
                why: format!(
                    "long-fork: expected a read of {expected} keys, one group, and found {keys} reads"
                ),
            });
        }
        self.reads += 1;
        let seen = self.views.entry(view).or_insert(Seen {
            first: index,
            count: 0,
        });
        seen.count += 1;
        seen.first = seen.first.min(index);
        Ok(())
    }

    pub(super) fn end(self, budget: &Budget, report: &mut Report) {
        if self.reads == 0 {
            report.lack(
                "no-operations",
                "no read of a group completed: there is nothing to judge".into(),
            );
        }
        let mut views: Vec<(&View, Seen)> = self.views.iter().map(|(view, seen)| (view, *seen)).collect();
        views.sort_unstable_by_key(|(_, seen)| seen.first);
        // Views that share a key: those of one group, as a rule.
        let mut of_key: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        let mut forks = Instances::new("long-fork");
        let mut near: Vec<usize> = Vec::new();
        for (place, (view, seen)) in views.iter().enumerate() {
            if place % 64 == 0
                && let Some(spent) = budget.spent()
            {
                report.lack(
                    "budget",
                    format!("{place} of {} views were compared: {spent}", views.len()),
                );
                break;
            }
            near.clear();
            for (key, _) in *view {
                let list = of_key.entry(*key).or_default();
                near.extend_from_slice(list);
                list.push(place);
            }
            near.sort_unstable();
            near.dedup();
            for other in &near {
                let (earlier, by) = views[*other];
                if let Some((here, there)) = fork(earlier, view) {
                    let count = by.count.saturating_mul(seen.count);
                    forks.add_many(count, [by.first, seen.first], || {
                        self.told(by.first, seen.first, here, there)
                    });
                }
            }
        }
        report.found(forks);
    }

    fn told(&self, first: u64, second: u64, here: u32, there: u32) -> String {
        let name = |key: u32| {
            self.keys
                .get(key as usize)
                .map_or_else(String::new, ToString::to_string)
        };
        let (x, y) = (name(here), name(there));
        format!(
            "operation {first} saw the write of key {x} and not that of key {y}; operation {second} saw that of {y} and \
             not that of {x}. So {x} was written before {y}, and {y} before {x}: a contradiction"
        )
    }
}

/// A key that only the first view saw, and one that only the second one saw, of those that both read.
fn fork(first: &View, second: &View) -> Option<(u32, u32)> {
    let (mut here, mut there) = (None, None);
    let mut rest = second.iter().peekable();
    for (key, seen) in first {
        while rest.next_if(|(other, _)| other < key).is_some() {}
        let Some((_, other)) = rest.next_if(|(other, _)| other == key) else {
            continue;
        };
        match (seen, other) {
            (true, false) => here = here.or(Some(*key)),
            (false, true) => there = there.or(Some(*key)),
            _ => {}
        }
    }
    here.zip(there)
}

/// Reads and writes of an operation: whether it writes, the key, the value.
fn micros(index: u64, value: &Value) -> Result<Vec<(bool, &Value, &Value)>, JudgeError> {
    let unfit = |found: &Value| JudgeError::Entry {
        index,
        why: format!("long-fork: expected a list of [r key value] or [w key value], and found {found}"),
    };
    let list = value.list().ok_or_else(|| unfit(value))?;
    let each = list.iter().map(|micro| match micro.list() {
        Some([name, key, value]) => match name.name() {
            Some("r" | "read") => Ok((false, key, value)),
            Some("w" | "write") => Ok((true, key, value)),
            _ => Err(unfit(micro)),
        },
        _ => Err(unfit(micro)),
    });
    each.collect()
}
