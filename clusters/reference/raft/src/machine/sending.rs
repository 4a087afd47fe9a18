//! What each state has to say to its peers, and when.

use super::Raft;
use super::state::State;
use crate::config::nanos;
use crate::{Action, BeginQuorumEpoch, EndQuorumEpoch, FetchRequest, Nanos, NodeId, Request, VoteRequest};

impl Raft {
    pub(super) fn send_what_is_due(&mut self, now: Nanos) {
        match &self.state {
            State::Unattached { .. } => self.look_for_leader(now),
            State::Prospective(_) => self.ask_the_unanswered(now, self.vote_request(true)),
            State::Candidate(_) => self.ask_the_unanswered(now, self.vote_request(false)),
            State::Leader(_) => self.announce(now),
            State::Follower(following) => {
                let (leader, overdue) = (following.leader, following.deadline <= now);
                self.fetch_from_leader(now, leader, overdue);
            }
            State::Resigned(resignation) => {
                let request = Request::EndQuorumEpoch(EndQuorumEpoch {
                    epoch: self.quorum.epoch,
                    leader: self.config.id(),
                    preferred_successors: resignation.preferred_successors.clone(),
                });
                self.ask_the_unanswered(now, request);
            }
        }
    }

    /// Seed 3: the request carries the end of the candidate's own log (KIP-595 "Vote").
    fn vote_request(&self, pre_vote: bool) -> Request {
        Request::Vote(VoteRequest {
            pre_vote,
            epoch: self.quorum.epoch,
            candidate: self.config.key(),
            last_epoch: self.log.last_epoch(),
            last_offset: self.log.end(),
        })
    }

    fn fetch_request(&self, max_wait: Nanos) -> Request {
        Request::Fetch(FetchRequest {
            replica: Some(self.config.key()),
            epoch: Some(self.quorum.epoch),
            fetch_offset: self.log.end(),
            last_fetched_epoch: Some(self.claimed_epoch()),
            high_watermark: self.high_watermark,
            max_wait,
        })
    }

    /// The epoch of this log's last record.
    fn claimed_epoch(&self) -> crate::Epoch {
        match &self.state {
            State::Follower(following) if following.ignores_divergence => self.quorum.epoch,
            _ => self.log.last_epoch(),
        }
    }

    /// Asks any voter, by way of a Fetch: who is not the leader says who is. While none is known,
    /// the bootstrap servers are asked (KIP-853).
    fn look_for_leader(&mut self, now: Nanos) {
        if self.calls.any_in_flight() || !self.may_fetch() {
            return;
        }
        if let Some(voter) = self.any_free_voter(now) {
            self.send(now, voter, self.fetch_request(0));
        }
    }

    fn fetch_from_leader(&mut self, now: Nanos, leader: NodeId, overdue: bool) {
        if overdue {
            // Only an observer stays here with the leader lost: it looks around.
            return self.look_for_leader(now);
        }
        let free = self.calls.slot(leader).is_some_and(|slot| slot.is_free(now));
        if free && !self.calls.any_in_flight() && self.may_fetch() {
            let request = self
                .download_request()
                .or_else(|| self.update_request(now))
                .unwrap_or_else(|| self.fetch_request(nanos(self.config.timeouts().fetch_max_wait)));
            self.send(now, leader, request);
        }
    }

    fn any_free_voter(&mut self, now: Nanos) -> Option<NodeId> {
        let free = self.calls.slots().iter().filter(|slot| slot.is_free(now)).count();
        let chosen = usize::try_from(self.random.below(free as u64)).unwrap_or(0);
        let mut all_free = self.calls.slots().iter().filter(|slot| slot.is_free(now));
        all_free.nth(chosen).map(|slot| slot.peer)
    }

    fn ask_the_unanswered(&mut self, now: Nanos, request: Request) {
        let due: Vec<_> = self
            .calls
            .slots()
            .iter()
            .filter(|slot| !slot.answered && slot.is_free(now))
            .map(|slot| slot.peer)
            .filter(|peer| self.voter_set().contains_id(*peer))
            .collect();
        for peer in due {
            self.send(now, peer, request.clone());
        }
    }

    fn announce(&mut self, now: Nanos) {
        let State::Leader(leader) = &self.state else {
            return;
        };
        let due: Vec<_> = leader
            .followers
            .iter()
            .filter(|voter| self.announcement_due(voter) <= now)
            .map(|voter| voter.progress.key.id)
            .filter(|id| self.calls.slot(*id).is_some_and(|slot| slot.is_free(now)))
            .collect();
        let request = Request::BeginQuorumEpoch(BeginQuorumEpoch {
            epoch: self.quorum.epoch,
            leader: self.config.id(),
        });
        for peer in due {
            self.note_announced(now, peer);
            self.send(now, peer, request.clone());
        }
    }

    fn note_announced(&mut self, now: Nanos, peer: NodeId) {
        if let State::Leader(leader) = &mut self.state {
            for voter in &mut leader.followers {
                if voter.progress.key.id == peer {
                    voter.announced = Some(now);
                }
            }
        }
    }

    fn send(&mut self, now: Nanos, to: NodeId, request: Request) {
        let patience = nanos(self.config.timeouts().request_timeout);
        let call = self.calls.begin(to, now.saturating_add(patience));
        self.actions.push(Action::Send { to, call, request });
    }
}
