//! Elements that are added to sets and read whole, over time (Jepsen's set-full): what became of each?
//!
//! An element is *known* from when its add was acknowledged, or a read saw it, whichever is first. Compared are the
//! latest read that saw it and the latest that missed it, by when they began; only reads count that ended after its add
//! began.
//! - *lost*: a read that began after it was known, and after every read that saw it, missed it;
//! - *stale*: it is there at the end, but a read that began after it was known missed it (tolerated, unless the sets are
//!   to be linearizable);
//! - *never-read*: its add was acknowledged, and no read that began after tells what became of it (tolerated: nobody
//!   looked);
//! - *duplicated*: one read has it more than once (reads that are lists can tell; sets cannot);
//! - *unexpected*: a read has it, and no add of it can have happened.
//!
//! Values may be `[key value]` throughout: then each key is a set of its own.

use super::report::{Instances, Report};
use crate::{Budget, JudgeError, Options};
use history::{Kind, Moment, Operation, Value};
use rustc_hash::FxHashMap;

/// How often the budget is asked, in reads.
const ASK: usize = 1 << 6;

/// The operations, until all are there: only then it is known whether values are `[key value]`.
#[derive(Default)]
pub(super) struct Sets {
    adds: Vec<Operation>,
    reads: Vec<Operation>,
}

/// An element of a set.
#[derive(Clone, Debug)]
struct Element {
    value: Value,
    /// When its first add that may have happened began, and the index of that add; none where there is none.
    added: Option<Moment>,
    /// Whether an add was acknowledged.
    acknowledged: bool,
    known: Option<Moment>,
    /// When the latest read began that saw it.
    present: Option<Moment>,
    /// When the latest read began that missed it.
    absent: Option<Moment>,
}

/// A read of a set: the places of its elements.
struct Read {
    began: Moment,
    ended: Moment,
    elements: Vec<u32>,
}

/// One set.
#[derive(Default)]
struct Set {
    elements: Vec<Element>,
    numbers: FxHashMap<Value, u32>,
    reads: Vec<Read>,
}

/// All that is found in all sets.
struct Found {
    lost: Instances,
    unexpected: Instances,
    duplicated: Instances,
    stale: Instances,
    never_read: Instances,
    stable: u64,
    stable_latencies: Vec<u64>,
    lost_latencies: Vec<u64>,
    reads: u64,
}

impl Sets {
    pub(super) fn take(&mut self, operation: Operation) -> Result<(), JudgeError> {
        match &*operation.f {
            "add" => self.adds.push(operation),
            "read" if operation.outcome == Kind::Ok => self.reads.push(operation),
            "read" => {}
            other => {
                return Err(JudgeError::Entry {
                    index: operation.invoked.index,
                    why: format!("set-full: expected add or read, and found {other:?}"),
                });
            }
        }
        Ok(())
    }

    pub(super) fn end(
        self,
        options: &Options,
        budget: &Budget,
        report: &mut Report,
    ) -> Result<(), JudgeError> {
        let linearizable = options.linearizable_keys;
        let mut found = Found::new();
        let sets = self.by_key(&mut found)?;
        for (key, mut set) in sets {
            if !set.look(budget) {
                let spent = budget.spent().map_or_else(String::new, |spent| spent.to_string());
                report.lack("budget", format!("not all reads were looked at: {spent}"));
                break;
            }
            found.judge(key.as_ref(), &set);
        }
        found.end(linearizable, report);
        Ok(())
    }

    /// Whether values are `[key value]` throughout.
    fn keyed(&self) -> bool {
        let pair = |value: &Value| value.list().is_some_and(|list| list.len() == 2);
        let keyed_read = |value: &Value| match value.list() {
            Some([_, elements]) => collection(elements).is_some() || *elements == Value::Nil,
            _ => false,
        };
        self.adds.iter().all(|add| pair(add.value()))
            && self.reads.iter().all(|read| keyed_read(read.value()))
            && !(self.adds.is_empty() && self.reads.is_empty())
    }

    fn by_key(self, found: &mut Found) -> Result<Vec<(Option<Value>, Set)>, JudgeError> {
        let keyed = self.keyed();
        let mut sets: Vec<(Option<Value>, Set)> = Vec::new();
        let mut numbers: FxHashMap<Option<Value>, usize> = FxHashMap::default();
        let mut place = |sets: &mut Vec<(Option<Value>, Set)>, key: Option<Value>| {
            *numbers.entry(key.clone()).or_insert_with(|| {
                sets.push((key, Set::default()));
                sets.len() - 1
            })
        };
        for add in self.adds {
            let (key, value) = split(keyed, add.value());
            let set = place(&mut sets, key);
            sets[set].1.add(value, &add);
        }
        for read in self.reads {
            let (key, value) = split(keyed, read.value());
            let set = place(&mut sets, key.clone());
            let ended = read.completed.unwrap_or(read.invoked);
            let elements = match &value {
                Value::Nil => &[],
                value => collection(value).ok_or_else(|| JudgeError::Entry {
                    index: ended.index,
                    why: format!("set-full: expected a list or a set of elements, and found {value}"),
                })?,
            };
            found.reads += 1;
            let set = &mut sets[set].1;
            let elements = elements.iter().map(|element| set.number(element)).collect();
            let read = Read {
                began: read.invoked,
                ended,
                elements,
            };
            found.duplicates(key.as_ref(), set, &read);
            set.reads.push(read);
        }
        Ok(sets)
    }
}

fn split(keyed: bool, value: &Value) -> (Option<Value>, Value) {
    match value.list() {
        Some([key, value]) if keyed => (Some(key.clone()), value.clone()),
        _ => (None, value.clone()),
    }
}

fn collection(value: &Value) -> Option<&[Value]> {
    match value {
        Value::List(elements) | Value::Set(elements) => Some(elements),
        _ => None,
    }
}

impl Set {
    fn number(&mut self, value: &Value) -> u32 {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        // Four thousand million elements do not fit into memory.
        let number = self.elements.len() as u32;
        self.numbers.insert(value.clone(), number);
        self.elements.push(Element {
            value: value.clone(),
            added: None,
            acknowledged: false,
            known: None,
            present: None,
            absent: None,
        });
        number
    }

    fn add(&mut self, value: Value, add: &Operation) {
        let number = self.number(&value);
        // One that failed added nothing.
        if add.outcome == Kind::Fail {
            return;
        }
        let element = &mut self.elements[number as usize];
        element.added = earlier(element.added, Some(add.invoked));
        if add.outcome == Kind::Ok {
            element.acknowledged = true;
            element.known = earlier(element.known, add.completed);
        }
    }

    /// Fills in what the reads tell; false where the budget is spent.
    fn look(&mut self, budget: &Budget) -> bool {
        for read in &self.reads {
            for number in &read.elements {
                let element = &mut self.elements[*number as usize];
                element.known = earlier(element.known, Some(read.ended));
                element.present = element.present.max(Some(read.began));
            }
        }
        self.reads
            .sort_unstable_by_key(|read| std::cmp::Reverse(read.began.position));
        // From the latest read back: each element's first miss is its latest one. Those without one are still open.
        let mut open: Vec<u32> = (0..self.elements.len() as u32).collect();
        let mut seen_by = vec![usize::MAX; self.elements.len()];
        for (place, read) in self.reads.iter().enumerate() {
            if place % ASK == 0 {
                budget.tell("looking for elements", place as u64, self.reads.len() as u64);
                if budget.spent().is_some() {
                    return false;
                }
            }
            for number in &read.elements {
                seen_by[*number as usize] = place;
            }
            let elements = &mut self.elements;
            open.retain(|number| {
                let element = &mut elements[*number as usize];
                let counts = element
                    .added
                    .is_none_or(|added| added.position < read.ended.position);
                let missed = counts && seen_by[*number as usize] != place;
                if missed {
                    element.absent = Some(read.began);
                }
                !missed
            });
        }
        true
    }
}

fn earlier(one: Option<Moment>, other: Option<Moment>) -> Option<Moment> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl Found {
    fn new() -> Found {
        Found {
            lost: Instances::new("lost"),
            unexpected: Instances::new("unexpected"),
            duplicated: Instances::new("duplicated"),
            stale: Instances::new("stale"),
            never_read: Instances::new("never-read"),
            stable: 0,
            stable_latencies: Vec::new(),
            lost_latencies: Vec::new(),
            reads: 0,
        }
    }

    fn duplicates(&mut self, key: Option<&Value>, set: &Set, read: &Read) {
        let mut sorted = read.elements.clone();
        sorted.sort_unstable();
        for same in sorted.chunk_by(|a, b| a == b).filter(|same| same.len() > 1) {
            let element = &set.elements[same[0] as usize];
            let times = same.len();
            let read = read.ended.index;
            self.duplicated.add([read], || {
                format!("operation {read} read {} {times} times", named(key, element))
            });
        }
    }

    fn judge(&mut self, key: Option<&Value>, set: &Set) {
        for element in &set.elements {
            let Some(added) = element.added else {
                if let Some(read) = element.present {
                    self.unexpected.add([read.index], || {
                        format!(
                            "operation {} read {}, and no add of it can have happened",
                            read.index,
                            named(key, element)
                        )
                    });
                }
                continue;
            };
            let Some(known) = element.known else { continue };
            match (element.present, element.absent) {
                (present, Some(absent)) if absent > known && Some(absent) > present => {
                    let gone = present.map_or(known.time, |present| {
                        present.time.saturating_add(1).max(known.time)
                    });
                    self.lost_latencies.push(gone - known.time);
                    self.lost(key, element, [added, known, absent]);
                }
                (Some(present), absent) if absent.is_none_or(|absent| absent < present) => {
                    self.stable += 1;
                    let absent = absent.filter(|absent| *absent > known);
                    let stable =
                        absent.map_or(known.time, |absent| absent.time.saturating_add(1).max(known.time));
                    self.stable_latencies.push(stable - known.time);
                    if let Some(absent) = absent {
                        self.stale.add([added.index, known.index, absent.index], || {
                            format!(
                                "{} was known at operation {}, and the read that operation {} began missed it; later \
                                 reads saw it",
                                named(key, element),
                                known.index,
                                absent.index
                            )
                        });
                    }
                }
                _ if element.acknowledged => {
                    self.never_read.add([added.index, known.index], || {
                        format!(
                            "no read that began after the add of {} was acknowledged tells of it",
                            named(key, element)
                        )
                    });
                }
                _ => {}
            }
        }
    }

    fn lost(&mut self, key: Option<&Value>, element: &Element, [added, known, absent]: [Moment; 3]) {
        let present = element.present.map(|present| present.index);
        let operations = [added.index, known.index, absent.index]
            .into_iter()
            .chain(present);
        self.lost.add(operations, || {
            let seen = present.map_or_else(
                || "no read ever saw it".to_owned(),
                |present| format!("the last read that saw it is the one that operation {present} began"),
            );
            format!(
                "{} was known at operation {}; {seen}, and the read that operation {} began missed it",
                named(key, element),
                known.index,
                absent.index
            )
        });
    }

    fn end(mut self, linearizable: bool, report: &mut Report) {
        if self.reads == 0 {
            report.lack(
                "no-operations",
                "no read of a set completed: there is nothing to judge".into(),
            );
        } else if self.stable == 0 {
            report.lack(
                "nothing-stable",
                "no element is known to be there at the end".into(),
            );
        }
        if !linearizable {
            self.stale.tolerate(
                "an element may become visible after its add was acknowledged, unless sets are linearizable",
            );
        }
        self.never_read.tolerate("no read looked");
        if let Some(text) = quantiles(&mut self.stable_latencies) {
            report.remark(
                "stable-latency",
                format!("from known to seen by every later read, in ns: {text}"),
            );
        }
        if let Some(text) = quantiles(&mut self.lost_latencies) {
            report.remark("lost-latency", format!("from known to lost, in ns: {text}"));
        }
        for instances in [
            self.lost,
            self.unexpected,
            self.duplicated,
            self.stale,
            self.never_read,
        ] {
            report.found(instances);
        }
    }
}

fn named(key: Option<&Value>, element: &Element) -> String {
    match key {
        Some(key) => format!("element {} of set {key}", element.value),
        None => format!("element {}", element.value),
    }
}

/// Median, 95 and 99 of a hundred, and the longest.
fn quantiles(latencies: &mut [u64]) -> Option<String> {
    latencies.sort_unstable();
    let last = latencies.len().checked_sub(1)?;
    let at = |percent: usize| latencies[last * percent / 100];
    Some(format!(
        "median {}, 95 % {}, 99 % {}, longest {}",
        at(50),
        at(95),
        at(99),
        latencies[last]
    ))
}
