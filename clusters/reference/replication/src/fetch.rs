//! The leader's checks of a Fetch, before anything is read or noted: is this replica the leader, in the
//! epoch that the asker believes in; does the asker's log agree with this one; is the offset there.

use crate::view::{EpochEnd, LogView};

/// What a Fetch says about one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchRequest {
    /// The follower that asks; `None` for a consumer.
    pub follower: Option<FollowerId>,
    /// The leader epoch that the asker believes in, if it says.
    pub current_leader_epoch: Option<i32>,
    /// The offset from which it wants to read.
    pub fetch_offset: i64,
    /// The epoch of the last record it has, if it says (Fetch 12 and later).
    pub last_fetched_epoch: Option<i32>,
}

/// Which follower asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowerId {
    /// Its broker.
    pub replica: i32,
    /// The broker epoch it names, -1 if none.
    pub broker_epoch: i64,
}

/// The outcome of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchCheck {
    /// The asker's log agrees up to the fetch offset: serve it, and note a follower's progress.
    Valid,
    /// The asker's log departs from this one: answer with `DivergingEpoch`, no records, and note
    /// nothing about the follower.
    Diverging(EpochEnd),
    /// Answer with an error.
    Refused(FetchRefusal),
}

/// Why a Fetch is refused. The names are those of the protocol's errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchRefusal {
    /// NOT_LEADER_OR_FOLLOWER: this replica does not lead; or the follower has registered anew since it
    /// sent the fetch.
    NotLeaderOrFollower,
    /// FENCED_LEADER_EPOCH: the asker's epoch is older than ours.
    FencedLeaderEpoch,
    /// UNKNOWN_LEADER_EPOCH: the asker knows of a later epoch than we do, or is a replica that we do
    /// not know of yet.
    UnknownLeaderEpoch,
    /// OFFSET_OUT_OF_RANGE: outside the log, or of an epoch that this log never had.
    OffsetOutOfRange,
}

/// The fencing by leader epoch, common to all requests that carry one.
///
/// # Errors
/// When the asker's epoch is not `leader_epoch`.
pub fn check_leader_epoch(asked: Option<i32>, leader_epoch: i32) -> Result<(), FetchRefusal> {
    match asked {
        Some(asked) if asked < leader_epoch => Err(FetchRefusal::FencedLeaderEpoch),
        Some(asked) if asked > leader_epoch => Err(FetchRefusal::UnknownLeaderEpoch),
        _ => Ok(()),
    }
}

/// Divergence, then range. The asker may stand anywhere from the log's start to its end, both included.
pub fn check_log(request: &FetchRequest, log: &impl LogView) -> FetchCheck {
    if let Some(asked) = request.last_fetched_epoch {
        let Some(end) = log.end_offset_for(asked) else {
            return FetchCheck::Refused(FetchRefusal::OffsetOutOfRange);
        };
        if end.leader_epoch < asked || end.end_offset < request.fetch_offset {
            return FetchCheck::Diverging(end);
        }
    }
    if (log.start_offset()..=log.end_offset()).contains(&request.fetch_offset) {
        FetchCheck::Valid
    } else {
        FetchCheck::Refused(FetchRefusal::OffsetOutOfRange)
    }
}
