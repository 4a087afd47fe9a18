//! Administrators, who change the voters (KIP-853), and what they must not do.
//!
//! Two of them, who do not know of each other, each ask whoever they believe to lead to add or
//! remove a voter; they may be told nothing, and ask again. What keeps a quorum alive is theirs to
//! see to, as it is a real administrator's, and no machine could: no set of voters that may be in
//! force, or come in force, has so many members gone for good that the rest is no majority. So
//! disks are lost only while no request is under way, and voters that are up are removed only while
//! none is gone.

use raft::{
    AddVoter, Body, CallId, DirectoryId, Nanos, NodeId, Refusal, RemoveVoter, ReplicaKey, Request, Voter,
    VoterSet,
};

use super::Application;
use super::disk::Disk;
use super::log::length;
use super::network::{Content, Packet};
use super::settings::{FaultKind, MILLISECOND, VOTERS_MAX};
use super::world::{Happening, World, node_id};
use crate::Random;

/// How many there are: two, so that two changes are asked for at once.
pub(super) const ADMINISTRATORS: usize = 2;

/// How long a leader may take to carry a change out.
const PATIENCE: Nanos = 300 * MILLISECOND;

/// One of them.
#[derive(Debug, Default)]
pub(super) struct Administrator {
    /// Whom it believes to lead.
    believed: usize,
    /// What it wants, until it is told that it is so, or cannot be.
    wish: Option<Request>,
    calls: u64,
}

impl<A: Application> World<A> {
    /// One of them looks at what there is to do, and asks for it.
    pub(super) fn administrate(&mut self, which: usize, again: bool) {
        if again {
            let pause = self.random.between(10, 250) * MILLISECOND;
            self.schedule(pause, Happening::Administrator(which, true));
        }
        if !self.chaotic {
            return;
        }
        let wish = self.administrators[which].wish.take();
        let retried = wish.filter(|_| self.random.per_mille(700));
        let Some(wish) = retried.or_else(|| self.choose_change()) else {
            return;
        };
        if self.harms(&wish) {
            return;
        }
        if self.random.per_mille(300) {
            self.administrators[which].believed = self.random.index(self.nodes.len());
        }
        let own = &mut self.administrators[which];
        own.calls += 1;
        own.wish = Some(wish.clone());
        let packet = Packet {
            from: self.nodes.len() + which,
            to: own.believed,
            incarnation: 0,
            call: CallId(own.calls),
            callee: node_id(own.believed),
            content: Content::Request(wish, None),
        };
        self.post(packet);
    }

    /// All of them look at once, and ask that node.
    pub(super) fn call_administrators(&mut self, leader: usize) {
        for (which, own) in self.administrators.iter_mut().enumerate() {
            own.believed = leader;
            own.wish = None;
            self.queue
                .push(self.now + MILLISECOND, Happening::Administrator(which, false));
        }
    }

    /// An answer, or the news that none will come.
    pub(super) fn answer_administrator(&mut self, which: usize, answer: Content<A::Payload>) {
        let anyone = self.random.index(self.nodes.len());
        let own = &mut self.administrators[which];
        let Content::Response(response, _) = answer else {
            own.believed = anyone;
            return;
        };
        let leader = response.leader.map(|leader| length(i64::from(leader.0)));
        own.believed = leader.unwrap_or(anyone);
        match response.body {
            Body::Refused(Refusal::NotLeaderOrFollower | Refusal::RequestTimedOut) => {}
            _ => own.wish = None,
        }
    }

    /// Something that makes sense, or not quite, given all that is known anywhere.
    fn choose_change(&mut self) -> Option<Request> {
        let sets = self.sets_in_play();
        let newest = sets.last()?.clone();
        let gone = newest.keys().find(|key| self.is_gone(*key));
        if let Some(key) = gone.filter(|_| self.random.per_mille(600)) {
            return Some(remove(key));
        }
        let at = self.random.index(self.nodes.len());
        let key = self.nodes[at].key(at);
        let votes = newest.contains(key);
        match self.random.index(20) {
            // A voter that there never was, or that votes already.
            0 => Some(remove(ReplicaKey {
                directory: Some(DirectoryId(u128::from(self.random.word()))),
                ..key
            })),
            1 if votes => Some(self.add(at, key)),
            // A folder that nobody has: it has fetched nothing, so it must not be let vote.
            2 if !votes && !newest.contains_id(key.id) => {
                let directory = Some(DirectoryId(u128::from(self.random.word())));
                Some(self.add(at, ReplicaKey { directory, ..key }))
            }
            _ if votes => Some(remove(key)),
            _ if newest.len() < VOTERS_MAX => Some(self.add(at, key)),
            _ => None,
        }
    }

    fn add(&mut self, at: usize, key: ReplicaKey) -> Request {
        Request::AddVoter(AddVoter {
            voter: Voter {
                key,
                ..self.nodes[at].as_voter(at)
            },
            timeout: PATIENCE,
            ack_when_committed: self.random.per_mille(700),
        })
    }

    /// Whether that could leave too few voters that live.
    fn harms(&self, request: &Request) -> bool {
        let Request::RemoveVoter(RemoveVoter { voter, .. }) = request else {
            return false;
        };
        if self.is_gone(*voter) {
            return false;
        }
        let sets = self.sets_in_play();
        let under_way = self.changes_under_way();
        sets.iter().any(|set| {
            let all_live = set.keys().all(|key| !self.is_gone(key));
            !all_live || set.len() <= under_way + 1
        })
    }

    /// Whether that voter will never come back: another has its place.
    fn is_gone(&self, key: ReplicaKey) -> bool {
        let at = length(i64::from(key.id.0));
        self.nodes.get(at).is_none_or(|node| node.key(at) != key)
    }

    /// Requests that have not come to an end: under way, or waiting at a leader.
    pub(super) fn changes_under_way(&self) -> usize {
        let nodes = self.nodes.len();
        let waiting = self.nodes.iter().flat_map(|node| node.asked.values());
        self.admin_packets + waiting.filter(|asked| asked.from >= nodes).count()
    }

    /// The sets of voters that are in force somewhere, or may come to be: the last that is known to
    /// be committed, and all that follow it in any log. The newest is the last.
    fn sets_in_play(&self) -> Vec<VoterSet> {
        let Some(committed) = &self.committed_voters else {
            return Vec::new();
        };
        let logs = self.nodes.iter().map(|node| &node.disk);
        let logs = logs.flat_map(|disk| [disk.log(), disk.durable_log()]);
        let changes = logs.flat_map(|log| log.changes().iter().rev());
        let mut later: Vec<_> = changes.filter(|at| at.offset > committed.offset).collect();
        later.sort_by_key(|at| at.offset);
        let later = later.into_iter().map(|at| at.voters.clone());
        std::iter::once(committed.voters.clone()).chain(later).collect()
    }

    /// Whether the quorum bears it that a node's disk is gone.
    pub(super) fn can_lose_disk(&self, at: usize) -> bool {
        if !self.settings.dynamic || self.changes_under_way() > 0 {
            return false;
        }
        let lost = self.nodes[at].key(at);
        let bears = |set: &VoterSet| {
            let gone = set.keys().filter(|key| *key == lost || self.is_gone(*key));
            set.len() >= gone.count() + set.majority()
        };
        self.sets_in_play().iter().all(bears)
    }

    /// A node loses its disk, and is formatted anew, without voters.
    pub(super) fn lose_disk(&mut self, at: usize, chance: &mut Random) {
        self.counts.disks_lost += 1;
        // Whoever wanted that folder to vote is told: a leader cannot know that it is gone.
        for administrator in &mut self.administrators {
            administrator.wish = None;
        }
        self.go_down(at, chance, |disk, chance| {
            let directory = DirectoryId(u128::from(chance.word()));
            *disk = Disk::new(Some((directory, VoterSet::default())));
        });
    }

    /// Administrators begin their work, where there is any.
    pub(super) fn begin_administration(&mut self) {
        let works = self.settings.dynamic && !self.settings.without.contains(&FaultKind::Administrator);
        for which in 0..if works { ADMINISTRATORS } else { 0 } {
            self.schedule(100 * MILLISECOND, Happening::Administrator(which, true));
        }
    }
}

fn remove(voter: ReplicaKey) -> Request {
    Request::RemoveVoter(RemoveVoter {
        voter,
        timeout: PATIENCE,
    })
}

/// The id by which nodes call an address whose owner they do not know yet.
pub(super) fn bootstrap_id(at: usize) -> NodeId {
    NodeId(-2 - i32::try_from(at).unwrap_or(0))
}

/// The place of the node that such an id, or a node's own, means.
pub(super) fn place_of(id: NodeId) -> usize {
    let place = if id.0 >= 0 { id.0 } else { -2 - id.0 };
    usize::try_from(place).unwrap_or(usize::MAX)
}
