//! Following: the leader's announcements, and what a Fetch brings.

use super::state::State;
use super::{Following, Raft};
use crate::config::nanos;
use crate::{
    Action, Batch, BeginQuorumEpoch, Body, EndQuorumEpoch, EpochEnd, Fatal, FetchAnswer, Fetched, Nanos,
    NodeId, Offset, ReadRange, Refusal, ReplicaKey,
};

impl Raft {
    pub(super) fn on_begin_quorum_epoch(
        &mut self,
        now: Nanos,
        request: BeginQuorumEpoch,
    ) -> Result<Body<ReadRange>, Refusal> {
        self.hear_leader(now, request.epoch, request.leader)?;
        // A leader that was only missed is followed again.
        if matches!(self.state, State::Prospective(_)) {
            self.become_follower(now, request.epoch, request.leader);
        }
        Ok(Body::BeginQuorumEpoch)
    }

    pub(super) fn on_end_quorum_epoch(
        &mut self,
        now: Nanos,
        request: &EndQuorumEpoch,
    ) -> Result<Body<ReadRange>, Refusal> {
        self.hear_leader(now, request.epoch, request.leader)?;
        let pause = self.succession_pause(&request.preferred_successors);
        if let State::Follower(following) = &mut self.state {
            following.deadline = following.deadline.min(now.saturating_add(pause));
            // It leads no longer, so there is no leader whom an election would disturb.
            following.fetched = false;
        }
        Ok(Body::EndQuorumEpoch)
    }

    /// Checks a claim to lead an epoch, and takes it in.
    fn hear_leader(&mut self, now: Nanos, epoch: i32, leader: NodeId) -> Result<(), Refusal> {
        if epoch < self.quorum.epoch {
            return Err(Refusal::FencedLeaderEpoch);
        }
        if !self.voter_set().contains_id(leader) {
            return Err(Refusal::InconsistentVoterSet);
        }
        if leader == self.config.id() {
            return Err(Refusal::InvalidRequest);
        }
        self.learn(now, epoch, Some(leader));
        if self.quorum.leader == Some(leader) {
            Ok(())
        } else {
            // Another leads this epoch, and an epoch has one leader.
            Err(Refusal::InvalidRequest)
        }
    }

    /// The first of the preferred stands at once, each further one after twice the pause of the
    /// one before it, and who is not preferred last.
    fn succession_pause(&self, preferred: &[ReplicaKey]) -> Nanos {
        let me = self.config.id();
        let place = preferred.iter().position(|key| key.id == me);
        let longest = nanos(self.config.timeouts().election_backoff_max);
        match place {
            Some(0) => 0,
            Some(place) => {
                let behind = preferred.len() - 1 - place;
                longest
                    .checked_shr(u32::try_from(behind).unwrap_or(u32::MAX))
                    .unwrap_or(0)
            }
            None => longest,
        }
    }

    pub(super) fn on_fetched(&mut self, now: Nanos, from: NodeId, answer: FetchAnswer<Vec<Batch>>) {
        let deadline = self.fetch_timer(now);
        match &mut self.state {
            State::Follower(Following {
                leader,
                deadline: due,
                fetched,
            }) if *leader == from => {
                *due = deadline;
                *fetched = true;
            }
            _ => return self.back_off(now, from),
        }
        match answer.fetched {
            Fetched::Diverging(end) => self.truncate_for(now, from, end),
            Fetched::Snapshot(_) => self.back_off(now, from),
            Fetched::Records(batches) => {
                self.append_fetched(now, from, &batches);
                if let Some(high_watermark) = answer.high_watermark {
                    self.commit_up_to(high_watermark);
                }
            }
        }
    }

    fn truncate_for(&mut self, now: Nanos, leader: NodeId, leaders: EpochEnd) {
        let end_offset = self.log.cut_for(leaders);
        match self.high_watermark {
            Some(high_watermark) if end_offset < high_watermark => {
                self.die(Fatal::TruncationBelowHighWatermark {
                    leader,
                    epoch: self.quorum.epoch,
                    end_offset,
                    high_watermark,
                });
            }
            // Nothing to cut: an answer that makes no sense. Ask again, later.
            _ if end_offset >= self.log.end() => self.back_off(now, leader),
            _ => {
                self.log.truncate(end_offset);
                self.actions.push(Action::Truncate { end_offset });
            }
        }
    }

    fn append_fetched(&mut self, now: Nanos, leader: NodeId, batches: &[Batch]) {
        let fitting = self.log.fitting(batches, self.quorum.epoch);
        for batch in &batches[..fitting] {
            self.log.append(batch.epoch, batch.end_offset);
        }
        if fitting > 0 {
            self.actions.push(Action::AppendFetched { batches: fitting });
            if self.is_voter() {
                self.actions.push(Action::Sync(self.log.ticket()));
            }
        }
        if fitting < batches.len() {
            self.back_off(now, leader);
        }
    }

    fn commit_up_to(&mut self, high_watermark: Offset) {
        let known_here = high_watermark.min(self.log.end());
        // An empty prefix is not worth a word.
        if known_here > 0 {
            self.commit(known_here);
        }
    }

    /// Whether what a Fetch would claim to have is on disk. Observers claim nothing.
    pub(super) fn may_fetch(&self) -> bool {
        !self.is_voter() || self.log.synced() == self.log.end()
    }
}
