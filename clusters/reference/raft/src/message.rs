//! What nodes say to each other, stripped of all that the driver sees to.

use crate::{Epoch, EpochEnd, Nanos, NodeId, Offset, ReplicaKey, SnapshotId, Voter, VotersAt};

/// A request, to a peer or from one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// "Would you vote for me?", or "vote for me".
    Vote(VoteRequest),
    /// "I lead; fetch from me."
    BeginQuorumEpoch(BeginQuorumEpoch),
    /// "I lead no longer."
    EndQuorumEpoch(EndQuorumEpoch),
    /// "Give me what follows, and take what precedes as mine."
    Fetch(FetchRequest),
    /// "Give me a piece of that snapshot."
    FetchSnapshot(FetchSnapshotRequest),
    /// "Let this one vote."
    AddVoter(AddVoter),
    /// "Let this one vote no more."
    RemoveVoter(RemoveVoter),
    /// "I vote; this is where I am now."
    UpdateVoter(UpdateVoter),
}

/// A request for a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VoteRequest {
    /// Only asks what the answer would be: nothing is promised, no epoch is used up.
    pub pre_vote: bool,
    /// The candidate's epoch; for a pre-vote the present one, not the one it would stand in.
    pub epoch: Epoch,
    /// Who asks.
    pub candidate: ReplicaKey,
    /// The epoch of the candidate's last record; 0 for an empty log.
    pub last_epoch: Epoch,
    /// The end offset of the candidate's log.
    pub last_offset: Offset,
}

/// The leader's announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeginQuorumEpoch {
    /// The leader's epoch.
    pub epoch: Epoch,
    /// The leader.
    pub leader: NodeId,
}

/// The leader's farewell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndQuorumEpoch {
    /// The epoch that is over.
    pub epoch: Epoch,
    /// Who led it.
    pub leader: NodeId,
    /// The other voters, longest log first: the first stands at once, the others hold back.
    pub preferred_successors: Vec<ReplicaKey>,
}

/// A request for records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchRequest {
    /// Who fetches; none for a mere reader, who never counts towards anything.
    pub replica: Option<ReplicaKey>,
    /// The epoch the fetcher is in; none for a reader that does not say.
    pub epoch: Option<Epoch>,
    /// The first offset wanted. A voter has synced all below it.
    pub fetch_offset: Offset,
    /// The epoch of the record before that offset, 0 for an empty log; none for a reader that
    /// does not say, whose log is not checked.
    pub last_fetched_epoch: Option<Epoch>,
    /// The high watermark the fetcher knows; none when it knows none yet. A leader that knows a
    /// higher one answers at once. `Offset::MAX` for a fetcher that does not want that.
    pub high_watermark: Option<Offset>,
    /// How long the answer may be held back while there is nothing to say.
    pub max_wait: Nanos,
}

/// A request for a piece of a snapshot (KIP-630).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchSnapshotRequest {
    /// Who fetches; none for a mere reader.
    pub replica: Option<ReplicaKey>,
    /// The epoch the fetcher is in; none for a reader that does not say.
    pub epoch: Option<Epoch>,
    /// Which snapshot.
    pub snapshot: SnapshotId,
    /// The first byte wanted.
    pub position: u64,
}

/// A wish to let someone vote (KIP-853, AddRaftVoter). It must be fetching as an observer already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddVoter {
    /// Who.
    pub voter: Voter,
    /// How long the answer may take.
    pub timeout: Nanos,
    /// Whether the answer waits for the change to be committed, or only to be appended.
    pub ack_when_committed: bool,
}

/// A wish to let someone vote no more (KIP-853, RemoveRaftVoter).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoveVoter {
    /// Who.
    pub voter: ReplicaKey,
    /// How long the answer may take.
    pub timeout: Nanos,
}

/// A voter's word on where it is (KIP-853, UpdateRaftVoter).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateVoter {
    /// The epoch it is in.
    pub epoch: Epoch,
    /// What the VotersRecord is to say of it.
    pub voter: Voter,
}

/// An answer. `R` is what stands for the records: [`ReadRange`] in an answer that the driver has
/// yet to fill, a list of [`Batch`]es in one that came from a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response<R> {
    /// The newest epoch the answering node knows.
    pub epoch: Epoch,
    /// That epoch's leader, if it knows one that still leads.
    pub leader: Option<NodeId>,
    /// The answer proper.
    pub body: Body<R>,
}

/// The part of an answer that depends on the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body<R> {
    /// To [`Request::Vote`].
    Vote {
        /// Whether the vote is (or, for a pre-vote, would be) given.
        granted: bool,
    },
    /// To [`Request::BeginQuorumEpoch`]: the answering node follows.
    BeginQuorumEpoch,
    /// To [`Request::EndQuorumEpoch`]: understood.
    EndQuorumEpoch,
    /// To [`Request::Fetch`].
    Fetch(FetchAnswer<R>),
    /// To [`Request::FetchSnapshot`].
    FetchSnapshot(SnapshotSlice),
    /// To [`Request::AddVoter`], [`Request::RemoveVoter`], [`Request::UpdateVoter`]: it is so.
    VotersChanged,
    /// To any: no, for this reason.
    Refused(Refusal),
}

/// The answer to a Fetch that the leader accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchAnswer<R> {
    /// The leader's high watermark; none until a record of its own epoch is committed.
    pub high_watermark: Option<Offset>,
    /// What the fetcher gets.
    pub fetched: Fetched<R>,
}

/// What a fetcher gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched<R> {
    /// Its log and the leader's part ways: the leader's log of the fetcher's last epoch, or of the
    /// nearest before it, ends here. Truncate, and ask again.
    Diverging(EpochEnd),
    /// The leader no longer has what follows; this snapshot has it.
    Snapshot(SnapshotId),
    /// Records, perhaps none.
    Records(R),
}

/// A piece of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotSlice {
    /// Which snapshot.
    pub snapshot: SnapshotId,
    /// Where the piece begins.
    pub position: u64,
    /// None in an answer that the driver has yet to fill; the driver refuses a position beyond the
    /// file itself ([`Refusal::PositionOutOfRange`]).
    pub filled: Option<FilledSlice>,
}

/// How much a piece of a snapshot holds, and of how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilledSlice {
    /// The whole snapshot's bytes.
    pub size: u64,
    /// The bytes in this piece.
    pub length: u64,
}

/// Which records go into a Fetch response: as many whole batches from `from` on as the fetcher's
/// limits in bytes allow, committed or not, but none at or beyond `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadRange {
    /// The first offset.
    pub from: Offset,
    /// The log's end; `from` again when there is nothing to read.
    pub end: Offset,
}

/// A record batch's place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Its first record's offset.
    pub base_offset: Offset,
    /// One past its last record's offset.
    pub end_offset: Offset,
    /// The epoch of the leader that wrote it.
    pub epoch: Epoch,
    /// The VotersRecord in it, if it has one.
    pub voters: Option<VotersAt>,
}

/// Why a request was refused. Named as Kafka's error codes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The request's epoch is over.
    FencedLeaderEpoch,
    /// The request's epoch is not known here yet.
    UnknownLeaderEpoch,
    /// Only a leader can answer.
    NotLeaderOrFollower,
    /// The request contradicts itself, or what is known for certain.
    InvalidRequest,
    /// One of the two does not vote here.
    InconsistentVoterSet,
    /// A reader asked for an offset beyond the log's end.
    OffsetOutOfRange,
    /// That snapshot is not here (any more).
    SnapshotNotFound,
    /// The snapshot is shorter than that.
    PositionOutOfRange,
    /// Its id votes already.
    DuplicateVoter,
    /// It does not vote.
    VoterNotFound,
    /// Not now: another change is under way, the leader has committed nothing yet, or the new
    /// voter is too far behind. Or it took too long.
    RequestTimedOut,
    /// Voters are fixed here (`kraft.version` 0), or the new voter cannot do what the quorum does.
    UnsupportedVersion,
}
