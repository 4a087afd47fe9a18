//! Spoils a history: some of what comes out is linearizable still, most is not.

use super::super::random::Random;
use super::make::{small, stamp};
use history::{Kind, Op, Value};

/// Changes one thing, and stamps the entries anew.
pub fn mutate(history: &mut Vec<Op>, random: &mut Random) {
    let done: Vec<usize> = (0..history.len())
        .filter(|&at| history[at].kind == Kind::Ok)
        .collect();
    let failed: Vec<usize> = (0..history.len())
        .filter(|&at| history[at].kind == Kind::Fail)
        .collect();
    if !failed.is_empty() && random.percent(30) {
        // It did happen, then.
        history[*random.pick(&failed)].kind = Kind::Ok;
    } else if !done.is_empty() {
        let at = *random.pick(&done);
        match random.below(6) {
            0 | 1 => history[at].body.value = change(&history[at].body.value, random),
            2 => swap_answers(history, at, *random.pick(&done)),
            3 => drop_operation(history, at),
            4 => history[at].kind = *random.pick(&[Kind::Info, Kind::Fail]),
            _ => move_completion(history, at, random),
        }
        retire(history);
    }
    stamp(history, random);
}

/// Another value of the same shape.
fn change(value: &Value, random: &mut Random) -> Value {
    match value {
        Value::List(elements) if !elements.is_empty() => {
            let mut elements = elements.to_vec();
            let at = random.below(elements.len());
            elements[at] = match &elements[at] {
                Value::Keyword(name) => Value::Keyword(name.clone()),
                other => change(other, random),
            };
            Value::List(elements.into())
        }
        Value::Text(text) if text.len() > 1 && random.percent(50) => Value::Text(text[1..].into()),
        Value::Text(_) => Value::Text((*random.pick(&["a", "b", "ab", "ba", ""])).into()),
        Value::Int(_) => small(random),
        other => other.clone(),
    }
}

fn swap_answers(history: &mut [Op], one: usize, other: usize) {
    if history[one].body.f == history[other].body.f {
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
    let mut next = 1000;
    for at in 0..history.len() {
        if history[at].kind == Kind::Info {
            let process = history[at].process;
            for later in &mut history[at + 1..] {
                if later.process == process {
                    later.process = history::Process::Client(next);
                }
            }
            next += 1;
        }
    }
}
