//! Parallel snapshot isolation: is there an order of the writers of each key, so that these orders, those of sessions,
//! and of writers before readers have no cycle, and no transaction comes after one that overwrote what it read
//! (Cerone and Gotsman's characterisation)?
//!
//! What follows by the rules is followed; then one pair of writers that are not in order is tried both ways, and so on.

use super::clocks::Points;
use super::graph::{Edge, Why};
use super::history::Txn;
use super::saturate::{Rules, Saturated, known, saturate};
use crate::{Budget, Spent};

/// What was found.
pub(super) enum Parallel<'a> {
    /// The orders exist.
    Holds,
    /// They do not, by the rules alone.
    Contradiction(Saturated<'a>),
    /// They do not: every choice was tried.
    None {
        /// How many.
        tried: u64,
    },
    /// A limit was reached.
    Spent { spent: Spent, tried: u64 },
}

/// A pair that was tried one way: how many edges were there before, and the other way, where that is left.
struct Choice {
    edges: usize,
    other: Option<Edge>,
}

/// Decides it.
pub(super) fn parallel<'a>(points: Points<'a>, budget: &Budget) -> Parallel<'a> {
    let mut edges = known(Rules::ParallelSnapshot, points);
    let mut choices: Vec<Choice> = Vec::new();
    let mut tried = 0;
    loop {
        // What followed from a choice is kept: it is undone with it.
        match saturate(Rules::ParallelSnapshot, points, edges, budget) {
            Saturated::Spent(spent) => return Parallel::Spent { spent, tried },
            Saturated::Known { edges: now, clocks } => {
                edges = now;
                let open = unordered(points, &clocks.guesses(), |a, b| clocks.before(a, b));
                clocks.give_back(budget);
                let Some((first, second, key)) = open else {
                    return Parallel::Holds;
                };
                let edge = |from, to| Edge {
                    from,
                    to,
                    why: Why::Tried { key },
                };
                choices.push(Choice {
                    edges: edges.len(),
                    other: Some(edge(second, first)),
                });
                edges.push(edge(first, second));
            }
            contradiction if choices.is_empty() => return Parallel::Contradiction(contradiction),
            Saturated::Contradiction { edges: now, .. } => {
                edges = now;
                if !other_way(&mut edges, &mut choices) {
                    return Parallel::None { tried };
                }
            }
        }
        tried += 1;
    }
}

/// Takes back choices down to one with another way, and goes that way.
fn other_way(edges: &mut Vec<Edge>, choices: &mut Vec<Choice>) -> bool {
    while let Some(choice) = choices.last_mut() {
        edges.truncate(choice.edges);
        match choice.other.take() {
            Some(edge) => {
                edges.push(edge);
                return true;
            }
            None => drop(choices.pop()),
        }
    }
    false
}

/// Two writers of a key that are not in order, the likelier first one first.
fn unordered(
    points: Points<'_>,
    guesses: &[u64],
    before: impl Fn(u32, u32) -> bool,
) -> Option<(Txn, Txn, u32)> {
    let sessions = points.sessions;
    let mut writers: Vec<Txn> = Vec::new();
    for key in 0..sessions.keys() as u32 {
        writers.clear();
        for group in sessions.groups.get(key as usize) {
            writers.extend_from_slice(&sessions.writers[group.range.clone()]);
        }
        writers.sort_unstable_by_key(|writer| guesses[*writer as usize]);
        let gap = writers.windows(2).find(|pair| !before(pair[0], pair[1]));
        if let Some(gap) = gap {
            return Some((gap[0], gap[1], key));
        }
    }
    None
}
