//! Which cycles there are: every edge by its definition, and whether one can come back to where one set out.

use super::decode::{Done, decode};
use super::rules::Partition;
use history::{Kind, Op};
use std::collections::BTreeSet;

/// Whether there are cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cycles {
    /// Of ww alone.
    pub writes: bool,
    /// Of ww and wr.
    pub dependencies: bool,
    /// Of those, with the order of processes and of real time.
    pub timed: bool,
    /// Of ww, wr and rw; only where an operation polls and sends.
    pub anti: bool,
}

/// Looks for them.
pub fn cycles(history: &[Op], ww_deps: bool) -> Cycles {
    let done = decode(history);
    let (mut ww, mut wr, mut rw, mut clocks) = (vec![], vec![], vec![], vec![]);
    let records = done.iter().flat_map(|op| op.sends.iter().chain(&op.polls));
    let keys: BTreeSet<i64> = records.map(|record| record.0).collect();
    for key in keys {
        let partition = Partition::new(&done, key);
        let writer = |value: i64| done.iter().rposition(|op| op.sent(key).contains(&value));
        let order: Vec<Option<usize>> = partition.order().into_iter().map(writer).collect();
        for two in order.windows(2).filter(|_| ww_deps) {
            ww.extend(two[0].zip(two[1]));
        }
        for (reader, op) in done.iter().enumerate() {
            let polled = op.polled(key);
            wr.extend(polled.iter().filter_map(|value| Some((writer(*value)?, reader))));
            if let Some(reached) = polled.iter().filter_map(|value| partition.index(*value)).max() {
                rw.extend(
                    order[reached + 1..]
                        .iter()
                        .flatten()
                        .map(|writer| (reader, *writer)),
                );
            }
        }
    }
    for (a, one) in done.iter().enumerate().filter(|(_, one)| one.kind == Kind::Ok) {
        let later = done
            .iter()
            .enumerate()
            .filter(|(_, other)| one.ended.is_some_and(|end| end < other.began));
        clocks.extend(later.map(|(b, _)| (a, b)));
    }
    let cyclic = |edges: &[&[(usize, usize)]]| is_cyclic(done.len(), &edges.concat());
    Cycles {
        writes: cyclic(&[&ww]),
        dependencies: cyclic(&[&ww, &wr]),
        timed: cyclic(&[&ww, &wr, &clocks]),
        anti: done.iter().any(both) && cyclic(&[&ww, &wr, &rw]),
    }
}

fn both(op: &Done) -> bool {
    !op.sends.is_empty() && !op.polls.is_empty()
}

fn is_cyclic(nodes: usize, edges: &[(usize, usize)]) -> bool {
    let mut reaches = vec![vec![false; nodes]; nodes];
    for (from, to) in edges.iter().filter(|(from, to)| from != to) {
        reaches[*from][*to] = true;
    }
    for middle in 0..nodes {
        for from in 0..nodes {
            if reaches[from][middle] {
                let further = reaches[middle].clone();
                for (to, further) in reaches[from].iter_mut().zip(further) {
                    *to |= further;
                }
            }
        }
    }
    (0..nodes).any(|node| reaches[node][node])
}
