//! Orders that follow from orders, until no more follow.
//!
//! Where a transaction t read key x from w, and another transaction v writes x too:
//! - *overwritten*: if v came before t read, v is older than w (all levels from causal on);
//! - *before*: if v is newer than w, t read before v ended (serializability, snapshot isolation; for parallel
//!   snapshot isolation where t writes x as well);
//! - *conflict*: if two writers of x were not one after the other, they are (snapshot isolation).
//!
//! Causal consistency needs the first rule once, on the orders of sessions and of writers before readers: that is
//! AWDIT's O(n k) for k sessions. The stronger levels repeat all of their rules on everything that is known. For
//! snapshot isolation a transaction is two points, one where it reads and one where it writes: its snapshot is a prefix
//! of the order of ends, and "before" means before the beginning.

use super::clocks::{Clocks, NoClocks, Points};
use super::graph::{Cycles, Edge, Why, cycles};
use super::history::{INITIAL, Read, Txn};
use super::weak::{Demands, StaleInitial};
use crate::{Budget, Spent};

/// After how many rounds the search begins with what is known by then.
const ROUNDS: u64 = 200;
/// Of how many sessions there are clocks at a time: a row of them still fits into the nearest cache.
const COLUMNS: u64 = 512;

/// Which rules there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    Causal,
    ParallelSnapshot,
    Snapshot,
    Serializable,
}

impl Rules {
    /// Whether beginnings and ends are apart.
    pub(super) fn split(self) -> bool {
        self == Rules::Snapshot
    }

    /// Whether all transactions are in one order.
    fn total(self) -> bool {
        matches!(self, Rules::Snapshot | Rules::Serializable)
    }
}

/// Where the rules lead.
pub(super) enum Saturated<'a> {
    /// There is no contradiction in what is known.
    Known { edges: Vec<Edge>, clocks: Clocks<'a> },
    /// There is.
    Contradiction {
        edges: Vec<Edge>,
        cycles: Cycles,
        stale: Vec<StaleInitial>,
    },
    /// A limit was reached.
    Spent(Spent),
}

/// What causal consistency demands: the first rule once. Clocks of some sessions at a time are enough, so that many sessions fit into
/// memory.
pub(super) fn causal(points: Points<'_>, budget: &Budget) -> Result<Demands, Spent> {
    let base = points.base();
    let mut all = Demands::default();
    let count = points.sessions.count();
    let column = (points.count() * size_of::<u32>()).max(1) as u64;
    let width = (budget.memory_left() / 2 / column).clamp(1, COLUMNS) as usize;
    for first in (0..count).step_by(width) {
        budget.tell("ordering sessions", first as u64, count as u64);
        let sessions = first..count.min(first + width);
        let clocks = match Clocks::new(points, &base, sessions, false, budget) {
            Ok(clocks) => clocks,
            Err(NoClocks::Spent(spent)) => return Err(spent),
            // Sessions, writers and readers are a cycle by themselves.
            Err(NoClocks::Cyclic) => break,
        };
        let demands = once(Rules::Causal, points, &clocks);
        clocks.give_back(budget);
        all.edges.extend(demands.edges);
        all.stale.extend(demands.stale);
    }
    Ok(all)
}

/// Follows the rules to the end, from orders that are known.
pub(super) fn saturate<'a>(
    rules: Rules,
    points: Points<'a>,
    mut edges: Vec<Edge>,
    budget: &Budget,
) -> Saturated<'a> {
    let mut round = 0;
    loop {
        budget.tell("ordering transactions", round, 0);
        let sessions = 0..points.sessions.count();
        let clocks = match Clocks::new(points, &edges, sessions, true, budget) {
            Ok(clocks) => clocks,
            Err(NoClocks::Spent(spent)) => return Saturated::Spent(spent),
            Err(NoClocks::Cyclic) => {
                let cycles = cycles(points.count(), &edges);
                return Saturated::Contradiction {
                    edges,
                    cycles,
                    stale: Vec::new(),
                };
            }
        };
        let demands = once(rules, points, &clocks);
        if !demands.stale.is_empty() {
            clocks.give_back(budget);
            let stale = demands.stale;
            edges.extend(demands.edges);
            let cycles = cycles(points.count(), &edges);
            return Saturated::Contradiction { edges, cycles, stale };
        }
        if demands.edges.is_empty() || (round >= ROUNDS && rules.total()) {
            return Saturated::Known { edges, clocks };
        }
        clocks.give_back(budget);
        edges.extend(demands.edges);
        round += 1;
    }
}

/// What is known without any rule: the orders of sessions, of writers before readers, and of readers of the initial
/// state before all writers.
pub(super) fn known(rules: Rules, points: Points<'_>) -> Vec<Edge> {
    let sessions = points.sessions;
    let mut edges = points.base();
    for txn in sessions.all() {
        let initial = sessions
            .reads_of(txn)
            .iter()
            .filter(|read| read.writer == INITIAL);
        for read in initial {
            let both = rules == Rules::ParallelSnapshot && sessions.writes_key(txn, read.key);
            if !rules.total() && !both {
                continue;
            }
            for group in sessions.groups.get(read.key as usize) {
                if let Some(first) = sessions.from(group, 0).first().filter(|first| **first != txn) {
                    edges.push(before(points, txn, *first, *read));
                }
            }
        }
    }
    edges
}

fn before(points: Points<'_>, reader: Txn, writer: Txn, read: Read) -> Edge {
    Edge {
        from: points.begin(reader),
        to: points.end(writer),
        why: Why::Before {
            key: read.key,
            writer: read.writer,
        },
    }
}

/// One use of every rule.
struct Round<'a, 'c> {
    rules: Rules,
    points: Points<'a>,
    clocks: &'c Clocks<'a>,
    demands: Demands,
}

fn once<'a>(rules: Rules, points: Points<'a>, clocks: &Clocks<'a>) -> Demands {
    let round = Round {
        rules,
        points,
        clocks,
        demands: Demands::default(),
    };
    round.all()
}

impl Round<'_, '_> {
    fn all(mut self) -> Demands {
        let sessions = self.points.sessions;
        for txn in sessions.all() {
            let mut last = None;
            for read in sessions.reads_of(txn) {
                if last.replace(*read) == Some(*read) {
                    continue;
                }
                self.overwritten(txn, *read);
                let both = self.rules == Rules::ParallelSnapshot && sessions.writes_key(txn, read.key);
                if read.writer != INITIAL && (self.rules.total() || both) {
                    self.before(txn, *read);
                }
            }
            if self.rules == Rules::Snapshot {
                self.conflicts(txn);
            }
        }
        let edges = &mut self.demands.edges;
        edges.sort_unstable_by_key(|edge| (edge.from, edge.to));
        edges.dedup_by_key(|edge| (edge.from, edge.to));
        self.demands
    }

    fn overwritten(&mut self, reader: Txn, read: Read) {
        let (points, sessions) = (self.points, self.points.sessions);
        let begin = points.begin(reader);
        let groups = sessions.groups.get(read.key as usize).iter();
        for group in groups.filter(|group| self.clocks.cover(group.session)) {
            let ended = self.clocks.ended_before(group.session, begin);
            let Some(seen) = sessions
                .last_before(group, ended)
                .filter(|seen| *seen != read.writer)
            else {
                continue;
            };
            if read.writer == INITIAL {
                self.demands.older(seen, reader, read);
            } else if !self.clocks.before(points.end(seen), points.end(read.writer)) {
                self.demands.edges.push(Edge {
                    from: points.end(seen),
                    to: points.end(read.writer),
                    why: Why::Overwritten {
                        key: read.key,
                        reader,
                    },
                });
            }
        }
    }

    fn before(&mut self, reader: Txn, read: Read) {
        let (points, sessions) = (self.points, self.points.sessions);
        for group in sessions.groups.get(read.key as usize) {
            let from = self
                .clocks
                .first_ending_after(group.session, points.end(read.writer));
            let newer = sessions
                .from(group, from)
                .iter()
                .find(|writer| **writer != read.writer);
            let Some(newer) = newer.filter(|newer| **newer != reader) else {
                continue;
            };
            if !self.clocks.before(points.begin(reader), points.end(*newer)) {
                self.demands.edges.push(before(points, reader, *newer, read));
            }
        }
    }

    fn conflicts(&mut self, txn: Txn) {
        let (points, sessions) = (self.points, self.points.sessions);
        for key in sessions.writes_of(txn) {
            for group in sessions.groups.get(*key as usize) {
                let from = self.clocks.first_ending_after(group.session, points.begin(txn));
                let later = sessions.from(group, from).iter().find(|writer| **writer != txn);
                let Some(later) =
                    later.filter(|later| !self.clocks.before(points.end(txn), points.begin(**later)))
                else {
                    continue;
                };
                self.demands.edges.push(Edge {
                    from: points.end(txn),
                    to: points.begin(*later),
                    why: Why::Conflict { key: *key },
                });
            }
        }
    }
}
