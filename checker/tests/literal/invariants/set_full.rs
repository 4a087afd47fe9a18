//! Set-full: each element with each read.

use super::{Counts, add, list};
use crate::literal::random::Random;
use history::{Kind, Op, Operation, Value, pairs};

/// Adds and reads of a set by three clients at once; reads may miss elements, have some twice, or have one that nobody
/// added.
pub fn make(random: &mut Random) -> Vec<Op> {
    let mut history = Vec::new();
    let mut open: [Option<(&str, Value)>; 3] = Default::default();
    let mut elements: Vec<i64> = Vec::new();
    let mut next = 0;
    for _ in 0..4 + random.below(16) {
        let process = random.below(3);
        match open[process].take() {
            None if random.percent(50) => {
                next += 1;
                open[process] = Some(("add", Value::Int(next)));
                add(
                    &mut history,
                    process as u64,
                    Kind::Invoke,
                    "add",
                    Value::Int(next),
                );
                if random.percent(70) {
                    elements.push(next);
                }
            }
            None => {
                open[process] = Some(("read", Value::Nil));
                add(&mut history, process as u64, Kind::Invoke, "read", Value::Nil);
            }
            Some(("add", value)) => {
                let end = *random.pick(&[Kind::Ok, Kind::Ok, Kind::Ok, Kind::Info, Kind::Fail]);
                add(&mut history, process as u64, end, "add", value.clone());
                let value = value.int().unwrap_or(0);
                if end != Kind::Fail && !elements.contains(&value) && random.percent(80) {
                    elements.push(value);
                }
            }
            Some(_) => {
                let mut read = elements.clone();
                if random.percent(15) && !read.is_empty() {
                    let at = random.below(read.len());
                    match random.below(3) {
                        0 => drop(read.remove(at)),
                        1 => read.push(read[at]),
                        _ => drop(elements.remove(at)),
                    }
                }
                if random.percent(3) {
                    read.push(99);
                }
                add(&mut history, process as u64, Kind::Ok, "read", list(&read));
            }
        }
    }
    history
}

/// By the definitions, each element by itself.
pub fn counts(history: &[Op]) -> Counts {
    let operations: Vec<Operation> = pairs(history.iter().cloned().map(Ok))
        .filter_map(Result::ok)
        .collect();
    let reads: Vec<&Operation> = operations
        .iter()
        .filter(|op| &*op.f == "read" && op.outcome == Kind::Ok)
        .collect();
    let times = |read: &Operation, element: i64| {
        let elements = read.value().list().unwrap_or_default();
        elements.iter().filter(|one| one.int() == Some(element)).count()
    };
    let ended = |op: &Operation| op.completed.map_or(op.invoked.position, |moment| moment.position);
    let mut counts = Counts::new();
    for element in 1..100 {
        let mut count = |name, wrong: bool| *counts.entry(name).or_insert(0) += u64::from(wrong);
        for read in &reads {
            count("duplicated", times(read, element) > 1);
        }
        let saw: Vec<&&Operation> = reads.iter().filter(|read| times(read, element) > 0).collect();
        let add = operations
            .iter()
            .find(|op| &*op.f == "add" && op.asked.int() == Some(element) && op.outcome != Kind::Fail);
        let Some(add) = add else {
            count("unexpected", !saw.is_empty());
            continue;
        };
        let acknowledged = (add.outcome == Kind::Ok).then(|| ended(add));
        let Some(known) = saw.iter().map(|read| ended(read)).chain(acknowledged).min() else {
            continue;
        };
        let missed = reads
            .iter()
            .filter(|read| times(read, element) == 0 && ended(read) > add.invoked.position);
        let absent = missed.map(|read| read.invoked.position).max();
        let present = saw.iter().map(|read| read.invoked.position).max();
        let lost = absent > present && absent > Some(known);
        let stable = present > absent;
        count("lost", lost);
        count("stale", stable && absent > Some(known));
        count("never-read", !lost && !stable && acknowledged.is_some());
    }
    counts
}
