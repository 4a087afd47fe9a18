//! Small random histories of sessions: some at random, some as databases with snapshots make them; and ways to spoil
//! them.

use super::{Event, Txn, snapshots};
use crate::literal::random::Random;
use history::Kind;
use std::collections::BTreeMap;

/// A history of at most six transactions: as many as all orders of can be tried.
pub fn make(random: &mut Random) -> Vec<Txn> {
    match random.below(3) {
        0 => at_random(random),
        _ => snapshots::make(random),
    }
}

/// Reads of versions of the right keys; sometimes each transaction sees one state, sometimes each read another.
fn at_random(random: &mut Random) -> Vec<Txn> {
    let count = 1 + random.below(6);
    let (sessions, keys, longest) = (1 + random.below(4), 1 + random.below(3), 1 + random.below(4));
    let mixed = random.percent(30);
    // All states that there have been, each key's last value.
    let mut states: Vec<BTreeMap<i64, i64>> = vec![BTreeMap::new()];
    let mut last_value = 0;
    let mut txns: Vec<Txn> = Vec::new();
    for _ in 0..count {
        let end = end(random);
        let mut state = states[random.below(states.len())].clone();
        let mut written = BTreeMap::new();
        let mut events = Vec::new();
        for _ in 0..1 + random.below(longest) {
            let key = random.below(keys) as i64;
            if mixed {
                state = states[random.below(states.len())].clone();
                state.extend(written.clone());
            }
            let write = random.percent(45);
            let value = if write {
                last_value += 1;
                state.insert(key, last_value);
                written.insert(key, last_value);
                last_value
            } else {
                state.get(&key).copied().unwrap_or(0)
            };
            events.push(Event { write, key, value });
        }
        if end != Kind::Fail || random.percent(20) {
            let mut next = states[states.len() - 1].clone();
            next.extend(written);
            states.push(next);
        }
        txns.push(Txn {
            session: random.below(sessions) as u64,
            end,
            events,
        });
    }
    txns
}

/// Spoils a history a little: a read of another value, two transactions that change places, another session, or an
/// abort. Values stay unique.
pub fn mutate(txns: &mut [Txn], random: &mut Random) {
    let (at, other) = (random.below(txns.len()), random.below(txns.len()));
    match random.below(5) {
        0 | 1 => {
            let key_values: Vec<(i64, i64)> = txns
                .iter()
                .flat_map(|txn| &txn.events)
                .filter(|event| event.write)
                .map(|event| (event.key, event.value))
                .collect();
            let place = random.below(txns[at].events.len());
            let event = &mut txns[at].events[place];
            if event.write {
                return;
            }
            let mut values = vec![0, 99];
            values.extend(
                key_values
                    .iter()
                    .filter(|(key, _)| *key == event.key)
                    .map(|(_, value)| *value),
            );
            event.value = *random.pick(&values);
            // Values that nobody wrote are rare.
            if event.value == 99 && random.percent(80) {
                event.value = 0;
            }
        }
        2 => txns.swap(at, other),
        3 => txns[at].session = txns[other].session,
        _ if random.percent(40) => txns[at].end = end(random),
        _ => {}
    }
}

/// How a transaction ends.
fn end(random: &mut Random) -> Kind {
    match random.below(16) {
        0 => Kind::Fail,
        1 | 2 => Kind::Info,
        _ => Kind::Ok,
    }
}
