//! From state to state. Every change of the quorum state goes through [`Raft::enter`], which
//! persists it ahead of whatever is said in the new state.

use super::Raft;
use super::state::{Election, Following, Leadership, Resignation, State};
use crate::config::nanos;
use crate::{Action, Bug, Epoch, Fatal, LeaderChange, Nanos, NodeId, QuorumState, ReplicaKey, VotersAt};

impl Raft {
    /// Picks up where the last incarnation left off: a vote stands, and an epoch that was led once
    /// is never led again (KIP-595 "Leader election and restarts").
    pub(super) fn resume(&mut self, now: Nanos) {
        let me = self.config.id();
        if self.quorum.epoch < self.log.last_epoch() {
            return self.become_unattached(now, self.log.last_epoch());
        }
        match self.quorum {
            QuorumState { leader, .. } if leader == Some(me) && self.may_stand() => {
                if self.config.has(Bug::LeaderResumesEpoch) {
                    return self.become_leader(now, vec![self.config.key()]);
                }
                self.become_resigned(now, Vec::new());
            }
            QuorumState {
                epoch,
                leader: Some(leader),
                ..
            } if leader != me && self.may_lead(leader) => {
                self.become_follower(now, epoch, leader);
            }
            QuorumState { voted, .. }
                if voted.is_some_and(|key| key.may_be(self.config.key())) && self.may_stand() =>
            {
                // The vote stands, so its answer may as well be sought.
                self.stand(now);
            }
            QuorumState { epoch, .. } => self.become_unattached(now, epoch),
        }
    }

    /// Whether that node's claim to lead is to be believed. Where the log names the voters, this
    /// node's log may be behind the one that let it vote (KIP-853).
    fn may_lead(&self, node: NodeId) -> bool {
        self.config.is_dynamic() && node.0 >= 0 || self.voter_set().contains_id(node)
    }

    /// Takes in what someone knows of epochs and leaders. "A node that sees a higher epoch than its
    /// own always steps down to follower and adopts that epoch."
    pub(super) fn learn(&mut self, now: Nanos, epoch: Epoch, leader: Option<NodeId>) {
        let leader = leader.filter(|node| *node != self.config.id() && self.may_lead(*node));
        match leader {
            Some(leader) if epoch > self.quorum.epoch => self.become_follower(now, epoch, leader),
            None if epoch > self.quorum.epoch => self.become_unattached(now, epoch),
            Some(leader) if epoch == self.quorum.epoch && self.quorum.leader.is_none() => {
                self.become_follower(now, epoch, leader);
            }
            _ => {}
        }
    }

    pub(super) fn become_unattached(&mut self, now: Nanos, epoch: Epoch) {
        let election_at = self.may_stand().then(|| self.election_timer(now));
        let quorum = self.quorum_in(epoch);
        self.enter(quorum, State::Unattached { election_at });
    }

    /// Seed, fetch: "learns about a newer epoch and steps down".
    pub(super) fn become_follower(&mut self, now: Nanos, epoch: Epoch, leader: NodeId) {
        let mut quorum = self.quorum_in(epoch);
        quorum.leader = Some(leader);
        let following = Following {
            leader,
            deadline: self.fetch_timer(now),
            fetched: false,
            download: None,
            update_at: now,
            ignores_divergence: false,
        };
        self.enter(quorum, State::Follower(following));
    }

    /// The leader is missed: a pre-vote (KIP-996) comes before the election, so that who was cut off
    /// does not raise the epoch under a leader that others hear.
    pub(super) fn call_election(&mut self, now: Nanos) {
        if self.config.has(Bug::NoPreVote) {
            self.become_candidate(now);
        } else {
            self.become_prospective(now);
        }
    }

    /// Asks whether an election could be won, and calls one at once where nobody need be asked.
    pub(super) fn become_prospective(&mut self, now: Nanos) {
        let election = self.poll(now);
        self.enter(self.quorum, State::Prospective(election));
        if self.voter_set().majority() == 1 && self.is_voter() {
            self.become_candidate(now);
        }
    }

    /// The poll is lost, and no epoch was used up (KIP-996): back to the last known leader, or to knowing none.
    pub(super) fn give_up_prospects(&mut self, now: Nanos) {
        let QuorumState { epoch, leader, .. } = self.quorum;
        match leader.filter(|node| *node != self.config.id() && self.may_lead(*node)) {
            Some(leader) => self.become_follower(now, epoch, leader),
            None if self.config.has(Bug::VotedKeyDropped) => {
                self.quorum.voted = None;
                self.actions.push(Action::Persist(self.quorum));
                self.become_unattached(now, epoch);
            }
            None => self.become_unattached(now, epoch),
        }
    }

    /// Seed 2: the next epoch, and the own vote in it, on disk before anyone is asked.
    pub(super) fn become_candidate(&mut self, now: Nanos) {
        let Some(epoch) = self.quorum.epoch.checked_add(1) else {
            return self.die(Fatal::EpochsExhausted);
        };
        self.quorum_for_candidacy(epoch);
        self.stand(now);
    }

    /// Stands for election in the present epoch, for which this node has voted for itself.
    fn stand(&mut self, now: Nanos) {
        let election = self.poll(now);
        self.enter(self.quorum, State::Candidate(election));
        if self.voter_set().majority() == 1 && self.is_voter() {
            self.become_leader(now, vec![self.config.key()]);
        }
    }

    fn quorum_for_candidacy(&mut self, epoch: Epoch) {
        self.quorum = QuorumState {
            epoch,
            leader: None,
            voted: Some(self.config.key()),
        };
        self.actions.push(Action::Persist(self.quorum));
    }

    /// Seed 5. The epoch begins with a LeaderChange (KIP-595 "LeaderChangeMessage").
    pub(super) fn become_leader(&mut self, now: Nanos, granting_voters: Vec<ReplicaKey>) {
        let epoch = self.quorum.epoch;
        let leadership = Leadership {
            epoch_start: self.log.end(),
            high_watermark: None,
            followers: self.followers_from(now),
            observers: Vec::new(),
            changes: Vec::new(),
        };
        let mut quorum = self.quorum;
        quorum.leader = Some(self.config.id());
        self.enter(quorum, State::Leader(leadership));
        self.append_leader_change(epoch, granting_voters);
    }

    /// The first record of an epoch. Where the voters are known from formatting only, the log is
    /// made to name them, in the same batch (KIP-853 "Bootstrapping").
    fn append_leader_change(&mut self, epoch: Epoch, granting_voters: Vec<ReplicaKey>) {
        let base_offset = self.log.end();
        let unnamed = self.voters.latest_change().filter(|at| at.offset < 0);
        let voter_set = unnamed.map(|at| at.voters.clone());
        let end_offset = match &voter_set {
            Some(voters) => {
                let offset = base_offset + 2;
                self.voters.append(VotersAt {
                    offset,
                    voters: voters.clone(),
                });
                offset + 1
            }
            None => base_offset + 1,
        };
        self.log.append(epoch, end_offset);
        self.actions.push(Action::AppendLeaderChange(LeaderChange {
            base_offset,
            epoch,
            leader: self.config.id(),
            voters: self.voter_set().keys().collect(),
            granting_voters,
            voter_set,
        }));
        self.actions.push(Action::Sync(self.log.ticket()));
    }

    /// Gives up leading, if leading (KIP-595 "EndQuorumEpoch"): the others learn whom this node would like to see next.
    pub(super) fn resign(&mut self, now: Nanos) {
        let State::Leader(leader) = &self.state else {
            return;
        };
        let mut successors: Vec<_> = leader.followers.iter().map(|voter| voter.progress).collect();
        successors.sort_by_key(|progress| (std::cmp::Reverse(progress.end_offset), progress.key));
        let preferred = successors.iter().map(|progress| progress.key).collect();
        self.become_resigned(now, preferred);
    }

    fn become_resigned(&mut self, now: Nanos, preferred_successors: Vec<ReplicaKey>) {
        let resignation = Resignation {
            election_at: self.election_timer(now),
            preferred_successors,
        };
        self.enter(self.quorum, State::Resigned(resignation));
    }

    /// After resigning: the next epoch, without a leader as yet, for the one it led is never led again (KIP-595
    /// "Leader election and restarts"). Who does not vote any more leaves
    /// raising the epoch to those who do.
    pub(super) fn move_on(&mut self, now: Nanos) {
        if !self.may_stand() {
            return self.become_unattached(now, self.quorum.epoch);
        }
        match self.quorum.epoch.checked_add(1) {
            Some(epoch) => self.become_unattached(now, epoch),
            None => self.die(Fatal::EpochsExhausted),
        }
    }

    /// The present quorum state if it is of that epoch; that epoch's blank one otherwise.
    fn quorum_in(&self, epoch: Epoch) -> QuorumState {
        if epoch == self.quorum.epoch {
            self.quorum
        } else {
            QuorumState {
                epoch,
                ..QuorumState::default()
            }
        }
    }

    /// Seed 2 and 4: what is said in the new state rests on the disk (KIP-595 "Quorum State").
    pub(super) fn enter(&mut self, quorum: QuorumState, state: State) {
        if quorum != self.quorum {
            self.quorum = quorum;
            self.actions.push(Action::Persist(quorum));
        }
        self.abandon_download();
        self.refuse_changes();
        self.state = state;
        self.calls.clear();
        self.note_peers();
        self.actions.push(Action::Standing(self.standing()));
        self.refuse_parked();
    }

    /// Whom there is to talk to: the voters, the leader, and, where the log names the voters, the
    /// bootstrap servers.
    fn note_peers(&mut self) {
        let me = self.config.id();
        let mut peers: Vec<NodeId> = self.peers().map(|key| key.id).collect();
        let others = self.config.bootstrap().iter().copied();
        for node in others.chain(self.quorum.leader) {
            if node != me && !peers.contains(&node) {
                peers.push(node);
            }
        }
        self.calls.set_peers(&peers);
    }

    /// The voters in force are others than before: whoever counts on them learns of it.
    pub(super) fn note_voters_changed(&mut self, now: Nanos) {
        self.note_peers();
        let votes = self.may_stand();
        let timer = self.election_timer(now);
        if let State::Unattached { election_at } = &mut self.state
            && votes != election_at.is_some()
        {
            *election_at = votes.then_some(timer);
        }
        self.recount_followers(now);
    }

    fn poll(&mut self, now: Nanos) -> Election {
        Election {
            deadline: self.election_timer(now),
            granted: self.is_voter().then(|| self.config.key()).into_iter().collect(),
            rejected: 0,
        }
    }

    /// Seed, split votes: randomized, so that simultaneous candidacies are unlikely. T..2T from now; at once where there is nobody to collide with.
    pub(super) fn election_timer(&mut self, now: Nanos) -> Nanos {
        if self.voter_set().len() == 1 && self.is_voter() {
            return now;
        }
        let base = nanos(self.config.timeouts().election_timeout);
        let jitter = self.random.below(base);
        now.saturating_add(base).saturating_add(jitter)
    }

    pub(super) fn fetch_timer(&self, now: Nanos) -> Nanos {
        now.saturating_add(nanos(self.config.timeouts().fetch_timeout))
    }
}
