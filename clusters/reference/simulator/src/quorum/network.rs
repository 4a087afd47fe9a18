//! The network: what is under way, and how badly it treats it.

use raft::{Batch, CallId, Nanos, Request, Response};

use super::disk::Record;
use super::settings::MILLISECOND;
use crate::Random;

/// A message under way.
#[derive(Debug, Clone)]
pub(super) struct Packet<P> {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The incarnation of the node that called.
    pub(super) incarnation: u64,
    pub(super) call: CallId,
    pub(super) content: Content<P>,
}

/// What it says.
#[derive(Debug, Clone)]
pub(super) enum Content<P> {
    Request(Request),
    Response(Response<Vec<Batch>>, Vec<Record<P>>),
    /// The connection broke: what the caller's side notices.
    Broken,
}

/// How messages fare at present.
#[derive(Debug, Clone)]
pub(super) struct Network {
    nodes: usize,
    blocked: Vec<bool>,
    drop_per_mille: u64,
    duplicate_per_mille: u64,
    slowest: Nanos,
}

impl Network {
    pub(super) fn new(nodes: usize) -> Self {
        let mut network = Self {
            nodes,
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
        self.blocked = vec![false; self.nodes * self.nodes];
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

    /// Parts the nodes in two, or cuts off one, or cuts one direction of one link.
    pub(super) fn part(&mut self, random: &mut Random) {
        let (one, other) = (random.index(self.nodes), random.index(self.nodes));
        match random.index(4) {
            0 => self.block(one, other),
            1 => self.block_between(|node| node == one),
            _ => {
                let sides: Vec<_> = (0..self.nodes).map(|_| random.per_mille(500)).collect();
                self.block_between(|node| sides[node]);
            }
        }
    }

    fn block_between(&mut self, inside: impl Fn(usize) -> bool) {
        for from in 0..self.nodes {
            for to in 0..self.nodes {
                if inside(from) != inside(to) {
                    self.block(from, to);
                }
            }
        }
    }

    fn block(&mut self, from: usize, to: usize) {
        self.blocked[from * self.nodes + to] = true;
    }

    pub(super) fn carries(&self, from: usize, to: usize) -> bool {
        !self.blocked[from * self.nodes + to]
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
