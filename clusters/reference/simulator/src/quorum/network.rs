//! The network: what is under way, and how badly it treats it.

use raft::{Batch, CallId, Nanos, NodeId, ReplicaKey, Request, Response};

use super::disk::Snapshot;
use super::log::Record;
use super::settings::MILLISECOND;
use crate::Random;

/// A message under way, between two places: nodes, and then administrators.
#[derive(Debug, Clone)]
pub(super) struct Packet<P> {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The incarnation of the node that called.
    pub(super) incarnation: u64,
    pub(super) call: CallId,
    /// By which id the caller knows the node that it called.
    pub(super) callee: NodeId,
    pub(super) content: Content<P>,
}

/// What it says.
#[derive(Debug, Clone)]
pub(super) enum Content<P> {
    /// A request, and which voter it is for, where the caller's voters say that.
    Request(Request, Option<ReplicaKey>),
    Response(Response<Vec<Batch>>, Cargo<P>),
    /// The connection broke: what the caller's side notices.
    Broken,
}

/// The bytes of an answer, which the machine does not see.
#[derive(Debug, Clone)]
pub(super) struct Cargo<P> {
    pub(super) records: Vec<Record<P>>,
    pub(super) slice: Option<Slice>,
}

impl<P> Cargo<P> {
    pub(super) fn none() -> Self {
        Self {
            records: Vec::new(),
            slice: None,
        }
    }
}

/// A piece of a snapshot, which knows the whole that it is from.
#[derive(Debug, Clone)]
pub(super) struct Slice {
    pub(super) snapshot: Snapshot,
    pub(super) length: u64,
    pub(super) damaged: bool,
}

/// How messages fare at present.
#[derive(Debug, Clone)]
pub(super) struct Network {
    places: usize,
    blocked: Vec<bool>,
    drop_per_mille: u64,
    duplicate_per_mille: u64,
    slowest: Nanos,
}

impl Network {
    pub(super) fn new(places: usize) -> Self {
        let mut network = Self {
            places,
            blocked: Vec::new(),
            drop_per_mille: 0,
            duplicate_per_mille: 0,
            slowest: 0,
        };
        network.heal();
        network
    }

    /// Everything arrives, within a few milliseconds.
    pub(super) fn heal(&mut self) {
        self.blocked.clear();
        self.blocked.resize(self.places * self.places, false);
        self.drop_per_mille = 0;
        self.duplicate_per_mille = 0;
        self.slowest = 5 * MILLISECOND;
    }

    /// Another mixture of losses, duplicates and delays, up to beyond the request time-out.
    pub(super) fn degrade(&mut self, random: &mut Random) {
        self.drop_per_mille = [0, 20, 100, 300][random.index(4)];
        self.duplicate_per_mille = [0, 50, 200][random.index(3)];
        self.slowest = [3, 10, 30, 90][random.index(4)] * MILLISECOND;
    }

    /// Cuts some links, on top of those that are cut already.
    pub(super) fn part(&mut self, random: &mut Random) {
        let one = random.index(self.places);
        let sides: Vec<_> = (0..self.places).map(|_| random.per_mille(500)).collect();
        match random.index(9) {
            // One direction of one link.
            0 => {
                let other = random.index(self.places);
                self.block(one, other);
            }
            // One node, wholly; or all that it says; or all that it is told.
            1 => self.block_where(|from, to| (from == one) != (to == one)),
            2 => self.block_where(|from, _| from == one),
            3 => self.block_where(|_, to| to == one),
            // Two sides; or only from one to the other.
            4 | 5 => self.block_where(|from, to| sides[from] != sides[to]),
            6 => self.block_where(|from, to| sides[from] && !sides[to]),
            // Two sides, and one node that both can talk to.
            7 => self.block_where(|from, to| sides[from] != sides[to] && from != one && to != one),
            // A majority that all hear each other; whatever else, one link in two.
            _ => self.leave_a_majority(random),
        }
    }

    fn leave_a_majority(&mut self, random: &mut Random) {
        let mut order: Vec<_> = (0..self.places).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, random.index(last + 1));
        }
        let chosen = &order[..=self.places / 2];
        for from in 0..self.places {
            for to in 0..self.places {
                let both = chosen.contains(&from) && chosen.contains(&to);
                if !both && random.per_mille(500) {
                    self.block(from, to);
                }
            }
        }
    }

    pub(super) fn block_where(&mut self, cut: impl Fn(usize, usize) -> bool) {
        for from in 0..self.places {
            for to in 0..self.places {
                if cut(from, to) {
                    self.block(from, to);
                }
            }
        }
    }

    /// A node always reaches itself.
    pub(super) fn block(&mut self, from: usize, to: usize) {
        self.blocked[from * self.places + to] = from != to;
    }

    pub(super) fn carries(&self, from: usize, to: usize) -> bool {
        !self.blocked[from * self.places + to]
    }

    pub(super) fn loses(&self, random: &mut Random) -> bool {
        random.per_mille(self.drop_per_mille)
    }

    pub(super) fn duplicates(&self, random: &mut Random) -> bool {
        random.per_mille(self.duplicate_per_mille)
    }

    /// Mostly fast, sometimes as slow as it gets: so messages overtake each other.
    pub(super) fn delay(&self, random: &mut Random) -> Nanos {
        let most = if random.per_mille(800) {
            2 * MILLISECOND
        } else {
            self.slowest
        };
        MILLISECOND / 10 + random.below(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_cut_one_way_until_they_heal_and_a_node_reaches_itself() {
        let (mut one_way, mut random) = (false, Random::new(5));
        let mut network = Network::new(4);
        for _ in 0..50 {
            network.part(&mut random);
            for from in 0..4 {
                assert!(network.carries(from, from));
                one_way |= (0..4).any(|to| network.carries(from, to) != network.carries(to, from));
            }
            network.heal();
            assert!((0..16).all(|link| network.carries(link / 4, link % 4)));
        }
        assert!(one_way);
    }

    #[test]
    fn a_majority_may_be_left_whole() {
        for seed in 0..50 {
            let mut network = Network::new(5);
            network.leave_a_majority(&mut Random::new(seed));
            let whole = |set: u32| {
                let members = || (0..5).filter(move |node| set & (1 << node) != 0);
                members().all(|from| members().all(|to| network.carries(from, to)))
            };
            assert!((0..32_u32).any(|set| set.count_ones() >= 3 && whole(set)));
        }
    }
}
