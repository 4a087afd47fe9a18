//! Following: the leader's announcements, and what a Fetch brings.

use super::Raft;
use super::state::State;
use crate::config::nanos;
use crate::{
    Action, Batch, BeginQuorumEpoch, Body, Bug, EndQuorumEpoch, EpochEnd, Fatal, FetchAnswer, Fetched, Nanos,
    NodeId, Offset, ReadRange, Refusal, ReplicaKey,
};

impl Raft {
    /// Seed 6 (KIP-595 "BeginQuorumEpoch"): the leader is recognized, and fetched from.
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

    /// KIP-595 "EndQuorumEpoch": the leader is gone, and there is no need to wait until that is noticed.
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
        // Voters that the log names may be behind the leader's (KIP-853).
        if !self.config.is_dynamic() && !self.voter_set().contains_id(leader) {
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

    /// KIP-595 "EndQuorumEpoch": the first of the preferred stands at once, each further one after twice the pause of the
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

    /// What the leader's answer brings (KIP-595 "Fetch"): records, or where the logs part (Raft 5.3),
    /// or that a snapshot is to be fetched (KIP-630). An answer is word from the leader.
    pub(super) fn on_fetched(&mut self, now: Nanos, from: NodeId, answer: FetchAnswer<Vec<Batch>>) {
        let deadline = self.fetch_timer(now);
        match &mut self.state {
            State::Follower(following) if following.leader == from => {
                following.deadline = deadline;
                following.fetched = true;
            }
            _ => return self.back_off(now, from),
        }
        match answer.fetched {
            Fetched::Diverging(end) => self.truncate_for(now, from, end),
            Fetched::Snapshot(snapshot) => self.begin_download(now, from, snapshot),
            Fetched::Records(batches) => {
                self.append_fetched(now, from, batches);
                if self.config.has(Bug::UncommittedApplied) {
                    self.commit_up_to(Offset::MAX);
                } else if let Some(high_watermark) = answer.high_watermark {
                    self.commit_up_to(high_watermark);
                }
            }
        }
    }

    /// An observer whose leader is gone, or leads no more, looks around at once; a voter waits its
    /// time out, lest it disturb the others.
    pub(super) fn miss_leader(&mut self, now: Nanos, peer: NodeId) {
        let votes = self.is_voter();
        if let State::Follower(following) = &mut self.state
            && following.leader == peer
            && !votes
        {
            following.deadline = following.deadline.min(now);
        }
    }

    fn truncate_for(&mut self, now: Nanos, leader: NodeId, leaders: EpochEnd) {
        if self.config.has(Bug::DivergenceNotTruncated) {
            return self.keep_divergence();
        }
        let end_offset = self.log.cut_for(leaders);
        match self.high_watermark {
            Some(high_watermark)
                if end_offset < high_watermark && !self.config.has(Bug::UncommittedApplied) =>
            {
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
                self.voters.truncate(end_offset);
                self.actions.push(Action::Truncate { end_offset });
                self.note_voters_changed(now);
            }
        }
    }

    fn keep_divergence(&mut self) {
        if let State::Follower(following) = &mut self.state {
            following.ignores_divergence = true;
        }
    }

    fn append_fetched(&mut self, now: Nanos, leader: NodeId, batches: Vec<Batch>) {
        let fitting = self.log.fitting(&batches, self.quorum.epoch);
        let all_fit = fitting == batches.len();
        let mut voters_changed = false;
        for batch in batches.into_iter().take(fitting) {
            self.log.append(batch.epoch, batch.end_offset);
            if let Some(voters) = batch.voters {
                // In force as soon as appended (KIP-853 "Voter changes").
                self.voters.append(voters);
                voters_changed = true;
            }
        }
        if fitting > 0 {
            self.actions.push(Action::AppendFetched { batches: fitting });
            if self.config.may_vote() {
                self.actions.push(Action::Sync(self.log.ticket()));
            }
        }
        if voters_changed {
            self.note_voters_changed(now);
        }
        if !all_fit {
            self.back_off(now, leader);
        }
    }

    /// A Fetch returns what is not committed too: only what is below the answer's high watermark is
    /// (KIP-595 "Fetch").
    fn commit_up_to(&mut self, high_watermark: Offset) {
        let known_here = high_watermark.min(self.log.end());
        // An empty prefix is not worth a word.
        if known_here > 0 {
            self.commit(known_here);
        }
    }

    /// Whether what a Fetch would claim to have is on disk: its offset is the acknowledgement (KIP-595 "Fetch"),
    /// and Raft answers only for what is on stable storage (Raft, figure 2). Who never votes claims nothing; who may
    /// be let vote does, since the leader may count a Fetch sent before it heard of that.
    pub(super) fn may_fetch(&self) -> bool {
        let claims = self.config.may_vote() && !self.config.has(Bug::AckBeforeSync);
        self.installing.is_none() && (!claims || self.log.synced() == self.log.end())
    }
}
