//! Makes histories as a store would, at several levels of isolation, with aborts and crashes.

use super::{Step, Txn, renumber};
use crate::literal::random::Random;
use history::Kind;
use std::collections::BTreeMap;

type State = BTreeMap<i64, Vec<i64>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Isolation {
    /// All at once.
    Serializable,
    /// Reads a snapshot; of two that write one key, the later one aborts.
    Snapshot,
    /// Reads what is committed.
    ReadCommitted,
    /// Reads and writes in place.
    ReadUncommitted,
}

struct Running {
    txn: usize,
    snapshot: State,
    wrote: State,
    next: usize,
}

struct Store {
    lists: bool,
    isolation: Isolation,
    state: State,
}

impl Store {
    fn write(&self, state: &mut State, key: i64, value: i64) {
        let list = state.entry(key).or_default();
        if !self.lists {
            list.clear();
        }
        list.push(value);
    }

    /// Runs one step, and gives what it was.
    fn step(&mut self, running: &mut Running, step: Step) -> Step {
        let in_place = self.isolation == Isolation::ReadUncommitted;
        match step {
            Step::Write(key, value) => {
                if in_place {
                    let mut state = std::mem::take(&mut self.state);
                    self.write(&mut state, key, value);
                    self.state = state;
                } else {
                    running.wrote.entry(key).or_default().push(value);
                }
                step
            }
            Step::Read(key, _) => {
                let from = if self.isolation == Isolation::Snapshot {
                    &running.snapshot
                } else {
                    &self.state
                };
                let mut seen = State::from([(key, from.get(&key).cloned().unwrap_or_default())]);
                for value in running.wrote.get(&key).into_iter().flatten() {
                    self.write(&mut seen, key, *value);
                }
                Step::Read(key, seen.remove(&key).unwrap_or_default())
            }
        }
    }

    /// Whether another committed a key that it wrote since it began.
    fn conflicts(&self, running: &Running) -> bool {
        let changed = |key: &i64| running.snapshot.get(key) != self.state.get(key);
        self.isolation == Isolation::Snapshot && running.wrote.keys().any(changed)
    }

    fn commit(&mut self, running: &Running) {
        let mut state = std::mem::take(&mut self.state);
        for (key, values) in &running.wrote {
            for value in values {
                self.write(&mut state, *key, *value);
            }
        }
        self.state = state;
    }
}

/// A history of at most `most` transactions, of lists or of registers.
pub fn make(lists: bool, random: &mut Random, most: usize) -> Vec<Txn> {
    let isolation = *random.pick(&[
        Isolation::Serializable,
        Isolation::Snapshot,
        Isolation::ReadCommitted,
        Isolation::ReadUncommitted,
    ]);
    let mut store = Store {
        lists,
        isolation,
        state: State::new(),
    };
    let keys = 1 + random.below(3) as i64;
    let count = 1 + random.below(most);
    let reads_all = random.percent(50);
    let faults = random.percent(50);
    let mut processes: Vec<(u64, Option<Running>)> =
        (0..1 + random.below(3) as u64).map(|one| (one, None)).collect();
    let mut values: BTreeMap<i64, i64> = BTreeMap::new();
    let mut txns: Vec<Txn> = Vec::new();
    let mut clock = 0;
    loop {
        clock += 1;
        let open = processes.iter().any(|(_, running)| running.is_some());
        let last = reads_all && txns.len() + 1 == count;
        if txns.len() == count && !open {
            break;
        }
        let which = random.below(processes.len());
        let fresh = processes.len() as u64 + clock as u64;
        let (process, running) = &mut processes[which];
        match running.take() {
            // The last one reads all when nothing else runs any more.
            None if txns.len() < count && !(last && open) => {
                let steps = if last {
                    all(keys)
                } else {
                    plan(keys, &mut values, random)
                };
                *running = Some(Running {
                    txn: txns.len(),
                    snapshot: store.state.clone(),
                    wrote: State::new(),
                    next: 0,
                });
                txns.push(Txn {
                    process: *process,
                    began: clock,
                    ended: clock,
                    kind: Kind::Invoke,
                    steps,
                });
            }
            None => {}
            Some(mut now) => {
                let txn = &mut txns[now.txn];
                if now.next < txn.steps.len() {
                    let all = if isolation == Isolation::Serializable {
                        txn.steps.len()
                    } else {
                        now.next + 1
                    };
                    for step in &mut txn.steps[now.next..all] {
                        *step = store.step(&mut now, step.clone());
                        now.next += 1;
                    }
                    if isolation == Isolation::Serializable {
                        end(&mut store, &now, txn, faults && !last, random);
                    }
                    *running = Some(now);
                    continue;
                }
                if isolation != Isolation::Serializable {
                    end(&mut store, &now, txn, faults && !last, random);
                }
                txn.ended = clock;
                if txn.kind == Kind::Info {
                    *process = fresh;
                }
            }
        }
    }
    renumber(&mut txns);
    txns
}

/// Commits, aborts or crashes.
fn end(store: &mut Store, running: &Running, txn: &mut Txn, faults: bool, random: &mut Random) {
    txn.kind = match random.below(10) {
        0 if faults => Kind::Fail,
        1 | 2 if faults => Kind::Info,
        _ if store.conflicts(running) => Kind::Fail,
        _ => Kind::Ok,
    };
    if txn.kind == Kind::Ok || (txn.kind == Kind::Info && random.percent(50)) {
        store.commit(running);
    }
}

fn all(keys: i64) -> Vec<Step> {
    (1..=keys).map(|key| Step::Read(key, Vec::new())).collect()
}

fn plan(keys: i64, values: &mut BTreeMap<i64, i64>, random: &mut Random) -> Vec<Step> {
    let steps = (0..1 + random.below(3)).map(|_| {
        let key = 1 + random.below(keys as usize) as i64;
        if random.percent(50) {
            return Step::Read(key, Vec::new());
        }
        let value = values.entry(key).or_default();
        *value += 1;
        Step::Write(key, *value)
    });
    steps.collect()
}
