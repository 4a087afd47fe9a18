//! Voters that change (KIP-853): one at a time, each in force from its record on.

use super::state::{FollowingVoter, State, VoterChange};
use super::{Raft, ReplicaProgress, leader_only};
use crate::config::nanos;
use crate::{
    Action, AddVoter, Body, Bug, Nanos, Offset, ReadRange, Refusal, RemoveVoter, ReplicaKey, Request,
    RequestId, UpdateVoter, VoterSet, VotersAt,
};

/// The `kraft.version` whose voters the log names.
const DYNAMIC_KRAFT_VERSION: i16 = 1;

impl Raft {
    /// KIP-853 "AddRaftVoter": a change at a time, and only for a replica that has all the leader has.
    pub(super) fn on_add_voter(
        &mut self,
        now: Nanos,
        id: RequestId,
        request: AddVoter,
    ) -> Result<(), Refusal> {
        self.check_may_change()?;
        let AddVoter {
            voter,
            timeout,
            ack_when_committed,
        } = request;
        let (least, most) = voter.kraft_versions;
        if !(least..=most).contains(&DYNAMIC_KRAFT_VERSION) {
            return Err(Refusal::UnsupportedVersion);
        }
        if voter.key.directory.is_none() || voter.key.id.0 < 0 {
            return Err(Refusal::InvalidRequest);
        }
        let key = voter.key;
        let voters = self.voter_set().with(voter).ok_or(Refusal::DuplicateVoter)?;
        if !self.is_caught_up(now, key) {
            return Err(Refusal::RequestTimedOut);
        }
        let waiting = ack_when_committed.then(|| (id, now.saturating_add(timeout)));
        self.change_voters(now, voters, waiting);
        if !ack_when_committed {
            self.reply(id, Body::VotersChanged);
        }
        Ok(())
    }

    /// KIP-853 "RemoveRaftVoter". The last voter stays: nobody could undo it.
    pub(super) fn on_remove_voter(
        &mut self,
        now: Nanos,
        id: RequestId,
        request: RemoveVoter,
    ) -> Result<(), Refusal> {
        self.check_may_change()?;
        let voters = self.voter_set().without(request.voter);
        let voters = voters.ok_or(Refusal::VoterNotFound)?;
        if voters.is_empty() {
            return Err(Refusal::InvalidRequest);
        }
        let waiting = Some((id, now.saturating_add(request.timeout)));
        self.change_voters(now, voters, waiting);
        Ok(())
    }

    /// KIP-853 "UpdateRaftVoter". Answered once appended: the voter tells again if it is lost.
    pub(super) fn on_update_voter(
        &mut self,
        now: Nanos,
        request: UpdateVoter,
    ) -> Result<Body<ReadRange>, Refusal> {
        self.check_epoch(Some(request.epoch))?;
        self.check_may_change()?;
        let voters = self.voter_set().updated(&request.voter);
        let voters = voters.ok_or(Refusal::VoterNotFound)?;
        if voters != *self.voter_set() {
            self.change_voters(now, voters, None);
        }
        Ok(Body::VotersChanged)
    }

    /// A change may begin once the leader has committed a record of its own epoch, and the change
    /// before is committed: two sets that overlap in no majority could not both be in force then (KIP-853
    /// "AddRaftVoter" and "RemoveRaftVoter", on handling; single-server changes, Ongaro's thesis, 4.1).
    fn check_may_change(&self) -> Result<(), Refusal> {
        leader_only(self.role())?;
        let State::Leader(leader) = &self.state else {
            return Err(Refusal::NotLeaderOrFollower);
        };
        let Some(latest) = self.voters.latest_change() else {
            return Err(Refusal::UnsupportedVersion);
        };
        let committed = leader.high_watermark.ok_or(Refusal::RequestTimedOut)?;
        if latest.offset >= committed && !self.config.has(Bug::TwoVoterChanges) {
            return Err(Refusal::RequestTimedOut);
        }
        Ok(())
    }

    /// Whether that observer had all that the leader had, no longer than a fetch time-out ago (KIP-853
    /// "AddRaftVoter": the new voter has caught up before it counts).
    fn is_caught_up(&self, now: Nanos, key: ReplicaKey) -> bool {
        let State::Leader(leader) = &self.state else {
            return false;
        };
        let patience = nanos(self.config.timeouts().fetch_timeout);
        let seen = leader.observers.iter().find(|seen| seen.key == key);
        seen.and_then(|seen| seen.last_caught_up)
            .is_some_and(|at| at.saturating_add(patience) > now)
    }

    fn change_voters(&mut self, now: Nanos, voters: VoterSet, waiting: Option<(RequestId, Nanos)>) {
        let (epoch, base_offset) = (self.quorum.epoch, self.log.end());
        self.log.append(epoch, base_offset + 1);
        self.voters.append(VotersAt {
            offset: base_offset,
            voters: voters.clone(),
        });
        self.actions.push(Action::AppendVoters {
            base_offset,
            epoch,
            voters,
        });
        self.actions.push(Action::Sync(self.log.ticket()));
        if let State::Leader(leader) = &mut self.state {
            leader.changes.push(VoterChange {
                offset: base_offset,
                waiting,
            });
        }
        self.note_voters_changed(now);
    }

    /// The leader's followers are the voters in force. What is known of one that stays, or that has
    /// observed so far, is kept; one that votes no more observes.
    pub(super) fn recount_followers(&mut self, now: Nanos) {
        let keys: Vec<ReplicaKey> = self.peers().collect();
        let State::Leader(leader) = &mut self.state else {
            return;
        };
        let before = std::mem::take(&mut leader.followers);
        let (mut stay, go): (Vec<_>, Vec<_>) = before
            .into_iter()
            .partition(|voter| keys.contains(&voter.progress.key));
        leader
            .observers
            .extend(go.into_iter().map(|voter| voter.progress));
        for key in keys {
            if stay.iter().any(|voter| voter.progress.key == key) {
                continue;
            }
            let observed = leader.observers.extract_if(.., |seen| seen.key == key).next();
            stay.push(FollowingVoter {
                progress: observed.unwrap_or_else(|| ReplicaProgress::new(key)),
                contact: now,
                told_from: None,
                announced: None,
            });
        }
        leader.followers = stay;
    }

    /// Records are committed: so may changes be. A leader that was voted out gives up (KIP-853
    /// "RemoveRaftVoter": once the new set is committed, and not before).
    pub(super) fn settle_voter_changes(&mut self, now: Nanos, committed: Offset) {
        let State::Leader(leader) = &mut self.state else {
            return;
        };
        let done: Vec<_> = leader
            .changes
            .extract_if(.., |change| change.offset < committed)
            .collect();
        for change in done {
            if let Some((id, _)) = change.waiting {
                self.reply(id, Body::VotersChanged);
            }
        }
        let settled = self
            .voters
            .latest_change()
            .is_some_and(|at| at.offset < committed);
        if settled && !self.is_voter() {
            self.resign(now);
        }
    }

    pub(super) fn change_deadline(&self) -> Option<Nanos> {
        let State::Leader(leader) = &self.state else {
            return None;
        };
        let waiting = leader.changes.iter().filter_map(|change| change.waiting);
        waiting.map(|(_, until)| until).min()
    }

    /// Tells those who have waited long enough; the change itself goes on.
    pub(super) fn give_up_changes(&mut self, now: Nanos) {
        let State::Leader(leader) = &mut self.state else {
            return;
        };
        let overdue = leader.changes.iter_mut().filter_map(|change| {
            let (_, until) = change.waiting?;
            (until <= now).then(|| change.waiting.take()).flatten()
        });
        for (id, _) in overdue.collect::<Vec<_>>() {
            self.reply(id, Body::Refused(Refusal::RequestTimedOut));
        }
    }

    /// Who waits at a leader that leads no more is told so: the change may be committed all the same.
    pub(super) fn refuse_changes(&mut self) {
        let State::Leader(leader) = &mut self.state else {
            return;
        };
        let waiting = std::mem::take(&mut leader.changes);
        for (id, _) in waiting.into_iter().filter_map(|change| change.waiting) {
            self.reply(id, Body::Refused(Refusal::NotLeaderOrFollower));
        }
    }

    /// A voter that is elsewhere than the log says, or can do more, tells the leader (KIP-853).
    pub(super) fn update_request(&mut self, now: Nanos) -> Option<Request> {
        let again_at = self.fetch_timer(now);
        let own = self.config.own();
        let named = self.voter_set().get(own.key.id)?;
        if !self.config.is_dynamic() || named.key != own.key || named == own {
            return None;
        }
        let request = UpdateVoter {
            epoch: self.quorum.epoch,
            voter: own.clone(),
        };
        match &mut self.state {
            State::Follower(following) if following.fetched && following.update_at <= now => {
                following.update_at = again_at;
                Some(Request::UpdateVoter(request))
            }
            _ => None,
        }
    }
}
