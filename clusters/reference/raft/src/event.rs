//! What goes into the machine, and what comes out.

use std::fmt;

use crate::{
    Batch, CallId, Epoch, NodeId, Offset, QuorumState, ReadRange, ReplicaKey, Request, RequestId, Response,
    SnapshotId, Standing, VoterSet,
};

/// What happened. Appending as leader is [`crate::Raft::append`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Time has passed.
    Tick,
    /// A peer asks. It is answered by one [`Action::Reply`] with this id, perhaps later.
    Request {
        /// The driver's name for it.
        id: RequestId,
        /// What is asked.
        request: Request,
    },
    /// A peer answered a call.
    Response {
        /// Who answered.
        from: NodeId,
        /// The call's id.
        call: CallId,
        /// The answer; its batches' bytes stay with the driver until this event's actions are done.
        response: Response<Vec<Batch>>,
    },
    /// A call has surely failed (no connection, or it broke): no answer will come. Optional, since
    /// calls time out anyway, but it makes retries prompt.
    CallFailed {
        /// Who was called.
        to: NodeId,
        /// The call's id.
        call: CallId,
    },
    /// The log is synced as far as this ticket.
    Synced(SyncTicket),
    /// A snapshot of the state, as [`crate::Raft::snapshot_at`] named it, is on disk. The driver
    /// drops the log below `log_start` after this event, and not before; it may keep some of what
    /// the snapshot covers for followers that are a little behind.
    SnapshotTaken {
        /// Which.
        snapshot: SnapshotId,
        /// Where the log is to begin: at a batch's start, at the snapshot's end at the latest.
        log_start: Offset,
    },
    /// [`Action::InstallSnapshot`] is done: the snapshot is whole and on disk, the log is empty
    /// and begins at its end, the state is the snapshot's.
    SnapshotInstalled {
        /// Which.
        snapshot: SnapshotId,
        /// The voters that it names; none where voters are fixed.
        voters: Option<VoterSet>,
    },
    /// [`Action::InstallSnapshot`] cannot be done: what was fetched is not a snapshot. It is gone.
    SnapshotRefused(SnapshotId),
    /// Lead no longer, if leading (an orderly shutdown, or a controller that cannot go on).
    Resign,
}

/// What the driver must do, in order. See the crate's head for the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Make this the quorum state on disk, before anything else is done.
    Persist(QuorumState),
    /// Role, epoch or leader changed. For the driver's own ends; it follows the Persist.
    Standing(Standing),
    /// Write a LeaderChange control batch: of one record, or of three where it names voters.
    AppendLeaderChange(LeaderChange),
    /// Write a control batch of one VotersRecord.
    AppendVoters {
        /// The record's offset.
        base_offset: Offset,
        /// The batch's epoch.
        epoch: Epoch,
        /// Who votes from now on.
        voters: VoterSet,
    },
    /// Write the batch that [`crate::Raft::append`] was called for.
    Append {
        /// The batch's first offset.
        base_offset: Offset,
        /// The batch's epoch.
        epoch: Epoch,
    },
    /// Write the first so many batches of the response being handled.
    AppendFetched {
        /// How many.
        batches: usize,
    },
    /// Drop all records at and beyond this offset.
    Truncate {
        /// The log's new end.
        end_offset: Offset,
    },
    /// Sync the log, truncations included, and then hand the ticket back.
    Sync(SyncTicket),
    /// Write the bytes of the response being handled into the snapshot being fetched, at that
    /// position; at 0 a new file is begun.
    WriteSnapshotPart {
        /// Which.
        snapshot: SnapshotId,
        /// Where.
        position: u64,
    },
    /// All of the snapshot is there. Sync it, check it, and put it in the place of the log and of
    /// the state; then hand in [`Event::SnapshotInstalled`] or [`Event::SnapshotRefused`]. Nothing
    /// is fetched meanwhile.
    InstallSnapshot(SnapshotId),
    /// Drop what has been fetched of a snapshot.
    AbandonSnapshot(SnapshotId),
    /// Records below this offset are committed: apply them.
    Commit {
        /// The new high watermark.
        high_watermark: Offset,
    },
    /// Call a peer.
    Send {
        /// Whom.
        to: NodeId,
        /// To be handed back with the response.
        call: CallId,
        /// What to ask.
        request: Request,
    },
    /// Answer a request.
    Reply {
        /// Which.
        to: RequestId,
        /// The answer; the driver fills in the records.
        response: Response<ReadRange>,
    },
    /// A rule that must never break would break: stop the node, lose nothing, tell the operator.
    Fatal(Fatal),
}

/// What the LeaderChange record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderChange {
    /// The record's offset.
    pub base_offset: Offset,
    /// The new epoch.
    pub epoch: Epoch,
    /// The new leader.
    pub leader: NodeId,
    /// All who vote.
    pub voters: Vec<ReplicaKey>,
    /// Those whose votes it was elected by, itself included.
    pub granting_voters: Vec<ReplicaKey>,
    /// Where the voters are known from formatting only: a KRaftVersionRecord (level 1) and a
    /// VotersRecord of these follow in the same batch, so that the log names them (KIP-853).
    pub voter_set: Option<VoterSet>,
}

/// Names a state of the log that is to be synced. A ticket given out before a truncation says
/// nothing about what was written after it, and is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncTicket {
    pub(crate) generation: u64,
    pub(crate) end_offset: Offset,
}

impl SyncTicket {
    /// How far the log is to be synced.
    pub fn end_offset(self) -> Offset {
        self.end_offset
    }
}

/// Why the machine gave up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fatal {
    /// The leader's log lacks what this node knows to be committed.
    TruncationBelowHighWatermark {
        /// The leader that asked for it.
        leader: NodeId,
        /// Its epoch.
        epoch: Epoch,
        /// Where the logs part.
        end_offset: Offset,
        /// What this node knows to be committed.
        high_watermark: Offset,
    },
    /// The largest epoch there is has been used.
    EpochsExhausted,
}

impl fmt::Display for Fatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TruncationBelowHighWatermark {
                leader,
                epoch,
                end_offset,
                high_watermark,
            } => write!(
                f,
                "leader {leader} of epoch {epoch} parts from this log at offset {end_offset}, but \
                 all below {high_watermark} is committed: a quorum member lost its log or its \
                 vote; stop the quorum and compare the members' logs"
            ),
            Self::EpochsExhausted => write!(
                f,
                "no epoch is left to stand for election in: some peer made up a huge epoch"
            ),
        }
    }
}
