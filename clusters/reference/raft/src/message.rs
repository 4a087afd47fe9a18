//! What nodes say to each other, stripped of all that the driver sees to.

use crate::{Epoch, EpochEnd, Nanos, NodeId, Offset};

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
}

/// A request for a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VoteRequest {
    /// Only asks what the answer would be: nothing is promised, no epoch is used up.
    pub pre_vote: bool,
    /// The candidate's epoch; for a pre-vote the present one, not the one it would stand in.
    pub epoch: Epoch,
    /// Who asks.
    pub candidate: NodeId,
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
    pub preferred_successors: Vec<NodeId>,
}

/// A request for records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchRequest {
    /// Who fetches; none for a mere reader, who never counts towards anything.
    pub replica: Option<NodeId>,
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
    /// Records, perhaps none.
    Records(R),
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// Its first record's offset.
    pub base_offset: Offset,
    /// One past its last record's offset.
    pub end_offset: Offset,
    /// The epoch of the leader that wrote it.
    pub epoch: Epoch,
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
}
