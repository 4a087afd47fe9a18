//! Votes: given, and counted.

use super::Raft;
use super::state::State;
use crate::{Action, Body, Bug, Nanos, NodeId, ReadRange, Refusal, VoteRequest};

impl Raft {
    pub(super) fn on_vote(&mut self, now: Nanos, request: VoteRequest) -> Result<Body<ReadRange>, Refusal> {
        // Where the log names the voters, the candidate's may be newer than this node's, so that its
        // log alone decides (KIP-853 "Vote").
        let fixed = !self.config.is_dynamic();
        let stranger = fixed && !(self.is_voter() && self.voter_set().contains(request.candidate));
        if stranger || !self.config.may_vote() {
            return Err(Refusal::InconsistentVoterSet);
        }
        let sane = if request.pre_vote {
            request.last_epoch <= request.epoch
        } else {
            request.last_epoch < request.epoch
        };
        if !sane || request.candidate.id == self.config.id() {
            return Err(Refusal::InvalidRequest);
        }
        // Seed 4a: the candidate's epoch is not older than the voter's (KIP-595 "Vote").
        if request.epoch < self.quorum.epoch {
            return Err(Refusal::FencedLeaderEpoch);
        }
        // Seed, fetch: a higher epoch is always adopted, seen in a pre-vote too (KIP-996).
        if request.epoch > self.quorum.epoch {
            self.become_unattached(now, request.epoch);
        }
        let granted = if request.pre_vote {
            self.would_vote_for(now, &request)
        } else {
            self.vote_for(now, &request)
        };
        Ok(Body::Vote { granted })
    }

    /// Seed 4b, "why the up-to-date-log rule matters"; Raft 5.4.1: the later last epoch, or the same
    /// and at least as long.
    fn is_up_to_date(&self, request: &VoteRequest) -> bool {
        self.config.has(Bug::UpToDateCheckSkipped)
            || (request.last_epoch, request.last_offset) >= (self.log.last_epoch(), self.log.end())
    }

    /// A pre-vote binds nobody. Who hears from a leader sees no need for an election: a leader never
    /// does, a follower not once it has fetched from it (KIP-996 "Pre-Vote"; seed, pre-vote), for as long as
    /// that leader is not overdue, nor has said that it resigned.
    fn would_vote_for(&self, now: Nanos, request: &VoteRequest) -> bool {
        let hears_a_leader = match &self.state {
            State::Leader(_) => true,
            State::Follower(following) => following.fetched && following.deadline > now,
            _ => false,
        };
        !hears_a_leader && self.is_up_to_date(request)
    }

    /// Seed 4, "the peer records that it voted" (KIP-595 "Vote"): one vote an epoch, none once a leader is known, none for a log that may lack something
    /// committed. A fresh vote starts the timer anew, so that the candidate has its time.
    fn vote_for(&mut self, now: Nanos, request: &VoteRequest) -> bool {
        if !matches!(self.state, State::Unattached { .. } | State::Prospective(_)) {
            return false;
        }
        if let Some(voted) = self.quorum.voted {
            return voted.may_be(request.candidate);
        }
        if self.quorum.leader.is_some() || !self.is_up_to_date(request) {
            return false;
        }
        self.quorum.voted = Some(request.candidate);
        if !self.config.has(Bug::VoteNotPersisted) {
            self.actions.push(Action::Persist(self.quorum));
        }
        self.become_unattached(now, self.quorum.epoch);
        true
    }

    /// Seed 5: a strict majority of voters makes a leader; of pre-votes, a candidate (KIP-996).
    pub(super) fn on_ballot(&mut self, now: Nanos, from: NodeId, granted: bool) {
        let voters = self.voter_set().len();
        let majority = self.voter_set().majority();
        let Some(voter) = self.voter_set().get(from).map(|voter| voter.key) else {
            return;
        };
        let binding = matches!(self.state, State::Candidate(_));
        let (State::Prospective(election) | State::Candidate(election)) = &mut self.state else {
            return;
        };
        if let Some(slot) = self.calls.slot_mut(from) {
            slot.answered = true;
        }
        if granted {
            election.granted.push(voter);
        } else {
            election.rejected += 1;
        }
        let won = election.granted.len() >= majority;
        let lost = election.rejected > voters - majority;
        match (won, binding) {
            (true, true) => {
                let granted = std::mem::take(&mut election.granted);
                self.become_leader(now, granted);
            }
            (true, false) => self.become_candidate(now),
            // A rejected candidate waits its timer out, so that another may win this epoch.
            (false, false) if lost => self.give_up_prospects(now),
            (false, _) => {}
        }
    }
}
