//! The state machine's frame: starting, dispatch, and what it shows.

use std::fmt;
use std::num::NonZeroU32;

use crate::config::nanos;
use crate::log::{Log, LogError, LogSummary};
use crate::random::Random;
use crate::voters::VoterHistory;
use crate::{
    Action, Body, Config, Epoch, Event, Fatal, Nanos, NodeId, Offset, QuorumState, Refusal, ReplicaKey,
    Request, RequestId, Response, SnapshotId, VoterSet,
};

mod calls;
mod deadlines;
mod following;
mod leading;
mod parked;
mod sending;
mod snapshots;
mod state;
mod transitions;
mod voter_changes;
mod voting;

use calls::Calls;
use parked::Parked;
use state::State;
pub use state::{ReplicaProgress, Role, Standing};

/// One node's part in one quorum. See the crate's head.
#[derive(Debug, Clone)]
pub struct Raft {
    config: Config,
    quorum: QuorumState,
    state: State,
    log: Log,
    high_watermark: Option<Offset>,
    /// The snapshot that the driver is putting in the place of the log.
    installing: Option<SnapshotId>,
    voters: VoterHistory,
    calls: Calls,
    parked: Vec<Parked>,
    random: Random,
    actions: Vec<Action>,
    dead: bool,
}

impl Raft {
    /// Starts from what the disk has. `seed` drives the timers' jitter, so nodes (and incarnations)
    /// should differ in it.
    ///
    /// # Errors
    ///
    /// When what the disk has describes no log, or no quorum state.
    pub fn start(
        now: Nanos,
        config: Config,
        quorum: QuorumState,
        log: LogSummary,
        seed: u64,
    ) -> Result<(Self, Vec<Action>), StartError> {
        if quorum.epoch < 0 {
            return Err(StartError::NegativeEpoch(quorum.epoch));
        }
        let voters = VoterHistory::new(config.fixed_voters().clone(), log.voters.clone());
        let log = Log::new(log).map_err(StartError::Log)?;
        let mut raft = Self {
            calls: Calls::new(),
            voters,
            installing: None,
            config,
            quorum,
            state: State::Unattached { election_at: None },
            log,
            high_watermark: None,
            parked: Vec::new(),
            random: Random::new(seed),
            actions: Vec::new(),
            dead: false,
        };
        // What a snapshot holds is committed (KIP-630).
        if let Some(snapshot) = raft.log.snapshot() {
            raft.commit(snapshot.end_offset);
        }
        raft.resume(now);
        let actions = raft.settle(now);
        Ok((raft, actions))
    }

    /// Takes an event in; the actions must be executed in order before the next.
    pub fn handle(&mut self, now: Nanos, event: Event) -> Vec<Action> {
        if self.dead {
            return Vec::new();
        }
        match event {
            Event::Tick => {}
            Event::Request { id, request } => self.on_request(now, id, request),
            Event::Response { from, call, response } => self.on_response(now, from, call, response),
            Event::CallFailed { to, call } => {
                if self.calls.close(to, call) {
                    self.back_off(now, to);
                    self.miss_leader(now, to);
                }
            }
            Event::Synced(ticket) => {
                if self.log.mark_synced(ticket) {
                    self.advance_high_watermark(now);
                }
            }
            Event::SnapshotTaken { snapshot, log_start } => self.on_snapshot_taken(snapshot, log_start),
            Event::SnapshotInstalled { snapshot, voters } => self.on_installed(now, snapshot, voters),
            Event::SnapshotRefused(snapshot) => self.on_snapshot_refused(now, snapshot),
            Event::Resign => self.resign(now),
        }
        self.settle(now)
    }

    /// Appends a batch of `records` records as the leader of `epoch`. The first action is the
    /// [`Action::Append`] that says where.
    ///
    /// # Errors
    ///
    /// When this node does not lead that epoch (any more).
    pub fn append(
        &mut self,
        now: Nanos,
        epoch: Epoch,
        records: NonZeroU32,
    ) -> Result<Vec<Action>, NotLeader> {
        if self.dead || epoch != self.quorum.epoch || self.role() != Role::Leader {
            return Err(NotLeader(self.standing()));
        }
        let base_offset = self.log.end();
        self.log.append(epoch, base_offset + i64::from(records.get()));
        self.actions.push(Action::Append { base_offset, epoch });
        self.actions.push(Action::Sync(self.log.ticket()));
        Ok(self.settle(now))
    }

    /// What every event ends with: what is due is done, what can be said is said.
    fn settle(&mut self, now: Nanos) -> Vec<Action> {
        self.calls.give_up_overdue(now);
        while !self.dead && self.expire(now) {}
        if !self.dead {
            self.give_up_changes(now);
            self.answer_parked(now);
            self.send_what_is_due(now);
        }
        std::mem::take(&mut self.actions)
    }

    fn on_request(&mut self, now: Nanos, id: RequestId, request: Request) {
        let body = match request {
            Request::Vote(vote) => self.on_vote(now, vote),
            Request::BeginQuorumEpoch(begin) => self.on_begin_quorum_epoch(now, begin),
            Request::EndQuorumEpoch(end) => self.on_end_quorum_epoch(now, &end),
            Request::Fetch(fetch) => match self.on_fetch(now, id, fetch) {
                Ok(()) => return,
                Err(refusal) => Err(refusal),
            },
            Request::FetchSnapshot(fetch) => self.on_fetch_snapshot(now, fetch),
            Request::AddVoter(add) => match self.on_add_voter(now, id, add) {
                Ok(()) => return,
                Err(refusal) => Err(refusal),
            },
            Request::RemoveVoter(remove) => match self.on_remove_voter(now, id, remove) {
                Ok(()) => return,
                Err(refusal) => Err(refusal),
            },
            Request::UpdateVoter(update) => self.on_update_voter(now, update),
        };
        self.reply(id, body.unwrap_or_else(Body::Refused));
    }

    fn on_response(
        &mut self,
        now: Nanos,
        from: NodeId,
        call: crate::CallId,
        response: Response<Vec<crate::Batch>>,
    ) {
        let expected = self.calls.close(from, call);
        let asked_in = self.quorum.epoch;
        // What a peer knows of epochs and leaders is true however late it comes.
        self.learn(now, response.epoch, response.leader);
        if !expected || self.dead || self.quorum.epoch != asked_in {
            return;
        }
        match response.body {
            Body::Vote { granted } => self.on_ballot(now, from, granted),
            Body::BeginQuorumEpoch => {}
            Body::EndQuorumEpoch => {
                if let Some(slot) = self.calls.slot_mut(from) {
                    slot.answered = true;
                }
            }
            Body::Fetch(answer) => self.on_fetched(now, from, answer),
            Body::FetchSnapshot(slice) => self.on_snapshot_slice(now, from, slice),
            Body::VotersChanged => {}
            Body::Refused(refusal) => {
                self.back_off(now, from);
                match refusal {
                    Refusal::SnapshotNotFound | Refusal::PositionOutOfRange => self.abandon_download(),
                    Refusal::NotLeaderOrFollower => self.miss_leader(now, from),
                    _ => {}
                }
            }
        }
    }

    fn reply(&mut self, to: RequestId, body: Body<crate::ReadRange>) {
        let Standing { epoch, leader, .. } = self.standing();
        self.actions.push(Action::Reply {
            to,
            response: Response { epoch, leader, body },
        });
    }

    fn back_off(&mut self, now: Nanos, peer: NodeId) {
        let pause = nanos(self.config.timeouts().retry_backoff);
        self.calls.hold_back(peer, now.saturating_add(pause));
    }

    fn die(&mut self, reason: Fatal) {
        self.dead = true;
        self.actions.push(Action::Fatal(reason));
    }

    /// Whether this node's vote counts. One that never votes (a broker) does not, whatever an
    /// administrator had the log say (KIP-853): it does not sync, and cannot lead.
    fn is_voter(&self) -> bool {
        self.config.may_vote() && self.voter_set().contains(self.config.key())
    }

    /// Whether this node may stand: it votes, or its going is not known to be committed.
    fn may_stand(&self) -> bool {
        let going = || {
            let latest = self.voters.latest_change()?;
            let open = self.high_watermark.is_none_or(|known| latest.offset >= known);
            let before = self.voters.before(latest.offset)?;
            Some(open && before.contains(self.config.key()))
        };
        self.is_voter() || self.config.may_vote() && going().unwrap_or(false)
    }

    /// The voters in force: the newest that the log names, committed or not; the fixed ones where it
    /// names none.
    pub fn voter_set(&self) -> &VoterSet {
        self.voters.latest()
    }

    /// The voters but this node.
    fn peers(&self) -> impl Iterator<Item = ReplicaKey> + '_ {
        let me = self.config.id();
        self.voter_set().keys().filter(move |key| key.id != me)
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The present role.
    pub fn role(&self) -> Role {
        self.state.role()
    }

    /// The present epoch.
    pub fn epoch(&self) -> Epoch {
        self.quorum.epoch
    }

    /// The present epoch's leader, if one is known that has not resigned.
    pub fn leader(&self) -> Option<NodeId> {
        self.standing().leader
    }

    /// Role, epoch and leader.
    pub fn standing(&self) -> Standing {
        Standing {
            epoch: self.quorum.epoch,
            role: self.role(),
            leader: self.quorum.leader.filter(|leader| {
                let leads = matches!(self.state, State::Leader(_));
                *leader != self.config.id() || leads
            }),
        }
    }

    /// What the quorum state on disk is, once all actions so far are executed.
    pub fn quorum_state(&self) -> QuorumState {
        self.quorum
    }

    /// All records below are known to be committed. None until something is known.
    pub fn high_watermark(&self) -> Option<Offset> {
        self.high_watermark
    }

    /// Where the log starts: what is below is in a snapshot.
    pub fn log_start_offset(&self) -> Offset {
        self.log.start()
    }

    /// The log's end, synced or not: where the next append goes.
    pub fn log_end_offset(&self) -> Offset {
        self.log.end()
    }

    /// The epoch in which this node leads and has committed a record, so that all that earlier
    /// leaders committed is below the high watermark. A controller that has applied everything
    /// below it may act from then on, and not before.
    pub fn active_epoch(&self) -> Option<Epoch> {
        match &self.state {
            State::Leader(leader) if leader.high_watermark.is_some() => Some(self.quorum.epoch),
            _ => None,
        }
    }

    /// The offset at which this node's leadership starts, while it leads.
    pub fn epoch_start_offset(&self) -> Option<Offset> {
        match &self.state {
            State::Leader(leader) => Some(leader.epoch_start),
            _ => None,
        }
    }

    /// The voters' progress, this node's included; none when not leading.
    pub fn voters(&self) -> Vec<ReplicaProgress> {
        let State::Leader(leader) = &self.state else {
            return Vec::new();
        };
        let mut own = ReplicaProgress::new(self.config.key());
        own.end_offset = Some(self.log.synced());
        let own = self.is_voter().then_some(own);
        let others = leader.followers.iter().map(|voter| voter.progress);
        own.into_iter().chain(others).collect()
    }

    /// The progress of observers that fetched of late; none when not leading.
    pub fn observers(&self) -> &[ReplicaProgress] {
        match &self.state {
            State::Leader(leader) => &leader.observers,
            _ => &[],
        }
    }
}

/// An append by a node that does not lead (that epoch).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotLeader(
    /// What it is instead.
    pub Standing,
);

impl fmt::Display for NotLeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Standing { epoch, role, .. } = self.0;
        write!(
            f,
            "cannot append: this node is {role:?} in epoch {epoch}; ask the leader"
        )
    }
}

impl std::error::Error for NotLeader {}

/// Why a node cannot start from what its disk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartError {
    /// The log's summary is none.
    Log(LogError),
    /// `quorum-state` has an epoch below zero.
    NegativeEpoch(Epoch),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(error) => write!(f, "the metadata log cannot be used: {error}"),
            Self::NegativeEpoch(epoch) => write!(
                f,
                "quorum-state has epoch {epoch}, which no quorum ever reached: restore the file"
            ),
        }
    }
}

impl std::error::Error for StartError {}

/// The refusal every request for a leader meets elsewhere.
fn leader_only(role: Role) -> Result<(), Refusal> {
    match role {
        Role::Leader => Ok(()),
        _ => Err(Refusal::NotLeaderOrFollower),
    }
}
