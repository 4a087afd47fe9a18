//! The metadata log on this node, and the machine that decides about it: the driver of [`raft`].
//!
//! Controllers vote, and sync before they count; brokers observe, and do not sync: what a loss of power
//! takes from them is fetched again.

mod control;
pub mod wire;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use kafka_protocol::messages::{BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchRequest, VoteRequest};
use raft::{
    Action, Body, CallId, EpochStart, Event, Fetched, LogSummary, NodeId, Raft, RequestId, Response,
    Standing, SyncTicket,
};
use storage::quorum_state::{self, Version, VotedKey};
use storage::{BatchBuilder, Log, LogConfig, ReadLimit, StorageError};
use tokio::sync::mpsc;

pub use wire::Identity;

use crate::clock::Clock;
use crate::config::{Config, HELD_FETCH_LIMIT, Role};
use crate::diary::info;
use crate::failure::Failure;
use crate::net::frame::FrameError;
use crate::net::peers::Peers;
use crate::net::server::{Incoming, Reply};

/// The folder of the metadata log.
pub const METADATA_FOLDER: &str = "__cluster_metadata-0";
/// Size of a segment of the metadata log.
const SEGMENT_BYTES: u64 = 64 << 20;
/// The pause after a request to a peer that failed.
const RETRY_BACKOFF: std::time::Duration = std::time::Duration::from_millis(50);
/// A follower's fetches are held this fraction of the fetch time-out at most, so that an idle quorum, on a
/// machine that stalls a little, holds no elections.
const HELD_FETCHES_A_TIMEOUT: u32 = 3;

/// Why the node cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Fatal {
    /// The disk refuses.
    #[error("{0}")]
    Storage(#[from] StorageError),
    /// A rule that must never break would break.
    #[error("{0}")]
    Quorum(String),
}

/// An answer of a peer, or that there is none.
#[derive(Debug)]
pub struct Answer {
    from: NodeId,
    call: CallId,
    response: wire::Read,
    records: Bytes,
}

/// A committed batch.
#[derive(Debug, Clone)]
pub struct Committed {
    /// The offset of its first record.
    pub base_offset: i64,
    /// The offset after its last.
    pub end_offset: i64,
    /// It holds the quorum's own records, no metadata.
    pub is_control: bool,
    /// The batch.
    pub bytes: Bytes,
}

/// Who waits for the machine's answer.
#[derive(Debug)]
enum Asked {
    Vote(Reply),
    Begin(Reply),
    End(Reply),
    Fetch { reply: Reply, max_bytes: usize },
}

/// What the machine is executing for.
enum Context<'a> {
    Nothing,
    /// Records of a response.
    Fetched(&'a Bytes),
    /// A batch to append.
    Batch(&'a BatchBuilder),
}

/// The driver.
pub struct Quorum {
    raft: Raft,
    log: Log,
    state_path: PathBuf,
    identity: Identity,
    voters: BTreeMap<i32, SocketAddr>,
    peers: Peers,
    answers: mpsc::UnboundedSender<Answer>,
    clock: Clock,
    asked: BTreeMap<RequestId, Asked>,
    next_request: u64,
    /// Whether the log is synced when the machine asks for it.
    syncs: bool,
    ticket: Option<SyncTicket>,
    high_watermark: i64,
    /// Batches below were handed out by [`Quorum::next_committed`].
    handed_out: i64,
    standing_changed: bool,
    /// The epoch of this node's registration, where it is a broker.
    pub broker_epoch: i64,
}

impl Quorum {
    /// Opens the log and the state in the node's folder, and starts the machine. Its answers from peers
    /// arrive at `answers`, and are to be handed to [`Quorum::take`].
    ///
    /// # Errors
    /// When the disk refuses, or the configuration cannot work.
    pub fn start(
        config: &Config,
        identity: Identity,
        peers: Peers,
        answers: mpsc::UnboundedSender<Answer>,
        clock: Clock,
    ) -> Result<Self, Failure> {
        let folder = config.log_dir.join(METADATA_FOLDER);
        let (log, state) = open(&folder).map_err(|error| {
            Failure::other(
                format!("Cannot open the metadata log in {}.", folder.display()),
                error.to_string(),
                "Free the disk, or restore the folder.",
            )
        })?;
        let unworkable = |why: String| {
            Failure::usage(
                "Cannot take part in the metadata quorum.",
                why,
                "Correct the configuration, or restore the metadata log.",
            )
        };
        let settings = settings(config).map_err(|error| unworkable(error.to_string()))?;
        let seed = uuid::Uuid::new_v4().as_u64_pair().0;
        let (raft, actions) = Raft::start(clock.nanos(), settings, state, summary(&log), seed)
            .map_err(|error| unworkable(error.to_string()))?;
        let mut quorum = Self {
            raft,
            log,
            state_path: folder.join(quorum_state::FILE_NAME),
            identity,
            voters: config
                .voters
                .iter()
                .map(|voter| (voter.id, voter.address))
                .collect(),
            peers,
            answers,
            clock,
            asked: BTreeMap::new(),
            next_request: 0,
            syncs: config.role == Role::Controller,
            ticket: None,
            high_watermark: 0,
            handed_out: 0,
            standing_changed: true,
            broker_epoch: -1,
        };
        quorum
            .execute(actions, &Context::Nothing)
            .and_then(|()| quorum.settle())
            .map_err(|error| {
                Failure::other(
                    "Cannot start the metadata quorum.",
                    error.to_string(),
                    "Free the disk, then start again.",
                )
            })?;
        Ok(quorum)
    }

    /// When the machine wants a tick, in milliseconds.
    pub fn next_deadline(&self) -> Option<u64> {
        self.raft.next_deadline().map(|nanos| nanos.div_ceil(1_000_000))
    }

    /// Time passed.
    pub fn tick(&mut self) -> Result<(), Fatal> {
        self.handle(Event::Tick, &Context::Nothing)
    }

    /// Whether role, epoch or leader changed since this was last asked.
    pub fn take_standing_change(&mut self) -> Option<Standing> {
        std::mem::take(&mut self.standing_changed).then(|| self.raft.standing())
    }

    /// Role, epoch and leader.
    pub fn standing(&self) -> Standing {
        self.raft.standing()
    }

    /// Where the active controller is, as far as is known.
    pub fn leader_address(&self) -> Option<SocketAddr> {
        let leader = self.raft.standing().leader?;
        self.voters.get(&leader.0).copied()
    }

    /// The machine, to ask.
    pub fn raft(&self) -> &Raft {
        &self.raft
    }

    /// The high watermark, as far as this node knows.
    pub fn high_watermark(&self) -> i64 {
        self.high_watermark
    }

    /// The offset of the last record that [`Quorum::next_committed`] has handed out; -1 before the first.
    pub fn last_handed_out(&self) -> i64 {
        self.handed_out - 1
    }

    /// The end of the log.
    pub fn end_offset(&self) -> i64 {
        self.log.end_offset()
    }

    /// Appends a batch as leader of `epoch`; its base offset, or none where this node leads that epoch no more.
    /// It is committed once the high watermark has passed its last record.
    ///
    /// # Errors
    /// When the node cannot go on.
    pub fn append(&mut self, epoch: i32, batch: &BatchBuilder) -> Result<Option<i64>, Fatal> {
        let Some(records) = u32::try_from(batch.len()).ok().and_then(NonZeroU32::new) else {
            return Err(Fatal::Quorum("an empty batch cannot be appended".into()));
        };
        let base_offset = self.log.end_offset();
        match self.raft.append(self.clock.nanos(), epoch, records) {
            Ok(actions) => {
                self.execute(actions, &Context::Batch(batch))?;
                Ok(Some(base_offset))
            }
            Err(_) => Ok(None),
        }
    }

    /// Hands an answer of a peer to the machine.
    pub fn take(&mut self, answer: Answer) -> Result<(), Fatal> {
        let event = match answer.response {
            Some(response) => Event::Response {
                from: answer.from,
                call: answer.call,
                response,
            },
            None => Event::CallFailed {
                to: answer.from,
                call: answer.call,
            },
        };
        self.handle(event, &Context::Fetched(&answer.records))
    }

    /// Leads no longer, if it leads.
    pub fn resign(&mut self) -> Result<(), Fatal> {
        self.handle(Event::Resign, &Context::Nothing)
    }

    /// Syncs, if the machine has asked for it since the last time. To be called once after each burst of
    /// events, so that one sync serves them all.
    pub fn settle(&mut self) -> Result<(), Fatal> {
        while let Some(ticket) = self.ticket.take() {
            if self.syncs {
                self.log.sync()?;
            }
            self.handle(Event::Synced(ticket), &Context::Nothing)?;
        }
        Ok(())
    }

    /// The next committed batch, from the log's start on.
    pub fn next_committed(&mut self) -> Result<Option<Committed>, Fatal> {
        if self.handed_out >= self.high_watermark {
            return Ok(None);
        }
        let limit = ReadLimit {
            max_bytes: 0,
            at_least_one: true,
            upper_bound: self.high_watermark,
        };
        let bytes = self.log.read(self.handed_out, limit)?;
        let Some(header) = wire::batches(&bytes).into_iter().next() else {
            return Ok(None);
        };
        self.handed_out = header.next_offset();
        Ok(Some(Committed {
            base_offset: header.base_offset,
            end_offset: header.next_offset(),
            is_control: header.attributes.is_control(),
            bytes,
        }))
    }

    /// Hands committed batches out from the log's start again.
    pub fn hand_out_again(&mut self) {
        self.handed_out = 0;
    }

    /// Syncs what there is, at the end.
    pub fn close(&mut self) -> Result<(), StorageError> {
        self.log.sync().map(|_| ())
    }

    /// Takes a request of a peer: Vote, BeginQuorumEpoch, EndQuorumEpoch.
    ///
    /// # Errors
    /// When the node cannot go on. A malformed request closes its connection.
    pub fn vote(&mut self, incoming: Incoming) -> Result<(), Fatal> {
        let Some((request, reply)) = readable(incoming.decode::<VoteRequest>()) else {
            return Ok(());
        };
        match wire::read_vote(&self.identity, request) {
            Ok(ask) => self.ask(raft::Request::Vote(ask), Asked::Vote(reply)),
            Err(error) => {
                reply.send(&kafka_protocol::messages::VoteResponse::default().with_error_code(error.code()));
                Ok(())
            }
        }
    }

    /// See [`Quorum::vote`].
    pub fn begin_quorum_epoch(&mut self, incoming: Incoming) -> Result<(), Fatal> {
        let Some((request, reply)) = readable(incoming.decode::<BeginQuorumEpochRequest>()) else {
            return Ok(());
        };
        match wire::read_begin(&self.identity, request) {
            Ok(ask) => self.ask(raft::Request::BeginQuorumEpoch(ask), Asked::Begin(reply)),
            Err(error) => {
                reply.send(
                    &kafka_protocol::messages::BeginQuorumEpochResponse::default()
                        .with_error_code(error.code()),
                );
                Ok(())
            }
        }
    }

    /// See [`Quorum::vote`].
    pub fn end_quorum_epoch(&mut self, incoming: Incoming) -> Result<(), Fatal> {
        let Some((request, reply)) = readable(incoming.decode::<EndQuorumEpochRequest>()) else {
            return Ok(());
        };
        match wire::read_end(&self.identity, request) {
            Ok(ask) => self.ask(raft::Request::EndQuorumEpoch(ask), Asked::End(reply)),
            Err(error) => {
                reply.send(
                    &kafka_protocol::messages::EndQuorumEpochResponse::default()
                        .with_error_code(error.code()),
                );
                Ok(())
            }
        }
    }

    /// Takes a Fetch of the metadata log.
    pub fn fetch(&mut self, incoming: Incoming) -> Result<(), Fatal> {
        let Some((request, reply)) = readable(incoming.decode::<FetchRequest>()) else {
            return Ok(());
        };
        match wire::read_fetch(&self.identity, request, reply.version()) {
            Ok((ask, max_bytes)) => self.ask(raft::Request::Fetch(ask), Asked::Fetch { reply, max_bytes }),
            Err(error) => {
                reply.send(&wire::fetch_refused(error));
                Ok(())
            }
        }
    }

    fn ask(&mut self, request: raft::Request, asked: Asked) -> Result<(), Fatal> {
        let id = RequestId(self.next_request);
        self.next_request += 1;
        self.asked.insert(id, asked);
        self.handle(Event::Request { id, request }, &Context::Nothing)
    }

    fn handle(&mut self, event: Event, context: &Context<'_>) -> Result<(), Fatal> {
        let actions = self.raft.handle(self.clock.nanos(), event);
        self.execute(actions, context)
    }

    fn execute(&mut self, actions: Vec<Action>, context: &Context<'_>) -> Result<(), Fatal> {
        for action in actions {
            self.execute_one(action, context)?;
        }
        Ok(())
    }

    fn execute_one(&mut self, action: Action, context: &Context<'_>) -> Result<(), Fatal> {
        match action {
            Action::Persist(state) => self.persist(state)?,
            Action::Standing(_) => self.standing_changed = true,
            Action::AppendLeaderChange(change) => self.append_leader_change(&change)?,
            Action::Append { base_offset, epoch } => {
                if let Context::Batch(batch) = context {
                    let bytes = batch
                        .build(base_offset, epoch)
                        .map_err(|error| Fatal::Quorum(error.to_string()))?;
                    self.log.append_as_follower(&bytes)?;
                }
            }
            Action::AppendFetched { batches } => {
                if let Context::Fetched(records) = context {
                    let bytes: usize = wire::batches(records)
                        .iter()
                        .take(batches)
                        .map(|header| header.total_bytes)
                        .sum();
                    self.log.append_as_follower(&records[..bytes])?;
                }
            }
            // Voters are fixed here, and no snapshot is ever taken, so none of these is asked for.
            Action::AppendVoters { .. }
            | Action::WriteSnapshotPart { .. }
            | Action::InstallSnapshot(_)
            | Action::AbandonSnapshot(_) => {}
            Action::Truncate { end_offset } => {
                info!(
                    "the metadata log is cut from {} to {end_offset}, where it departs from the leader's",
                    self.log.end_offset()
                );
                self.log.truncate_to(end_offset)?;
            }
            Action::Sync(ticket) => self.ticket = Some(ticket),
            Action::Commit { high_watermark } => self.high_watermark = high_watermark,
            Action::Send { to, call, request } => self.send(to, call, request),
            Action::Reply { to, response } => self.reply(to, &response)?,
            Action::Fatal(fatal) => return Err(Fatal::Quorum(fatal.to_string())),
        }
        Ok(())
    }

    fn persist(&self, state: raft::QuorumState) -> Result<(), StorageError> {
        let voters: Vec<i32> = self.voters.keys().copied().collect();
        let stored = quorum_state::QuorumState {
            leader_epoch: state.epoch,
            leader_id: state.leader.map(|id| id.0),
            voted: state.voted.map(|voted| VotedKey {
                id: voted.id.0,
                directory_id: None,
            }),
        };
        stored.write(&self.state_path, Version::V0 { voters: &voters })
    }

    fn append_leader_change(&mut self, change: &raft::LeaderChange) -> Result<(), Fatal> {
        let impossible = |error: &dyn std::fmt::Display| {
            Fatal::Quorum(format!("a leader change cannot be written: {error}"))
        };
        let record = control::leader_change(change).map_err(|error| impossible(&error))?;
        let mut batch = BatchBuilder::new(self.clock.wall_ms()).control();
        batch
            .push(Some(&control::LEADER_CHANGE_KEY), Some(&record), &[])
            .map_err(|error| impossible(&error))?;
        let bytes = batch
            .build(change.base_offset, change.epoch)
            .map_err(|error| impossible(&error))?;
        self.log.append_as_follower(&bytes)?;
        Ok(())
    }

    fn reply(&mut self, to: RequestId, response: &Response<raft::ReadRange>) -> Result<(), Fatal> {
        match self.asked.remove(&to) {
            None => {}
            Some(Asked::Vote(reply)) => reply.send(&wire::vote_answer(response)),
            Some(Asked::Begin(reply)) => reply.send(&wire::begin_answer(response)),
            Some(Asked::End(reply)) => reply.send(&wire::end_answer(response)),
            Some(Asked::Fetch { reply, max_bytes }) => {
                let records = self.read_for(response, max_bytes)?;
                reply.send(&wire::fetch_answer(response, records));
            }
        }
        Ok(())
    }

    fn read_for(
        &self,
        response: &Response<raft::ReadRange>,
        max_bytes: usize,
    ) -> Result<Bytes, StorageError> {
        let Body::Fetch(raft::FetchAnswer {
            fetched: Fetched::Records(range),
            ..
        }) = &response.body
        else {
            return Ok(Bytes::new());
        };
        if range.from >= range.end {
            return Ok(Bytes::new());
        }
        let limit = ReadLimit {
            max_bytes,
            at_least_one: true,
            upper_bound: range.end,
        };
        self.log.read(range.from, limit)
    }

    fn send(&self, to: NodeId, call: CallId, request: raft::Request) {
        let (peers, answers) = (self.peers.clone(), self.answers.clone());
        let address = self.voters.get(&to.0).copied();
        let (identity, broker_epoch) = (self.identity.clone(), self.broker_epoch);
        tokio::spawn(async move {
            let (response, records) = match address {
                Some(address) => exchange(&peers, address, &identity, broker_epoch, to, request).await,
                None => (None, Bytes::new()),
            };
            // The core is gone when the node stops.
            let _ = answers.send(Answer {
                from: to,
                call,
                response,
                records,
            });
        });
    }
}

/// A request, or nothing where it was malformed: its connection is closed then.
fn readable<T>(decoded: Result<T, FrameError>) -> Option<T> {
    decoded
        .map_err(|error| crate::diary::warning!("a connection is closed: {error}"))
        .ok()
}

async fn exchange(
    peers: &Peers,
    address: SocketAddr,
    identity: &Identity,
    broker_epoch: i64,
    to: NodeId,
    request: raft::Request,
) -> (wire::Read, Bytes) {
    let none = Bytes::new();
    match request {
        raft::Request::FetchSnapshot(_)
        | raft::Request::AddVoter(_)
        | raft::Request::RemoveVoter(_)
        | raft::Request::UpdateVoter(_) => (None, none),
        raft::Request::Vote(ask) => {
            let answer = peers
                .call(address, wire::VOTE_VERSION, &wire::vote(identity, to, &ask))
                .await;
            (answer.ok().and_then(wire::read_vote_answer), none)
        }
        raft::Request::BeginQuorumEpoch(ask) => {
            let request = wire::begin(identity, to, ask);
            let answer = peers
                .call(address, wire::BEGIN_QUORUM_EPOCH_VERSION, &request)
                .await;
            (answer.ok().and_then(wire::read_begin_answer), none)
        }
        raft::Request::EndQuorumEpoch(ask) => {
            let request = wire::end(identity, &ask);
            let answer = peers
                .call(address, wire::END_QUORUM_EPOCH_VERSION, &request)
                .await;
            (answer.ok().and_then(wire::read_end_answer), none)
        }
        raft::Request::Fetch(ask) => {
            let request = wire::fetch(identity, broker_epoch, &ask);
            match peers.call(address, wire::FETCH_VERSION, &request).await {
                Ok(answer) => wire::read_fetch_answer(answer),
                Err(_) => (None, none),
            }
        }
    }
}

fn open(folder: &Path) -> Result<(Log, raft::QuorumState), StorageError> {
    let config = LogConfig {
        segment_bytes: SEGMENT_BYTES,
    };
    let (log, recovery) = Log::open(folder, config, 0)?;
    if let Some(reason) = recovery.reason {
        info!(
            "the metadata log was cut by {} bytes: {reason}",
            recovery.cut_bytes
        );
    }
    let stored = quorum_state::QuorumState::read(&folder.join(quorum_state::FILE_NAME))?;
    let state = stored.map_or_else(raft::QuorumState::default, |stored| raft::QuorumState {
        epoch: stored.leader_epoch,
        leader: stored.leader_id.map(NodeId),
        voted: stored.voted.map(|voted| raft::ReplicaKey::of(NodeId(voted.id))),
    });
    Ok((log, state))
}

fn summary(log: &Log) -> LogSummary {
    let epochs = log.epochs().entries().iter().map(|entry| EpochStart {
        epoch: entry.leader_epoch,
        start_offset: entry.start_offset,
    });
    LogSummary {
        epochs: epochs.collect(),
        end_offset: log.end_offset(),
        ..LogSummary::default()
    }
}

fn settings(config: &Config) -> Result<raft::Config, raft::ConfigError> {
    let timeouts = raft::Timeouts {
        election_timeout: config.election_timeout,
        fetch_timeout: config.fetch_timeout,
        election_backoff_max: config.election_backoff_max,
        request_timeout: config.request_timeout,
        retry_backoff: RETRY_BACKOFF,
        fetch_max_wait: (config.fetch_timeout / HELD_FETCHES_A_TIMEOUT).min(HELD_FETCH_LIMIT),
    };
    let voters: Vec<NodeId> = config.voters.iter().map(|voter| NodeId(voter.id)).collect();
    let settings = raft::Config::new(NodeId(config.node_id), &voters, timeouts)?;
    // The one place where a node's machine is given a bug: none is, unless the command line named it.
    Ok(match config.bug {
        Some(bug) => settings.with_bug(bug),
        None => settings,
    })
}
