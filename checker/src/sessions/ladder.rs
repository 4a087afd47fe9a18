//! The levels one after another: which hold, and which is the weakest that is broken.

use super::clocks::Points;
use super::frontier::{Search, Searched};
use super::graph::{Cycles, Edge, Rows, Why, cycles, path};
use super::history::{INITIAL, Sessions, Txn};
use super::parallel::{Parallel, parallel};
use super::saturate::{Rules, Saturated, known, saturate};
use super::weak::{Demands, StaleInitial, read_atomic, read_committed};
use super::words::{Proof, Words, proof};
use crate::{Budget, Example, Finding, Level, Spent};
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

impl Broken {
    fn told(text: String) -> Broken {
        let example = Example {
            text,
            ..Example::default()
        };
        Broken {
            count: 1,
            shown: vec![(None, example)],
        }
    }
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
            Level::Causal => match saturate(Rules::Causal, whole, whole.base(), self.budget) {
                Saturated::Known { clocks, .. } => {
                    clocks.give_back(self.budget);
                    Found::Holds
                }
                other => self.contradiction(whole, other),
            },
            Level::ParallelSnapshotIsolation => self.parallel(whole),
            Level::SnapshotIsolation => self.ordered(Rules::Snapshot, u64::MAX),
            _ => self.ordered(Rules::Serializable, u64::MAX),
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

    /// Serializability and snapshot isolation: rules first, then the search through so many states at most.
    fn ordered(self, rules: Rules, most_states: u64) -> Found {
        let points = Points {
            sessions: self.sessions(),
            split: rules.split(),
        };
        let (edges, ranks) = match saturate(rules, points, known(rules, points), self.budget) {
            Saturated::Known { edges, clocks } => {
                let ranks = clocks.ranks();
                clocks.give_back(self.budget);
                (edges, ranks)
            }
            other => return self.contradiction(points, other),
        };
        match Search::new(points, &edges, ranks).run(most_states, self.budget) {
            Searched::Order => Found::Holds,
            Searched::None { states, longest } => Found::Broken(Broken::told(format!(
                "no order of the {} transactions is possible: all {states} ways to begin one were tried, and none gets \
                 further than {longest} steps of {}",
                self.sessions().len(),
                points.count()
            ))),
            Searched::GivenUp => Found::Undecided(format!("{most_states} beginnings of orders were tried")),
            Searched::Spent { spent, states } => {
                Found::Undecided(searched(spent, states, "beginnings of orders"))
            }
        }
    }

    fn parallel(self, points: Points<'a>) -> Found {
        // Snapshot isolation is stronger, and an order that shows it is mostly found at once where there is one.
        let at_once = 4 * points.count() as u64 + AT_ONCE;
        if matches!(self.ordered(Rules::Snapshot, at_once), Found::Holds) {
            return Found::Holds;
        }
        match parallel(points, self.budget) {
            Parallel::Holds => Found::Holds,
            Parallel::Contradiction(saturated) => self.contradiction(points, saturated),
            Parallel::None { tried } => Found::Broken(Broken::told(format!(
                "no orders of the writers of each key are possible: all {tried} choices lead to a contradiction"
            ))),
            Parallel::Spent { spent, tried } => Found::Undecided(searched(spent, tried, "choices")),
        }
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

fn searched(spent: Spent, tried: u64, what: &str) -> String {
    format!("{spent}: {tried} {what} were tried")
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
