//! Time: what is due, and when the next thing will be.

use super::Raft;
use super::calls::Slot;
use super::state::State;
use crate::Nanos;

impl Raft {
    /// When [`crate::Event::Tick`] must come at the latest; none if time changes nothing.
    pub fn next_deadline(&self) -> Option<Nanos> {
        if self.dead {
            return None;
        }
        let of_talk = self.next_send();
        [
            self.state_deadline(),
            self.parked_deadline(),
            self.change_deadline(),
            self.calls.next_overdue(),
            of_talk,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Lets one thing that is due happen. False when nothing is. Seed 1: an election is triggered by
    /// hearing nothing from a leader, or by knowing none.
    pub(super) fn expire(&mut self, now: Nanos) -> bool {
        if self.state_deadline().is_none_or(|at| at > now) {
            return false;
        }
        match &self.state {
            State::Unattached { .. } | State::Follower(_) | State::Candidate(_) => self.call_election(now),
            State::Prospective(_) => self.give_up_prospects(now),
            State::Leader(_) => self.resign(now),
            State::Resigned(_) => self.move_on(now),
        }
        true
    }

    fn state_deadline(&self) -> Option<Nanos> {
        match &self.state {
            // The log is about to be replaced: nobody stands with it.
            State::Unattached { .. } | State::Follower(_) if self.installing.is_some() => None,
            State::Unattached { election_at } => *election_at,
            State::Prospective(election) | State::Candidate(election) => Some(election.deadline),
            State::Leader(_) => self.check_quorum_deadline(),
            State::Follower(following) => self.may_stand().then_some(following.deadline),
            State::Resigned(resignation) => Some(resignation.election_at),
        }
    }

    /// When [`Raft::send_what_is_due`] will next have something to send, unless an event comes first.
    fn next_send(&self) -> Option<Nanos> {
        let slots = self.calls.slots().iter();
        match &self.state {
            State::Leader(leader) => leader
                .followers
                .iter()
                .filter_map(|voter| {
                    let free_at = self.calls.slot(voter.progress.key.id)?.free_at()?;
                    Some(free_at.max(self.announcement_due(voter)))
                })
                .min(),
            State::Prospective(_) | State::Candidate(_) | State::Resigned(_) => slots
                .filter(|slot| !slot.answered && self.voter_set().contains_id(slot.peer))
                .filter_map(Slot::free_at)
                .min(),
            _ if self.calls.any_in_flight() || !self.may_fetch() => None,
            State::Unattached { .. } => slots.filter_map(Slot::free_at).min(),
            State::Follower(following) => {
                let from_leader = self.calls.slot(following.leader)?.free_at()?;
                // Past the deadline an observer asks whoever is free.
                let from_any = slots.filter_map(Slot::free_at).min()?;
                Some(from_leader.min(from_any.max(following.deadline)))
            }
        }
    }
}
