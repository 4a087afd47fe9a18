//! Is there an order? Every one that real time allows is tried, with and without what may not have happened.

use super::mutate::tells;
use super::object::{initial, perform};
use checker::{FailedCas, ModelName};
use history::{Kind, Op, Value};

/// An operation: where it begins and ends among the entries, and how.
struct Operation<'a> {
    f: &'a str,
    asked: &'a Value,
    kind: Kind,
    answer: &'a Value,
    /// Whether the answer says something.
    tells: bool,
    begins: usize,
    ends: usize,
    /// Whether it took effect for certain.
    certain: bool,
}

/// Whether a history is linearizable.
pub fn linearizable(model: ModelName, failed_cas: FailedCas, history: &[Op]) -> bool {
    possible(model, failed_cas, history, |_| true)
}

/// Whether there is an order of what is kept, by the index of its invocation. Of the rest each may have taken effect
/// while it was open, or never.
pub fn possible(model: ModelName, failed_cas: FailedCas, history: &[Op], kept: impl Fn(u64) -> bool) -> bool {
    let mut operations = pair(history);
    for operation in &mut operations {
        operation.certain &= kept(history[operation.begins].index);
    }
    // A failure did not happen; a compare-and-set that failed saw something, if it is asked to say so.
    operations.retain(|o| o.kind != Kind::Fail || (o.f == "cas" && failed_cas == FailedCas::Observe));
    search(
        model,
        &operations,
        &mut vec![false; operations.len()],
        &initial(model),
    )
}

fn pair(history: &[Op]) -> Vec<Operation<'_>> {
    let mut operations = Vec::new();
    for (begins, op) in history
        .iter()
        .enumerate()
        .filter(|(_, op)| op.kind == Kind::Invoke)
    {
        let completion = (begins + 1..history.len()).find(|&at| history[at].process == op.process);
        let (completion, ends) = match completion {
            Some(at) if history[at].kind != Kind::Info => (&history[at], at),
            _ => (op, usize::MAX),
        };
        let kind = if ends == usize::MAX {
            Kind::Info
        } else {
            completion.kind
        };
        operations.push(Operation {
            f: &op.body.f,
            asked: &op.body.value,
            kind,
            answer: &completion.body.value,
            tells: tells(completion),
            begins,
            ends,
            certain: kind != Kind::Info,
        });
    }
    operations
}

fn search(model: ModelName, operations: &[Operation], placed: &mut Vec<bool>, state: &Value) -> bool {
    let open = |placed: &[bool], at: usize| !placed[at] && operations[at].certain;
    if (0..operations.len()).all(|at| !open(placed, at)) {
        return true;
    }
    for at in 0..operations.len() {
        let waits = |other: usize| open(placed, other) && operations[other].ends < operations[at].begins;
        let late = |other: usize| placed[other] && operations[at].ends < operations[other].begins;
        if placed[at] || (0..operations.len()).any(|other| waits(other) || late(other)) {
            continue;
        }
        if let Some(after) = step(model, state, &operations[at]) {
            placed[at] = true;
            if search(model, operations, placed, &after) {
                return true;
            }
            placed[at] = false;
        }
    }
    false
}

fn step(model: ModelName, state: &Value, operation: &Operation) -> Option<Value> {
    let (after, answer) = perform(model, state, operation.f, operation.asked);
    let fits = match (operation.kind, &answer) {
        (Kind::Ok, Some(answer)) => !operation.tells || same(model, answer, operation.answer),
        (Kind::Fail, answer) => answer.is_none(),
        (Kind::Info, _) => true,
        _ => false,
    };
    fits.then_some(after)
}

/// A read of a set may come as a list, in any order.
fn same(model: ModelName, performed: &Value, recorded: &Value) -> bool {
    match recorded {
        Value::List(elements) | Value::Set(elements) if model == ModelName::Set => {
            let mut elements = elements.to_vec();
            elements.sort();
            elements.dedup();
            performed.list() == Some(&elements)
        }
        _ => performed == recorded,
    }
}
