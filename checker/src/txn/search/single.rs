//! Cycles with exactly one rw: is there an rw edge from a to b such that dependencies lead from b back to a?
//!
//! Asked for 64 targets b at once: one bit each is handed along dependencies, in their order, from the first b to the
//! last a. Components of dependencies are taken as one node.

use super::Ring;
use super::walk::Walker;
use crate::Budget;
use crate::txn::graph::Graph;
use crate::txn::kinds::Kinds;
use crate::txn::scc::{Components, components};

/// What came of it.
pub(super) enum Answer {
    /// A short cycle with one rw.
    Found(Ring),
    /// There is none.
    None,
    /// Not decided within the limit.
    Open,
}

/// After so many edges it is left open: some seconds.
const STEPS: u64 = 2_000_000_000;
/// How many targets are asked for at once.
const AT_ONCE: usize = 64;

/// An rw edge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// The part of its target; greater ones come first in the order of dependencies.
    to: u32,
    /// The part of its source.
    from: u32,
    source: u32,
}

/// Looks for one.
pub(super) fn search(graph: &Graph, dependencies: Kinds, budget: &Budget) -> Answer {
    let parts = components(graph, dependencies);
    let mut candidates = candidates(graph, &parts);
    candidates.sort_unstable_by(|one, other| other.cmp(one));
    let mut reach = Reach::new(graph, dependencies, &parts);
    let mut rest = &candidates[..];
    while !rest.is_empty() {
        if reach.steps > STEPS || budget.spent().is_some() {
            return Answer::Open;
        }
        let (now, later) = rest.split_at(some_targets(rest));
        let sources = reach.closing(now);
        if !sources.is_empty() {
            return shortest(graph, dependencies, &sources);
        }
        rest = later;
    }
    Answer::None
}

/// The rw edges whose target may lead back to the source.
fn candidates(graph: &Graph, parts: &Components) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for source in 0..graph.transactions() {
        let from = parts.of[source as usize];
        for (target, kinds) in graph.edges(source) {
            let to = parts.of[target as usize];
            if kinds.meets(Kinds::RW) && to >= from {
                candidates.push(Candidate { to, from, source });
            }
        }
    }
    candidates
}

/// How many of the candidates, from the first, have no more targets than are asked for at once.
fn some_targets(candidates: &[Candidate]) -> usize {
    let mut targets = 0;
    let mut last = None;
    for (place, candidate) in candidates.iter().enumerate() {
        if last != Some(candidate.to) {
            last = Some(candidate.to);
            targets += 1;
            if targets > AT_ONCE {
                return place;
            }
        }
    }
    candidates.len()
}

/// The shortest cycle that begins with an rw edge of one of some nodes, each of which has one.
fn shortest(graph: &Graph, dependencies: Kinds, sources: &[u32]) -> Answer {
    // All nodes as of one component: the path leads from one to another.
    let one = Components {
        of: vec![0; graph.nodes() as usize],
        cyclic: Vec::new(),
    };
    let mut walker = Walker::new(graph, dependencies, &one);
    for source in sources {
        walker.from(*source, Kinds::RW);
    }
    let ring = walker.best.and_then(|walk| Ring::from_walk(graph, &walk));
    ring.map_or(Answer::None, Answer::Found)
}

/// Bits handed along dependencies.
struct Reach<'a> {
    graph: &'a Graph,
    dependencies: Kinds,
    parts: &'a Components,
    /// Nodes by part, the greatest part first, and where each part's begin.
    nodes: Vec<u32>,
    begins: Vec<u32>,
    /// For each part which of the targets lead to it.
    bits: Vec<u64>,
    steps: u64,
}

impl<'a> Reach<'a> {
    fn new(graph: &'a Graph, dependencies: Kinds, parts: &'a Components) -> Reach<'a> {
        let count = parts.of.iter().max().map_or(0, |most| *most as usize + 1);
        let mut nodes: Vec<u32> = (0..graph.nodes()).collect();
        nodes.sort_unstable_by_key(|node| std::cmp::Reverse(parts.of[*node as usize]));
        let mut begins = vec![0u32; count];
        for (place, node) in nodes.iter().enumerate().rev() {
            begins[parts.of[*node as usize] as usize] = place as u32;
        }
        Reach {
            graph,
            dependencies: dependencies.and(Kinds::ONWARD),
            parts,
            nodes,
            begins,
            bits: vec![0; count],
            steps: 0,
        }
    }

    /// The sources of those candidates whose target leads back to them. Of candidates, those of one target stand
    /// together, the greatest target first.
    fn closing(&mut self, candidates: &[Candidate]) -> Vec<u32> {
        let (Some(first), Some(end)) = (
            candidates.first().map(|candidate| candidate.to),
            candidates.iter().map(|candidate| candidate.from).min(),
        ) else {
            return Vec::new();
        };
        let mut bit = 0;
        let mut asked: Vec<(u64, Candidate)> = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            if asked.last().is_some_and(|(_, before)| before.to != candidate.to) {
                bit += 1;
            }
            self.bits[candidate.to as usize] |= 1 << bit;
            asked.push((1 << bit, *candidate));
        }
        self.hand_on(first, end);
        let mut sources: Vec<u32> = asked
            .iter()
            .filter(|(bit, candidate)| self.bits[candidate.from as usize] & bit != 0)
            .map(|(_, candidate)| candidate.source)
            .collect();
        sources.sort_unstable();
        sources.dedup();
        self.bits[..=first as usize].fill(0);
        sources
    }

    /// Hands bits along, from one part down to another.
    fn hand_on(&mut self, first: u32, end: u32) {
        let from = self.begins[first as usize] as usize;
        for node in &self.nodes[from..] {
            let part = self.parts.of[*node as usize];
            if part <= end {
                break;
            }
            let bits = self.bits[part as usize];
            if bits == 0 {
                continue;
            }
            for (target, kinds) in self.graph.edges(*node) {
                self.steps += 1;
                if kinds.meets(self.dependencies) {
                    self.bits[self.parts.of[target as usize] as usize] |= bits;
                }
            }
        }
        self.steps += u64::from(first - end) / 16;
    }
}
