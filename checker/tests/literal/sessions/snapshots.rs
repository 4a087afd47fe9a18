//! Histories as databases with snapshots make them: each transaction sees a set of earlier ones. Which sets there are is
//! the level: all of them (serializable), the first few (snapshot isolation), any that is closed under what its members
//! saw (parallel snapshot isolation, and causal, where two that do not see one another may write the same key).

use super::{Event, Txn};
use crate::literal::random::Random;
use history::Kind;

/// A transaction that committed: what it saw, and what it wrote.
struct Done {
    session: u64,
    saw: Vec<usize>,
    events: Vec<Event>,
}

impl Done {
    fn last(&self, key: i64) -> Option<i64> {
        let mut writes = self
            .events
            .iter()
            .rev()
            .filter(|event| event.write && event.key == key);
        writes.next().map(|event| event.value)
    }
}

/// A history of such a database.
pub fn make(random: &mut Random) -> Vec<Txn> {
    let count = 2 + random.below(5);
    let (sessions, keys, longest) = (2 + random.below(3), 1 + random.below(3), 1 + random.below(4));
    let level = random.below(4);
    let mut done: Vec<Done> = Vec::new();
    let mut value = 0;
    for _ in 0..count {
        let session = random.below(sessions) as u64;
        let saw = seen(random, level, session, &done);
        let mut events: Vec<Event> = Vec::new();
        for _ in 0..1 + random.below(longest) {
            let key = random.below(keys) as i64;
            // Who wrote the key and was not seen.
            let hidden =
                (0..done.len()).any(|other| done[other].last(key).is_some() && !saw.contains(&other));
            if random.percent(50) && (level == 3 || !hidden) {
                value += 1;
                events.push(Event {
                    write: true,
                    key,
                    value,
                });
                continue;
            }
            let own = events
                .iter()
                .rev()
                .find(|event| event.write && event.key == key)
                .map(|event| event.value);
            let seen = saw.iter().rev().find_map(|other| done[*other].last(key));
            events.push(Event {
                write: false,
                key,
                value: own.or(seen).unwrap_or(0),
            });
        }
        done.push(Done { session, saw, events });
    }
    let txn = |done: Done| Txn {
        session: done.session,
        end: Kind::Ok,
        events: done.events,
    };
    done.into_iter().map(txn).collect()
}

/// What the next transaction of a session sees, in the order of commits.
fn seen(random: &mut Random, level: usize, session: u64, done: &[Done]) -> Vec<usize> {
    let own = (0..done.len()).filter(|other| done[*other].session == session);
    let mut saw: Vec<usize> = match level {
        0 => (0..done.len()).collect(),
        1 => {
            let least = own.max().map_or(0, |last| last + 1);
            (0..least + random.below(done.len() - least + 1)).collect()
        }
        _ => own
            .chain((0..done.len()).filter(|_| random.percent(35)))
            .collect(),
    };
    let mut next = 0;
    while let Some(other) = saw.get(next).copied() {
        let more: Vec<usize> = done[other]
            .saw
            .iter()
            .copied()
            .filter(|one| !saw.contains(one))
            .collect();
        saw.extend(more);
        next += 1;
    }
    saw.sort_unstable();
    saw.dedup();
    saw
}
