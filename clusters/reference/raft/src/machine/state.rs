//! What each role remembers besides the quorum state and the log.

use crate::{Epoch, Nanos, NodeId, Offset, ReplicaKey, RequestId, SnapshotId};

/// The states of KRaft.
#[derive(Debug, Clone)]
pub(super) enum State {
    /// Follows nobody. A voter calls for an election at that time; an observer never does.
    Unattached { election_at: Option<Nanos> },
    /// Asks whether it could win, without using up an epoch.
    Prospective(Election),
    /// Stands for election in an epoch of its own.
    Candidate(Election),
    /// Leads.
    Leader(Leadership),
    /// Fetches from a leader.
    Follower(Following),
    /// Led this epoch once, and never will again.
    Resigned(Resignation),
}

/// A poll, binding or not.
#[derive(Debug, Clone)]
pub(super) struct Election {
    pub(super) deadline: Nanos,
    pub(super) granted: Vec<ReplicaKey>,
    pub(super) rejected: usize,
}

/// A follower's view of its leader.
#[derive(Debug, Clone)]
pub(super) struct Following {
    pub(super) leader: NodeId,
    /// Without a successful Fetch until then, the leader counts as lost.
    pub(super) deadline: Nanos,
    /// Whether a Fetch from this leader has succeeded, and the leader has not resigned since.
    pub(super) fetched: bool,
    /// The snapshot that is being fetched from it.
    pub(super) download: Option<Download>,
    /// When the leader is to be told (again) where this voter is, if the log says otherwise.
    pub(super) update_at: Nanos,
    /// A bug's memory: the leader said that the logs part, and nothing was cut.
    pub(super) ignores_divergence: bool,
}

/// A snapshot on its way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Download {
    pub(super) snapshot: SnapshotId,
    pub(super) position: u64,
}

/// After leading.
#[derive(Debug, Clone)]
pub(super) struct Resignation {
    pub(super) election_at: Nanos,
    pub(super) preferred_successors: Vec<ReplicaKey>,
}

/// A leader's view of its epoch.
#[derive(Debug, Clone)]
pub(super) struct Leadership {
    /// The offset of the LeaderChange record.
    pub(super) epoch_start: Offset,
    /// None until a record of this epoch is committed.
    pub(super) high_watermark: Option<Offset>,
    pub(super) followers: Vec<FollowingVoter>,
    pub(super) observers: Vec<ReplicaProgress>,
    /// Changes of voters that are not committed yet; one at a time (KIP-853).
    pub(super) changes: Vec<VoterChange>,
}

/// A change of voters on its way.
#[derive(Debug, Clone, Copy)]
pub(super) struct VoterChange {
    /// The VotersRecord's offset.
    pub(super) offset: Offset,
    /// Who waits to hear of it, and until when.
    pub(super) waiting: Option<(RequestId, Nanos)>,
}

/// A leader's view of another voter.
#[derive(Debug, Clone)]
pub(super) struct FollowingVoter {
    pub(super) progress: ReplicaProgress,
    /// When it was last known to hear this leader, or the epoch's start.
    pub(super) contact: Nanos,
    /// From where it was last told something: one that asks from there again has not heard it.
    pub(super) told_from: Option<Offset>,
    pub(super) announced: Option<Nanos>,
}

/// How far a replica is known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaProgress {
    /// The replica.
    pub key: ReplicaKey,
    /// The end of its log, as far as it is known to agree with the leader's.
    pub end_offset: Option<Offset>,
    /// When it last fetched from this leader.
    pub last_fetch: Option<Nanos>,
    /// When it last had all that the leader had.
    pub last_caught_up: Option<Nanos>,
    /// The leader's log end at its last fetch.
    pub(super) end_at_last_fetch: Offset,
}

impl ReplicaProgress {
    pub(super) fn new(key: ReplicaKey) -> Self {
        Self {
            key,
            end_offset: None,
            last_fetch: None,
            last_caught_up: None,
            end_at_last_fetch: Offset::MAX,
        }
    }

    /// Whether this is that replica: a voter without a folder is whoever has its id.
    pub(super) fn is_of(&self, key: ReplicaKey) -> bool {
        self.key.id == key.id && (self.key.directory.is_none() || self.key == key)
    }

    /// Notes a Fetch that asks for `offset`, its replica having all below.
    pub(super) fn note(&mut self, now: Nanos, offset: Offset, leader_end: Offset) {
        if offset >= leader_end {
            self.last_caught_up = Some(now);
        } else if offset >= self.end_at_last_fetch {
            self.last_caught_up = self.last_fetch;
        }
        self.end_offset = Some(offset);
        self.last_fetch = Some(now);
        self.end_at_last_fetch = leader_end;
    }
}

/// A node's part in its quorum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Knows no leader, or has just voted.
    Unattached,
    /// Asks whether it could win an election.
    Prospective,
    /// Stands for election.
    Candidate,
    /// Leads.
    Leader,
    /// Follows.
    Follower,
    /// Has led this epoch, and gave it up.
    Resigned,
}

/// Role, epoch and leader together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The epoch.
    pub epoch: Epoch,
    /// The role in it.
    pub role: Role,
    /// Its leader, if one is known that has not resigned.
    pub leader: Option<NodeId>,
}

impl State {
    pub(super) fn role(&self) -> Role {
        match self {
            Self::Unattached { .. } => Role::Unattached,
            Self::Prospective(_) => Role::Prospective,
            Self::Candidate(_) => Role::Candidate,
            Self::Leader(_) => Role::Leader,
            Self::Follower(_) => Role::Follower,
            Self::Resigned(_) => Role::Resigned,
        }
    }
}
