//! A broker: what its disk keeps, and what its process knows.

use controller::{Config, Controller};
use raft::Nanos;

use super::log::Entry;
use super::message::Origin;

/// A broker over all its lives.
#[derive(Debug)]
pub(super) struct Broker {
    pub(super) node: usize,
    /// Counts its lives.
    pub(super) life: u64,
    /// The epoch in its clean-shutdown file.
    pub(super) clean_shutdown: Option<i64>,
    pub(super) logs: Vec<Vec<Entry>>,
    /// The high watermarks, as last written down.
    pub(super) high_watermarks: Vec<usize>,
    pub(super) process: Option<Process>,
}

/// A life.
#[derive(Debug)]
pub(super) struct Process {
    /// The clean-shutdown file's epoch, read and deleted at the start.
    pub(super) previous_epoch: i64,
    pub(super) epoch: Option<i64>,
    /// What it has learnt of the metadata.
    pub(super) metadata: Controller,
    pub(super) applied: i64,
    /// The quorum's leader, as far as it knows.
    pub(super) controller: Option<usize>,
    pub(super) stopping: Stopping,
    pub(super) replicas: Vec<Replica>,
    pub(super) next_fetch: u64,
}

/// On the way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopping {
    No,
    Asked,
    Granted,
}

/// A replica's part in its partition, with the metadata that gave it.
#[derive(Debug)]
pub(super) struct Replica {
    pub(super) leader_epoch: i32,
    pub(super) partition_epoch: i32,
    pub(super) role: Role,
}

/// What it does.
#[derive(Debug)]
pub(super) enum Role {
    /// Nothing: it has no part, or the broker has not seen its own registration yet.
    None,
    Follower(Following),
    Leader(Leading),
}

/// Fetching from a leader.
#[derive(Debug)]
pub(super) struct Following {
    pub(super) leader: i32,
    /// The fetch under way, and when it is given up.
    pub(super) waiting: Option<(u64, Nanos)>,
}

/// Leading.
#[derive(Debug)]
pub(super) struct Leading {
    pub(super) start: usize,
    pub(super) isr: Vec<i32>,
    /// The ISR proposed and not answered yet, and when it was last proposed.
    pub(super) proposed: Option<(Vec<(i32, i64)>, Nanos)>,
    pub(super) followers: Vec<Follower>,
    /// Records whose clients wait: offset, record, when it was sent.
    pub(super) waiting: Vec<(usize, Entry, Nanos)>,
    pub(super) recovering: bool,
}

/// A leader's view of a follower.
#[derive(Debug, Clone, Copy)]
pub(super) struct Follower {
    pub(super) id: i32,
    pub(super) end: Option<usize>,
    pub(super) broker_epoch: i64,
    pub(super) caught_up_at: Nanos,
}

impl Broker {
    pub(super) fn new(node: usize, partitions: usize) -> Self {
        Self {
            node,
            life: 0,
            clean_shutdown: None,
            logs: vec![Vec::new(); partitions],
            high_watermarks: vec![0; partitions],
            process: None,
        }
    }

    pub(super) fn id(&self) -> i32 {
        i32::try_from(self.node).unwrap_or(i32::MAX)
    }

    pub(super) fn origin(&self) -> Origin {
        Origin {
            broker: self.node,
            life: self.life,
        }
    }

    pub(super) fn start(&mut self, config: Config) {
        self.life += 1;
        let replicas = self.logs.iter().map(|_| Replica::idle()).collect();
        self.process = Some(Process {
            previous_epoch: self.clean_shutdown.take().unwrap_or(-1),
            epoch: None,
            metadata: Controller::new(config),
            applied: 0,
            controller: None,
            stopping: Stopping::No,
            replicas,
            next_fetch: 0,
        });
    }
}

impl Process {
    /// Whether it has seen its own registration: what it knew before that is of an earlier life.
    pub(super) fn sees_itself(&self, id: i32) -> bool {
        let registered = self.metadata.image().brokers().get(&id);
        self.epoch.is_some() && registered.map(|broker| broker.epoch) == self.epoch
    }
}

impl Replica {
    pub(super) fn idle() -> Self {
        Self {
            leader_epoch: -1,
            partition_epoch: -1,
            role: Role::None,
        }
    }
}

impl Leading {
    /// The committed ISR, and whoever may be in it by now.
    pub(super) fn maximal_isr(&self) -> Vec<i32> {
        let mut isr = self.isr.clone();
        for (id, _) in self.proposed.iter().flat_map(|(proposed, _)| proposed) {
            if !isr.contains(id) {
                isr.push(*id);
            }
        }
        isr
    }
}
