//! The two roles of a replica, and the way between them.

use crate::fetch::{self, FetchCheck, FetchRefusal, FetchRequest};
use crate::follower::Follower;
use crate::leader::{self, Effects, Leader, Now};
use crate::metadata::{Brokers, Partition, Settings};
use crate::view::LogView;

/// What new metadata made of a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Transition {
    /// It was older than what is known, or the same.
    Stale,
    /// It leads, in a new leader epoch. Before anyone is served, the log's epoch cache must be told
    /// that `leader_epoch` begins at `start_offset`, durably; all that waits for an older epoch fails
    /// with NOT_LEADER_OR_FOLLOWER.
    BecameLeader {
        /// The epoch.
        leader_epoch: i32,
        /// The log's end.
        start_offset: i64,
        /// The high watermark may have moved.
        effects: Effects,
    },
    /// It follows, in a new leader epoch: begin fetching (or stop, if there is no leader). All that
    /// waits for an older epoch fails with NOT_LEADER_OR_FOLLOWER.
    BecameFollower {
        /// The leader, if there is one.
        leader: Option<i32>,
        /// The epoch.
        leader_epoch: i32,
    },
    /// Same role, same leader epoch, newer partition epoch.
    Updated(Effects),
}

#[derive(Debug, Clone)]
enum Role {
    /// No metadata has arrived yet.
    Unknown {
        high_watermark: i64,
    },
    Leader(Leader),
    Follower(Follower),
}

/// A replica of a partition.
#[derive(Debug, Clone)]
pub struct Replica {
    id: i32,
    broker_epoch: i64,
    settings: Settings,
    role: Role,
    /// Proposals are numbered through all terms of a replica, so that no late answer fits a new one.
    next_proposal: u64,
}

impl Replica {
    /// A replica on broker `id`, registered with `broker_epoch`, that has heard nothing yet, with the
    /// high watermark of its checkpoint (clamped to its log).
    pub fn new(id: i32, broker_epoch: i64, settings: Settings, high_watermark: i64) -> Self {
        Self {
            id,
            broker_epoch,
            settings,
            role: Role::Unknown { high_watermark },
            next_proposal: 0,
        }
    }

    /// Metadata about the partition arrived. `now.log_end` counts only for the high watermark; the epoch
    /// begins at the end of `log`.
    pub fn metadata(
        &mut self,
        partition: &Partition,
        log: &impl LogView,
        now: Now<'_, impl Brokers>,
    ) -> Transition {
        let new_leader_epoch = partition.leader_epoch > self.leader_epoch();
        let new_partition_epoch = partition.partition_epoch > self.partition_epoch();
        if partition.leader_epoch < self.leader_epoch() || !(new_leader_epoch || new_partition_epoch) {
            return Transition::Stale;
        }
        match &mut self.role {
            Role::Leader(leader) if !new_leader_epoch => Transition::Updated(leader.update(partition, &now)),
            Role::Follower(follower) if !new_leader_epoch => {
                follower.update(partition);
                Transition::Updated(Effects::default())
            }
            _ if partition.leader == Some(self.id) => self.lead(partition, log, &now),
            _ => self.follow(partition),
        }
    }

    fn lead(&mut self, partition: &Partition, log: &impl LogView, now: &Now<'_, impl Brokers>) -> Transition {
        self.retire();
        let start_offset = log.end_offset();
        let mut leader = Leader::new(
            leader::Identity {
                id: self.id,
                broker_epoch: self.broker_epoch,
            },
            self.settings,
            partition,
            leader::Start {
                high_watermark: self.high_watermark(),
                log_end: start_offset,
                now_ms: now.ms,
            },
            self.next_proposal,
        );
        // A partition with one replica has nobody to wait for.
        let effects = leader.appended(*now);
        self.role = Role::Leader(leader);
        Transition::BecameLeader {
            leader_epoch: partition.leader_epoch,
            start_offset,
            effects,
        }
    }

    fn follow(&mut self, partition: &Partition) -> Transition {
        self.retire();
        self.role = Role::Follower(Follower::new(partition, self.high_watermark()));
        Transition::BecameFollower {
            leader: partition.leader,
            leader_epoch: partition.leader_epoch,
        }
    }

    /// Ends a term as leader.
    fn retire(&mut self) {
        if let Role::Leader(leader) = &self.role {
            self.next_proposal = leader.next_proposal();
        }
    }

    /// The topic's settings changed. What follows from that shows with the next event.
    pub fn set_settings(&mut self, settings: Settings) {
        self.settings = settings;
        if let Role::Leader(leader) = &mut self.role {
            leader.set_settings(settings);
        }
    }

    /// The broker registered anew in the same process.
    pub fn set_broker_epoch(&mut self, broker_epoch: i64) {
        self.broker_epoch = broker_epoch;
        if let Role::Leader(leader) = &mut self.role {
            leader.set_broker_epoch(broker_epoch);
        }
    }

    /// The high watermark, for the checkpoint.
    pub fn high_watermark(&self) -> i64 {
        match &self.role {
            Role::Unknown { high_watermark } => *high_watermark,
            Role::Leader(leader) => leader.high_watermark(),
            Role::Follower(follower) => follower.high_watermark(),
        }
    }

    /// The latest leader epoch heard of; -1 if none.
    pub fn leader_epoch(&self) -> i32 {
        match &self.role {
            Role::Unknown { .. } => -1,
            Role::Leader(leader) => leader.leader_epoch(),
            Role::Follower(follower) => follower.leader_epoch(),
        }
    }

    /// The latest partition epoch heard of; -1 if none.
    pub fn partition_epoch(&self) -> i32 {
        match &self.role {
            Role::Unknown { .. } => -1,
            Role::Leader(leader) => leader.partition_epoch(),
            Role::Follower(follower) => follower.partition_epoch(),
        }
    }

    /// The role of a leader.
    pub fn leader(&self) -> Option<&Leader> {
        match &self.role {
            Role::Leader(leader) => Some(leader),
            _ => None,
        }
    }

    /// The role of a leader.
    pub fn leader_mut(&mut self) -> Option<&mut Leader> {
        match &mut self.role {
            Role::Leader(leader) => Some(leader),
            _ => None,
        }
    }

    /// The role of a follower.
    pub fn follower(&self) -> Option<&Follower> {
        match &self.role {
            Role::Follower(follower) => Some(follower),
            _ => None,
        }
    }

    /// The role of a follower.
    pub fn follower_mut(&mut self) -> Option<&mut Follower> {
        match &mut self.role {
            Role::Follower(follower) => Some(follower),
            _ => None,
        }
    }

    /// The leader's checks of a Fetch: is this the leader, of that epoch, and is the asker one of its
    /// replicas, in its present incarnation; then divergence and range.
    pub fn check_fetch(
        &self,
        request: &FetchRequest,
        log: &impl LogView,
        brokers: &impl Brokers,
    ) -> FetchCheck {
        if let Err(refusal) = fetch::check_leader_epoch(request.current_leader_epoch, self.leader_epoch()) {
            return FetchCheck::Refused(refusal);
        }
        let Some(leader) = self.leader() else {
            return FetchCheck::Refused(FetchRefusal::NotLeaderOrFollower);
        };
        if let Some(follower) = request.follower {
            if !leader.has_replica(follower.replica) {
                return FetchCheck::Refused(FetchRefusal::UnknownLeaderEpoch);
            }
            if leader::is_stale(follower.broker_epoch, follower.replica, brokers) {
                return FetchCheck::Refused(FetchRefusal::NotLeaderOrFollower);
            }
        }
        fetch::check_log(request, log)
    }

    /// Up to which offset records may be returned: a follower reads to the log's end, a consumer to the
    /// high watermark.
    pub fn fetch_bound(&self, request: &FetchRequest, log: &impl LogView) -> i64 {
        if request.follower.is_some() {
            log.end_offset()
        } else {
            self.high_watermark()
        }
    }
}
