//! Spoils a history: some of what comes out is linearizable still, most is not.

use super::super::random::Random;
use super::make::{small, stamp};
use history::{Kind, Op, Process, Value};

/// Changes one thing, and stamps the entries anew.
pub fn mutate(history: &mut Vec<Op>, random: &mut Random) {
    let of = |kind: Kind| move |op: &Op| op.kind == kind;
    let done = places(history, of(Kind::Ok));
    let failed = places(history, |op| op.kind == Kind::Fail && !tells(op));
    let told = places(history, |op| op.kind == Kind::Ok && tells(op));
    match random.below(8) {
        0..=2 if !told.is_empty() => {
            let at = *random.pick(&told);
            let value = &mut history[at].body.value;
            *value = change(value, random);
        }
        3 if !told.is_empty() => swap_answers(history, *random.pick(&told), *random.pick(&told)),
        // It did happen, then.
        4 if !failed.is_empty() => history[*random.pick(&failed)].kind = Kind::Ok,
        5 if !done.is_empty() => drop_operation(history, *random.pick(&done)),
        6 if !done.is_empty() => history[*random.pick(&done)].kind = *random.pick(&[Kind::Info, Kind::Fail]),
        _ if !done.is_empty() => move_completion(history, *random.pick(&done), random),
        _ => {}
    }
    retire(history);
    stamp(history, random);
}

fn places(history: &[Op], which: impl Fn(&Op) -> bool) -> Vec<usize> {
    (0..history.len()).filter(|at| which(&history[*at])).collect()
}

/// Whether what an operation answers says something: of others it only repeats what was asked.
pub fn tells(op: &Op) -> bool {
    match &*op.body.f {
        "read" | "get" | "dequeue" | "txn" => true,
        // A log's answers an offset.
        "append" => op.body.value.list().is_none(),
        _ => false,
    }
}

/// Another value of the same shape.
fn change(value: &Value, random: &mut Random) -> Value {
    match value {
        Value::List(elements) if matches!(elements.first(), Some(Value::List(_))) => {
            change_transaction(elements, random)
        }
        Value::List(elements) if !elements.is_empty() => {
            let mut elements = elements.to_vec();
            // A key stays what it is.
            let keyed = matches!(elements[0], Value::Text(_));
            let at = if keyed { 1 } else { random.below(elements.len()) };
            elements[at] = change(&elements[at], random);
            Value::List(elements.into())
        }
        Value::Text(text) if text.len() > 1 && random.percent(50) => Value::Text(text[1..].into()),
        Value::Text(_) => Value::Text((*random.pick(&["a", "b", "ab", "ba", ""])).into()),
        Value::Int(_) => small(random),
        other => other.clone(),
    }
}

/// Changes what one of its reads answered, or nothing where it has none.
fn change_transaction(micros: &[Value], random: &mut Random) -> Value {
    let mut micros = micros.to_vec();
    let at = random.below(micros.len());
    if let Some([kind, key, _]) = micros[at].list()
        && kind.name() == Some("read")
    {
        let value = small(random);
        micros[at] = Value::List([kind.clone(), key.clone(), value].into());
    }
    Value::List(micros.into())
}

/// Swaps what two operations answered that asked the same.
fn swap_answers(history: &mut [Op], one: usize, other: usize) {
    let asked = |at: usize| &history[invocation(history, at)].body;
    if asked(one) == asked(other) {
        let value = history[one].body.value.clone();
        history[one].body.value = std::mem::replace(&mut history[other].body.value, value);
    }
}

fn invocation(history: &[Op], completion: usize) -> usize {
    let process = history[completion].process;
    // A completion has an invocation: the maker puts it there, and no mutation takes it alone.
    (0..completion)
        .rev()
        .find(|&at| history[at].process == process)
        .unwrap_or(completion)
}

fn drop_operation(history: &mut Vec<Op>, completion: usize) {
    let begins = invocation(history, completion);
    history.remove(completion);
    if begins != completion {
        history.remove(begins);
    }
}

/// Moves a completion to anywhere between its invocation and its process's next entry.
fn move_completion(history: &mut Vec<Op>, completion: usize, random: &mut Random) {
    let begins = invocation(history, completion);
    let process = history[completion].process;
    let ends = (completion + 1..history.len()).find(|&at| history[at].process == process);
    let op = history.remove(completion);
    let last = ends.map_or(history.len(), |at| at - 1);
    history.insert(begins + 1 + random.below(last - begins), op);
}

/// A process whose operation became indeterminate does nothing more under that number.
fn retire(history: &mut [Op]) {
    let number = |op: &Op| match op.process {
        Process::Client(number) => number,
        _ => 0,
    };
    let mut next = history.iter().map(number).max().unwrap_or(0) + 1;
    for at in 0..history.len() {
        if history[at].kind == Kind::Info {
            let process = history[at].process;
            for later in &mut history[at + 1..] {
                if later.process == process {
                    later.process = Process::Client(next);
                }
            }
            next += 1;
        }
    }
}
