//! Leading: serving fetches, counting, committing.

use super::state::{FollowingVoter, State};
use super::{Parked, Raft, ReplicaProgress, leader_only};
use crate::config::nanos;
use crate::log::Place;
use crate::{
    Action, Body, Bug, FetchAnswer, FetchRequest, Fetched, Nanos, Offset, Refusal, ReplicaKey, RequestId,
};

/// An observer that has not fetched for this long is no longer shown. Kafka's figure.
const OBSERVER_SESSION: Nanos = 300 * 1_000_000_000;

/// So many observers are kept track of; ids are the askers' to make up.
const OBSERVERS_MAX: usize = 1_000;

impl Raft {
    pub(super) fn followers_from(&self, now: Nanos) -> Vec<FollowingVoter> {
        self.peers()
            .map(|key| FollowingVoter {
                progress: ReplicaProgress::new(key),
                contact: now,
                told_from: None,
                announced: None,
            })
            .collect()
    }

    /// Answers a Fetch, or parks it: replication is by pulling (KIP-595 "Fetch").
    pub(super) fn on_fetch(
        &mut self,
        now: Nanos,
        id: RequestId,
        request: FetchRequest,
    ) -> Result<(), Refusal> {
        self.check_fetch(&request)?;
        if let Some(replica) = request.replica {
            self.note_contact(now, replica, Some(request.fetch_offset));
            self.unpark(replica);
        }
        match self
            .log
            .place_of(request.fetch_offset, request.last_fetched_epoch)
        {
            Place::Records => {}
            Place::Diverging(end) => {
                self.note_told(request.replica, request.fetch_offset);
                self.reply_fetch(id, Fetched::Diverging(end));
                return Ok(());
            }
            Place::Snapshot(snapshot) => {
                self.note_told(request.replica, request.fetch_offset);
                self.reply_fetch(id, Fetched::Snapshot(snapshot));
                return Ok(());
            }
            Place::OutOfRange => return Err(Refusal::OffsetOutOfRange),
        }
        if let Some(replica) = request.replica {
            self.note_progress(now, replica, request.fetch_offset);
            self.advance_high_watermark(now);
        }
        // The leader may have been voted out by what it just committed.
        leader_only(self.role())?;
        self.park(Parked::new(now, id, &request));
        Ok(())
    }

    /// Whether a request that names this epoch is for this leadership.
    pub(super) fn check_epoch(&self, epoch: Option<crate::Epoch>) -> Result<(), Refusal> {
        match epoch {
            Some(epoch) if epoch < self.quorum.epoch => Err(Refusal::FencedLeaderEpoch),
            Some(epoch) if epoch > self.quorum.epoch => Err(Refusal::UnknownLeaderEpoch),
            _ => leader_only(self.role()),
        }
    }

    fn check_fetch(&self, request: &FetchRequest) -> Result<(), Refusal> {
        self.check_epoch(request.epoch)?;
        // KIP-595 "Fetch": a replica's offset counts towards commits, so it must say what its log ends with.
        let unproven =
            request.replica.is_some() && (request.epoch.is_none() || request.last_fetched_epoch.is_none());
        let nonsense = request.fetch_offset < 0
            || request.last_fetched_epoch.is_some_and(|epoch| epoch < 0)
            || request.replica.is_some_and(|key| key.id == self.config.id());
        if unproven || nonsense {
            return Err(Refusal::InvalidRequest);
        }
        Ok(())
    }

    pub(super) fn reply_fetch(&mut self, to: RequestId, fetched: Fetched<crate::ReadRange>) {
        let State::Leader(leader) = &self.state else {
            return self.reply(to, Body::Refused(Refusal::NotLeaderOrFollower));
        };
        let answer = FetchAnswer {
            high_watermark: leader.high_watermark,
            fetched,
        };
        self.reply(to, Body::Fetch(answer));
    }

    /// The epoch is right, so the voter follows, wherever its log ends. One that asks again from where
    /// it was told something has not heard it: its requests arrive, and answers do not. To count it
    /// would keep a leader in office that can commit nothing, under followers that hear it. (KIP-595 counts every
    /// Fetch towards staying in office; this is stricter, since answers may be lost where requests are not.)
    pub(super) fn note_contact(&mut self, now: Nanos, replica: ReplicaKey, offset: Option<Offset>) {
        if let State::Leader(leader) = &mut self.state {
            for voter in &mut leader.followers {
                if voter.progress.is_of(replica) && (offset.is_none() || voter.told_from != offset) {
                    voter.contact = now;
                }
            }
        }
    }

    /// A follower was told something new, as far as its log goes.
    pub(super) fn note_told(&mut self, replica: Option<ReplicaKey>, offset: Offset) {
        if let (State::Leader(leader), Some(replica)) = (&mut self.state, replica) {
            for voter in &mut leader.followers {
                if voter.progress.is_of(replica) {
                    voter.told_from = Some(offset);
                }
            }
        }
    }

    fn note_progress(&mut self, now: Nanos, replica: ReplicaKey, offset: Offset) {
        let end = self.log.end();
        let is_voter = self.voter_set().contains(replica);
        let State::Leader(leader) = &mut self.state else {
            return;
        };
        if is_voter {
            for voter in &mut leader.followers {
                if voter.progress.is_of(replica) {
                    voter.progress.note(now, offset, end);
                }
            }
            return;
        }
        let observers = &mut leader.observers;
        observers.retain(|seen| {
            let last_fetch = seen.last_fetch.unwrap_or(now);
            last_fetch.saturating_add(OBSERVER_SESSION) > now
        });
        let known = observers.iter().any(|seen| seen.key == replica);
        if !known && observers.len() < OBSERVERS_MAX {
            observers.push(ReplicaProgress::new(replica));
        }
        if let Some(seen) = observers.iter_mut().find(|seen| seen.key == replica) {
            seen.note(now, offset, end);
        }
    }

    /// Commits what a majority has, once that covers a record of this epoch (KIP-595 "Fetch",
    /// high watermark; Raft 5.4.2 and figure 8): what an earlier
    /// leader's records have reached says nothing until a record of one's own is on top of them.
    pub(super) fn advance_high_watermark(&mut self, now: Nanos) {
        let majority = self.voter_set().majority();
        // A leader that is being voted out does not count itself (KIP-853).
        let own = self.is_voter().then_some(self.log.synced());
        let unproven = self.config.has(Bug::CommitWithoutOwnEpoch);
        let State::Leader(leader) = &mut self.state else {
            return;
        };
        let mut ends: Vec<Offset> = leader
            .followers
            .iter()
            .map(|voter| voter.progress.end_offset.unwrap_or(-1))
            .chain(own)
            .collect();
        ends.sort_unstable_by(|one, other| other.cmp(one));
        let Some(&reached) = ends.get(majority - 1) else {
            return;
        };
        let covers_own_epoch = reached > leader.epoch_start || unproven && reached > 0;
        if covers_own_epoch && leader.high_watermark.is_none_or(|old| reached > old) {
            leader.high_watermark = Some(reached);
            self.commit(reached);
            self.settle_voter_changes(now, reached);
        }
    }

    pub(super) fn commit(&mut self, high_watermark: Offset) {
        if self.high_watermark.is_none_or(|old| high_watermark > old) {
            self.high_watermark = Some(high_watermark);
            self.actions.push(Action::Commit { high_watermark });
        }
    }

    /// When the leader must give up, unless a majority (itself included) fetches before: a leader that
    /// is cut off must not stay in office (KIP-595 "Fetch", leader resignation; 1.5 fetch time-outs).
    pub(super) fn check_quorum_deadline(&self) -> Option<Nanos> {
        let State::Leader(leader) = &self.state else {
            return None;
        };
        if self.config.has(Bug::NoCheckQuorum) {
            return None;
        }
        let needed = self.voter_set().majority() - usize::from(self.is_voter());
        let mut contacts: Vec<Nanos> = leader.followers.iter().map(|voter| voter.contact).collect();
        contacts.sort_unstable_by(|one, other| other.cmp(one));
        let oldest_needed = contacts.get(needed.checked_sub(1)?)?;
        let fetch_timeout = nanos(self.config.timeouts().fetch_timeout);
        Some(oldest_needed.saturating_add(fetch_timeout.saturating_add(fetch_timeout / 2)))
    }

    /// When a voter that does not fetch is told (again) who leads (seed 6; KIP-595 "BeginQuorumEpoch").
    pub(super) fn announcement_due(&self, voter: &FollowingVoter) -> Nanos {
        let pause = nanos(self.config.timeouts().fetch_timeout) / 2;
        voter
            .announced
            .map_or(0, |at| at.max(voter.contact).saturating_add(pause))
    }
}
