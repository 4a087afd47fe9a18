//! Long polls: fetches that wait for something to say.

use super::Raft;
use super::state::State;
use crate::{Body, FetchRequest, Fetched, Nanos, Offset, ReadRange, Refusal, ReplicaKey, RequestId};

/// So many fetches wait at a time; the oldest is answered when one more comes. A replica has one
/// at most, so only mere readers can be that many.
const PARKED_MAX: usize = 1_000;

/// A Fetch that waits.
#[derive(Debug, Clone)]
pub(super) struct Parked {
    id: RequestId,
    replica: Option<ReplicaKey>,
    offset: Offset,
    known_high_watermark: Option<Offset>,
    until: Nanos,
}

impl Parked {
    pub(super) fn new(now: Nanos, id: RequestId, request: &FetchRequest) -> Self {
        Self {
            id,
            replica: request.replica,
            offset: request.fetch_offset,
            known_high_watermark: request.high_watermark,
            until: now.saturating_add(request.max_wait),
        }
    }
}

impl Raft {
    /// Parks a Fetch; it is answered at once if there is something to say already.
    pub(super) fn park(&mut self, fetch: Parked) {
        if self.parked.len() == PARKED_MAX {
            let oldest = self.parked.remove(0);
            self.answer(&oldest);
        }
        self.parked.push(fetch);
    }

    /// A replica that fetches again no longer waits for its last Fetch.
    pub(super) fn unpark(&mut self, replica: ReplicaKey) {
        if let Some(at) = self
            .parked
            .iter()
            .position(|fetch| fetch.replica == Some(replica))
        {
            let fetch = self.parked.remove(at);
            self.answer(&fetch);
        }
    }

    /// Answers all for which there are records, a higher high watermark, or no time left.
    pub(super) fn answer_parked(&mut self, now: Nanos) {
        let State::Leader(leader) = &self.state else {
            return;
        };
        let (end, high_watermark) = (self.log.end(), leader.high_watermark);
        let ready = |fetch: &mut Parked| {
            fetch.offset < end || fetch.known_high_watermark < high_watermark || fetch.until <= now
        };
        let answered: Vec<_> = self.parked.extract_if(.., ready).collect();
        for fetch in &answered {
            self.answer(fetch);
        }
    }

    fn answer(&mut self, fetch: &Parked) {
        let range = ReadRange {
            from: fetch.offset,
            end: self.log.end(),
        };
        if range.from < range.end {
            self.note_told(fetch.replica, range.from);
        }
        self.reply_fetch(fetch.id, Fetched::Records(range));
    }

    /// Who waits at a node that no longer leads is sent on.
    pub(super) fn refuse_parked(&mut self) {
        if matches!(self.state, State::Leader(_)) {
            return;
        }
        for fetch in std::mem::take(&mut self.parked) {
            self.reply(fetch.id, Body::Refused(Refusal::NotLeaderOrFollower));
        }
    }

    pub(super) fn parked_deadline(&self) -> Option<Nanos> {
        self.parked.iter().map(|fetch| fetch.until).min()
    }
}
