//! Spoils a history: swaps two offsets, drops an acknowledgement, moves a completion, changes how one ended.

use super::super::random::Random;
use history::{Kind, Op, Process, Value};

/// Changes one thing.
pub fn mutate(history: &mut Vec<Op>, random: &mut Random) {
    let completions: Vec<usize> = (0..history.len())
        .filter(|at| history[*at].kind != Kind::Invoke)
        .collect();
    if completions.is_empty() {
        return;
    }
    let at = *random.pick(&completions);
    match random.below(6) {
        0 | 1 => swap_offsets(history, at, *random.pick(&completions), random),
        2 => drop_completion(history, at),
        3 => move_completion(history, at, random),
        4 if is_transfer(&history[at]) => unknown_offset(&mut history[at].body.value, random),
        _ => history[at].kind = *random.pick(&[Kind::Ok, Kind::Fail, Kind::Info]),
    }
    for (index, op) in (0..).zip(history.iter_mut()) {
        op.index = index;
        op.time = index * 1000;
    }
}

/// The offset and value pairs of a completion: their offsets can be changed.
fn offsets(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::List(parts) => match &mut **parts {
            [offset @ (Value::Int(_) | Value::Nil), Value::Int(_)] => vec![offset],
            parts => parts.iter_mut().flat_map(offsets).collect(),
        },
        Value::Map(polled) => polled
            .iter_mut()
            .flat_map(|(_, records)| offsets(records))
            .collect(),
        _ => vec![],
    }
}

fn is_transfer(op: &Op) -> bool {
    ["send", "poll", "txn"].contains(&&*op.body.f)
}

fn swap_offsets(history: &mut [Op], one: usize, other: usize, random: &mut Random) {
    if !is_transfer(&history[one]) || !is_transfer(&history[other]) {
        return;
    }
    let mut of = |at: usize, new: Option<&Value>| -> Option<(usize, Value)> {
        let mut places = offsets(&mut history[at].body.value);
        if places.is_empty() {
            return None;
        }
        let place = random.below(places.len());
        let old = places[place].clone();
        if let Some(new) = new {
            *places[place] = new.clone();
        }
        Some((place, old))
    };
    let Some((place, first)) = of(one, None) else {
        return;
    };
    let Some((_, second)) = of(other, Some(&first)) else {
        return;
    };
    if let Some(offset) = offsets(&mut history[one].body.value).into_iter().nth(place) {
        *offset = second;
    }
}

fn unknown_offset(value: &mut Value, random: &mut Random) {
    let mut places = offsets(value);
    if !places.is_empty() {
        let place = random.below(places.len());
        *places[place] = Value::Nil;
    }
}

/// Its client is another one from then on.
fn drop_completion(history: &mut Vec<Op>, at: usize) {
    let process = history[at].process;
    let next = history.iter().filter_map(|op| match op.process {
        Process::Client(number) => Some(number),
        _ => None,
    });
    let next = next.max().unwrap_or_default() + 1;
    history.remove(at);
    for later in &mut history[at..] {
        if later.process == process {
            later.process = Process::Client(next);
        }
    }
}

/// To anywhere between its invocation and its client's next entry.
fn move_completion(history: &mut Vec<Op>, at: usize, random: &mut Random) {
    let process = history[at].process;
    let mine = |place: &usize| history[*place].process == process;
    let (Some(begins), ends) = ((0..at).rev().find(mine), (at + 1..history.len()).find(mine)) else {
        return;
    };
    let op = history.remove(at);
    let last = ends.map_or(history.len(), |end| end - 1);
    history.insert(begins + 1 + random.below(last - begins), op);
}
