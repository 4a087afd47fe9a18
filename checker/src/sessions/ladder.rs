//! The levels one after another: which hold, and which is the weakest that is broken.

use super::clocks::Points;
use super::core::core;
use super::frontier::{Search, Searched};
use super::graph::{Cycles, Edge, Rows, Why, cycles, path};
use super::history::{INITIAL, Sessions, Txn};
use super::parallel::{Parallel, parallel};
use super::saturate::{Rules, Saturated, causal, known, saturate};
use super::weak::{Demands, StaleInitial, read_atomic, read_committed};
use super::words::{Proof, Words, proof};
use crate::{Budget, Example, Finding, Level};
use rustc_hash::FxHashMap;

/// The levels, the weakest first. Each one is broken where one before it is.
pub(super) const LADDER: [Level; 6] = [
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::Causal,
    Level::ParallelSnapshotIsolation,
    Level::SnapshotIsolation,
    Level::Serializable,
];

/// States that are tried for snapshot isolation where parallel snapshot isolation is asked for, beside some for each
/// transaction.
const AT_ONCE: u64 = 10_000;

/// What a level came to.
pub(super) enum Found {
    Holds,
    Broken(Broken),
    /// With the reason.
    Undecided(String),
}

/// Why a level is broken.
#[derive(Debug, Default)]
pub(super) struct Broken {
    /// How many instances there are.
    pub(super) count: u64,
    /// Some of them, with the name of the anomaly where it has one of its own.
    pub(super) shown: Vec<(Option<&'static str>, Example)>,
}

/// What judging levels needs.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) words: Words<'a>,
    pub(super) budget: &'a Budget,
}

impl<'a> Judge<'a> {
    fn sessions(self) -> &'a Sessions {
        self.words.sessions
    }

    /// Judges a level by itself; those before it on the ladder up to causal hold.
    pub(super) fn level(self, level: Level) -> Found {
        let whole = Points {
            sessions: self.sessions(),
            split: false,
        };
        match level {
            Level::ReadCommitted => self.demanded(whole, read_committed(self.sessions())),
            Level::ReadAtomic => self.demanded(whole, read_atomic(self.sessions())),
            Level::Causal => match causal(whole, self.budget) {
                Ok(demands) => self.demanded(whole, demands),
                Err(spent) => Found::Undecided(spent.to_string()),
            },
            Level::ParallelSnapshotIsolation => self.parallel(whole),
            Level::SnapshotIsolation => self.ordered(Rules::Snapshot),
            _ => self.ordered(Rules::Serializable),
        }
    }

    /// Whether the base orders and what a level demands have a cycle.
    fn demanded(self, points: Points<'a>, demands: Demands) -> Found {
        let mut edges = points.base();
        edges.extend(demands.edges);
        let cycles = cycles(points.count(), &edges);
        self.found(points, &edges, &cycles, &demands.stale)
    }

    fn contradiction(self, points: Points<'a>, saturated: Saturated<'a>) -> Found {
        match saturated {
            Saturated::Known { .. } => Found::Holds,
            Saturated::Contradiction { edges, cycles, stale } => self.found(points, &edges, &cycles, &stale),
            Saturated::Spent(spent) => Found::Undecided(spent.to_string()),
        }
    }

    fn found(self, points: Points<'a>, edges: &[Edge], cycles: &Cycles, stale: &[StaleInitial]) -> Found {
        let count = cycles.components + stale.len() as u64;
        if count == 0 {
            return Found::Holds;
        }
        let mut proofs: Vec<Proof> = cycles.short.iter().map(|cycle| proof(points, cycle)).collect();
        if !stale.is_empty() {
            let rows = Rows::new(points.count(), edges);
            let room = Finding::EXAMPLES.saturating_sub(proofs.len());
            let more = stale
                .iter()
                .take(room)
                .filter_map(|one| stale_cycle(points, edges, &rows, *one));
            proofs.extend(more);
        }
        let shown = proofs
            .iter()
            .map(|proof| (proof.name, self.words.cycle(proof)))
            .collect();
        Found::Broken(Broken { count, shown })
    }

    /// Serializability and snapshot isolation.
    fn ordered(self, rules: Rules) -> Found {
        let points = Points {
            sessions: self.sessions(),
            split: rules.split(),
        };
        match ordered(points, rules, u64::MAX, self.budget) {
            Ordered::Holds => Found::Holds,
            Ordered::Contradiction(saturated) => self.contradiction(points, saturated),
            Ordered::None { states, longest } => {
                let most = states.saturating_mul(4).saturating_add(1000);
                let broken = |part: &Sessions| {
                    let points = Points {
                        sessions: part,
                        ..points
                    };
                    let found = ordered(points, rules, most, self.budget);
                    matches!(found, Ordered::Contradiction(_) | Ordered::None { .. })
                };
                let all = format!(
                    "no order of the {} transactions is possible: all {states} ways to begin one were tried, and none \
                     gets further than {longest} steps of {}",
                    self.sessions().len(),
                    points.count()
                );
                self.none(all, broken)
            }
            Ordered::Undecided(why) => Found::Undecided(why),
        }
    }

    fn parallel(self, points: Points<'a>) -> Found {
        // Snapshot isolation is stronger, and an order that shows it is mostly found at once where there is one.
        let at_once = 4 * points.count() as u64 + AT_ONCE;
        let split = Points {
            split: true,
            ..points
        };
        if matches!(
            ordered(split, Rules::Snapshot, at_once, self.budget),
            Ordered::Holds
        ) {
            return Found::Holds;
        }
        match parallel(points, self.budget) {
            Parallel::Holds => Found::Holds,
            Parallel::Contradiction(saturated) => self.contradiction(points, saturated),
            Parallel::None { tried } => {
                let broken = |part: &Sessions| {
                    let points = Points {
                        sessions: part,
                        ..points
                    };
                    matches!(
                        parallel(points, self.budget),
                        Parallel::Contradiction(_) | Parallel::None { .. }
                    )
                };
                let all = format!(
                    "no orders of the writers of each key are possible: all {tried} choices lead to a contradiction"
                );
                self.none(all, broken)
            }
            Parallel::Spent { spent, tried } => {
                Found::Undecided(format!("{spent}: {tried} choices were tried"))
            }
        }
    }

    /// Everything was tried: shown are few transactions for which that is so too.
    fn none(self, all: String, broken: impl Fn(&Sessions) -> bool) -> Found {
        let example = match core(self.sessions(), self.budget, broken) {
            Some(part) => {
                let words = Words {
                    sessions: &part,
                    ..self.words
                };
                words.core(format!("{all}. These {} alone have none either:", part.len()))
            }
            None => self.words.core(format!("{all}:")),
        };
        Found::Broken(Broken {
            count: 1,
            shown: vec![(None, example)],
        })
    }

    /// Updates that are lost: two transactions replace what both read. No level from parallel snapshot isolation on
    /// allows that.
    pub(super) fn lost_updates(self) -> Option<Broken> {
        let sessions = self.sessions();
        let mut replaced: FxHashMap<(u32, Txn), Txn> = FxHashMap::default();
        let mut broken = Broken::default();
        for txn in sessions.all() {
            let mut reads: Vec<_> = sessions
                .reads_of(txn)
                .iter()
                .map(|read| (read.key, read.writer))
                .collect();
            reads.sort_unstable();
            reads.dedup();
            for (key, writer) in reads
                .into_iter()
                .filter(|(key, _)| sessions.writes_key(txn, *key))
            {
                let Some(first) = replaced.get(&(key, writer)) else {
                    replaced.insert((key, writer), txn);
                    continue;
                };
                broken.count += 1;
                if broken.shown.len() < Finding::EXAMPLES {
                    let example = self.words.lost_update(key, writer, *first, txn);
                    broken.shown.push((Some("lost-update"), example));
                }
            }
        }
        (broken.count > 0).then_some(broken)
    }
}

/// What looking for one order of all transactions came to.
enum Ordered<'a> {
    Holds,
    /// The rules alone rule it out.
    Contradiction(Saturated<'a>),
    /// Every way to begin one was tried.
    None {
        states: u64,
        longest: u64,
    },
    Undecided(String),
}

/// Looks for one order of all transactions: rules first, then the search through so many states at most.
fn ordered<'a>(points: Points<'a>, rules: Rules, most: u64, budget: &Budget) -> Ordered<'a> {
    let (edges, guesses) = match saturate(rules, points, known(rules, points), budget) {
        Saturated::Known { edges, clocks } => {
            let guesses = clocks.guesses();
            clocks.give_back(budget);
            (edges, guesses)
        }
        Saturated::Spent(spent) => return Ordered::Undecided(spent.to_string()),
        contradiction => return Ordered::Contradiction(contradiction),
    };
    match Search::new(points, &edges, guesses).run(most, budget) {
        Searched::Order => Ordered::Holds,
        Searched::None { states, longest } => Ordered::None { states, longest },
        Searched::GivenUp => Ordered::Undecided(format!("{most} beginnings of orders were tried")),
        Searched::Spent { spent, states } => {
            Ordered::Undecided(format!("{spent}: {states} beginnings of orders were tried"))
        }
    }
}

/// The cycle of a read of the initial state by a transaction that had seen a writer of the key.
fn stale_cycle(points: Points<'_>, edges: &[Edge], rows: &Rows, stale: StaleInitial) -> Option<Proof> {
    let (from, to) = (points.end(stale.seen), points.begin(stale.reader));
    let mut cycle = path(from, to, edges, rows, &|_| true)?;
    cycle.push(Edge {
        from: to,
        to: from,
        why: Why::Before {
            key: stale.key,
            writer: INITIAL,
        },
    });
    Some(proof(points, &cycle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::{history::sessions, parse::parse};
    use history::{Call, Kind, Op, Process, Value};

    /// A few transactions of a few sessions, which read values that some transaction writes last.
    fn random(seed: u64) -> Vec<Op> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut below = |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 20) % limit
        };
        let count = 2 + below(6);
        let micro = |name: &str, key: u64, value: u64| {
            let [key, value] = [key, value].map(|number| Value::Int(number as i64));
            Value::List([Value::Text(name.into()), key, value].into())
        };
        // Transaction n writes n + 1, to some keys at most once each.
        let writes: Vec<Vec<u64>> = (0..count)
            .map(|_| (0..3).filter(|_| below(3) == 0).collect())
            .collect();
        let mut history = Vec::new();
        for txn in 0..count {
            let mut micros = Vec::new();
            for key in 0..3 {
                let writers: Vec<u64> = (0..count)
                    .filter(|other| writes[*other as usize].contains(&key))
                    .collect();
                let pick = below(2 + 2 * writers.len() as u64) as usize;
                match writers.get(pick) {
                    Some(writer) if *writer != txn => micros.push(micro("r", key, writer + 1)),
                    None if pick == writers.len() => micros.push(micro("r", key, 0)),
                    _ => {}
                }
            }
            micros.extend(writes[txn as usize].iter().map(|key| micro("w", *key, txn + 1)));
            history.push(Op {
                index: txn,
                time: txn,
                process: Process::Client(below(4)),
                kind: Kind::Ok,
                body: Call {
                    f: "txn".into(),
                    value: Value::List(micros.into()),
                },
            });
        }
        history
    }

    #[test]
    fn the_search_alone_finds_what_the_rules_find_and_a_weaker_level_holds_where_a_stronger_does() {
        let budget = Budget::unlimited();
        let mut held = [0; 3];
        for seed in 1..6000 {
            let parsed = parse(&budget, random(seed).into_iter().map(Ok)).expect("it is well-formed");
            let made = sessions(&parsed, None);
            if !read_atomic(&made).stale.is_empty() || !read_atomic(&made).edges.is_empty() {
                continue;
            }
            let holds = |rules: Rules| {
                let points = Points {
                    sessions: &made,
                    split: rules.split(),
                };
                let by_rules = matches!(ordered(points, rules, u64::MAX, &budget), Ordered::Holds);
                let base = points.base();
                let search = Search::new(points, &base, vec![0; points.count()]);
                let alone = matches!(search.run(u64::MAX, &budget), Searched::Order);
                assert_eq!(by_rules, alone, "seed {seed}");
                alone
            };
            let whole = Points {
                sessions: &made,
                split: false,
            };
            let parallel = matches!(parallel(whole, &budget), Parallel::Holds);
            let (snapshot, serializable) = (holds(Rules::Snapshot), holds(Rules::Serializable));
            assert!(parallel || !snapshot, "seed {seed}");
            assert!(snapshot || !serializable, "seed {seed}");
            for (count, holds) in held.iter_mut().zip([parallel, snapshot, serializable]) {
                *count += u32::from(holds);
            }
        }
        assert!(
            held[2] > 300 && held[1] > held[2] && held[0] > held[1],
            "{held:?}"
        );
    }
}
