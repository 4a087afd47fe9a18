//! The metadata log on this node, and the machine that decides about it: the driver of [`raft`].
//!
//! Controllers vote, and sync before they count; brokers observe, and do not sync: what a loss of power
//! takes from them is fetched again. What is committed is handed out in order ([`Quorum::next_committed`]):
//! first the newest snapshot, if there is any, then batch after batch.
//!
//! Snapshots (KIP-630): after so many bytes, or so long, a thread of its own writes the committed state
//! down ([`scribe`]). The newest snapshot and the one before it are kept, and the log from the end of the
//! one before on, so that a follower which is only a little behind needs none. Installing one that was
//! fetched holds this node up for as long as checking and syncing it takes; nothing else does.

mod acting;
mod addresses;
mod company;
pub(crate) mod control;
mod exchange;
mod opening;
mod scribe;
mod serving;
mod snapshots;
pub mod wire;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use raft::{AddVoter, CallId, Event, NodeId, Raft, RequestId, Standing, SyncTicket};
use storage::quorum_state;
use storage::snapshot::SnapshotReader;
use storage::{BatchBuilder, Log, ReadLimit, StorageError};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::clock::Clock;
use crate::config::{Config, Role};
use crate::failure::Failure;
use crate::net::peers::Peers;
use crate::net::server::Reply;
use addresses::Addresses;
pub use addresses::Located;
use company::Company;
use serving::Asked;
pub use serving::NotOurs;
use snapshots::Snapshots;
pub use snapshots::for_each_record;
use wire::Own;

/// The folder of the metadata log.
pub const METADATA_FOLDER: &str = "__cluster_metadata-0";
/// Committed metadata that is read at a time: a replay of many small batches takes few reads.
const READ_AHEAD_BYTES: usize = 256 << 10;

/// Who this node is.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The cluster.
    pub cluster_id: String,
    /// The node.
    pub node_id: i32,
    /// Its directory.
    pub directory_id: Uuid,
}

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

/// What others did for the quorum: to be handed to [`Quorum::take`].
#[derive(Debug)]
pub struct Answer(Told);

#[derive(Debug)]
enum Told {
    /// A peer answered, or did not.
    Peer {
        from: NodeId,
        call: CallId,
        outcome: exchange::Outcome,
    },
    /// Somebody who is to vote was asked what it supports.
    Vetted {
        ask: AddVoter,
        reply: Reply,
        /// The versions of the quorum's protocol; none where there was no answer.
        supported: Option<(i16, i16)>,
    },
    /// A snapshot was made, was not needed any more, or could not be made.
    Snapshot(Result<Option<SnapshotReader>, Fatal>),
}

/// What is committed next.
#[derive(Debug)]
pub enum Next {
    /// All that was handed out before is replaced by this state.
    Snapshot(Arc<SnapshotReader>),
    /// A batch that follows.
    Batch(Committed),
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
    /// When it was appended, in milliseconds since 1970.
    pub timestamp: i64,
    /// The batch.
    pub bytes: Bytes,
}

/// The driver.
pub struct Quorum {
    raft: Raft,
    log: Log,
    state_path: PathBuf,
    own: Own,
    addresses: Addresses,
    company: Company,
    /// How long a folder counts as there after it was heard, in milliseconds.
    folder_patience_ms: u64,
    peers: Peers,
    answers: mpsc::UnboundedSender<Answer>,
    clock: Clock,
    asked: BTreeMap<RequestId, Asked>,
    next_request: u64,
    /// Events that executing actions gave rise to; they go to the machine once all actions are executed.
    arising: VecDeque<Event>,
    snapshots: Snapshots,
    /// How long this node gives a change of voters that names no time of its own.
    request_timeout_nanos: u64,
    /// Whether the log is synced when the machine asks for it.
    syncs: bool,
    ticket: Option<SyncTicket>,
    high_watermark: i64,
    /// What lies below was handed out by [`Quorum::next_committed`].
    handed_out: i64,
    /// Committed batches that were read with one that was wanted.
    read_ahead: VecDeque<Committed>,
    /// The state is to be replaced by the newest snapshot before anything else is handed out.
    replaces_state: bool,
    standing_changed: bool,
    /// The epoch of this node's registration, where it is a broker.
    pub broker_epoch: i64,
}

impl Quorum {
    /// Opens the log and the state in the node's folder, and starts the machine. What others do for it
    /// arrives at `answers`, and is to be handed to [`Quorum::take`].
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
        let own = opening::own(config, identity);
        let opened = opening::open(&folder, config)?;
        let unworkable = |why: String| {
            Failure::usage(
                "Cannot take part in the metadata quorum.",
                why,
                "Correct the configuration, or restore the metadata log.",
            )
        };
        let mut addresses = Addresses::new(config, own.place.clone());
        for at in &opened.summary.voters {
            addresses.learn_voters(&at.voters);
        }
        let settings = opening::settings(config, &own, addresses.bootstrap())
            .map_err(|error| unworkable(error.to_string()))?;
        let seed = uuid::Uuid::new_v4().as_u64_pair().0;
        let (raft, actions) = Raft::start(clock.nanos(), settings, opened.state, opened.summary, seed)
            .map_err(|error| unworkable(error.to_string()))?;
        let snapshots = Snapshots::new(config, &folder, opened.snapshot, answers.clone(), clock)?;
        let mut quorum = Self {
            raft,
            state_path: folder.join(quorum_state::FILE_NAME),
            own,
            addresses,
            company: Company::default(),
            folder_patience_ms: u64::try_from(config.fetch_timeout.as_millis()).unwrap_or(u64::MAX),
            peers,
            answers,
            clock,
            asked: BTreeMap::new(),
            next_request: 0,
            arising: VecDeque::new(),
            replaces_state: snapshots.newest().is_some(),
            snapshots,
            request_timeout_nanos: u64::try_from(config.request_timeout.as_nanos()).unwrap_or(u64::MAX),
            syncs: config.role == Role::Controller,
            ticket: None,
            high_watermark: 0,
            handed_out: opened.log.start_offset(),
            read_ahead: VecDeque::new(),
            log: opened.log,
            standing_changed: true,
            broker_epoch: -1,
        };
        quorum
            .carry_out(actions)
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

    /// When the machine wants a tick, or a snapshot is due, in milliseconds.
    pub fn next_deadline(&self) -> Option<u64> {
        let tick = self.raft.next_deadline().map(|nanos| nanos.div_ceil(1_000_000));
        [tick, self.snapshots.next_deadline()].into_iter().flatten().min()
    }

    /// Time passed.
    pub fn tick(&mut self) -> Result<(), Fatal> {
        self.handle(Event::Tick)
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
        self.addresses.address(self.raft.standing().leader?)
    }

    /// Where the voters are, as far as is known.
    pub fn members(&self) -> impl Iterator<Item = &Located> {
        let voters = self.raft.voter_set().keys();
        voters.filter_map(|key| self.addresses.located(key.id))
    }

    /// The level of `kraft.version`: 1 where voters are named in the log.
    pub fn kraft_version(&self) -> i16 {
        i16::from(self.own.dynamic)
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
        if self.replaces_state {
            -1
        } else {
            self.handed_out - 1
        }
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
                self.carry_out_with(actions, &acting::Context::Batch(batch))?;
                Ok(Some(base_offset))
            }
            Err(_) => Ok(None),
        }
    }

    /// Takes what others did.
    pub fn take(&mut self, answer: Answer) -> Result<(), Fatal> {
        match answer.0 {
            Told::Peer { from, call, outcome } => self.take_outcome(from, call, outcome),
            Told::Vetted {
                ask,
                reply,
                supported,
            } => self.add_vetted(ask, reply, supported),
            Told::Snapshot(made) => self.snapshot_made(made?),
        }
    }

    /// Leads no longer, if it leads.
    pub fn resign(&mut self) -> Result<(), Fatal> {
        self.handle(Event::Resign)
    }

    /// Syncs, if the machine has asked for it since the last time. To be called once after each burst of
    /// events, so that one sync serves them all.
    pub fn settle(&mut self) -> Result<(), Fatal> {
        while let Some(ticket) = self.ticket.take() {
            if self.syncs {
                self.log.sync()?;
            }
            self.handle(Event::Synced(ticket))?;
        }
        Ok(())
    }

    /// What is committed next, from the newest snapshot on. With none left, and if it is time, a snapshot of
    /// all that was handed out is begun.
    pub fn next_committed(&mut self) -> Result<Option<Next>, Fatal> {
        if std::mem::take(&mut self.replaces_state)
            && let Some(newest) = self.snapshots.newest()
        {
            self.handed_out = newest.id().end_offset;
            return Ok(Some(Next::Snapshot(newest.clone())));
        }
        let batch = self.next_batch()?;
        match &batch {
            Some(batch) => self.snapshots.follow(batch),
            None => self.snapshot_if_due()?,
        }
        Ok(batch.map(Next::Batch))
    }

    fn next_batch(&mut self) -> Result<Option<Committed>, Fatal> {
        if self.handed_out >= self.high_watermark {
            return Ok(None);
        }
        if self.read_ahead.front().map(|batch| batch.base_offset) != Some(self.handed_out) {
            self.read_ahead()?;
        }
        let batch = self.read_ahead.pop_front();
        if let Some(batch) = &batch {
            self.handed_out = batch.end_offset;
        }
        Ok(batch)
    }

    /// Reads what is committed next. What is committed is never cut, so it may wait until it is wanted.
    fn read_ahead(&mut self) -> Result<(), Fatal> {
        self.read_ahead.clear();
        let limit = ReadLimit {
            max_bytes: READ_AHEAD_BYTES,
            at_least_one: true,
            upper_bound: self.high_watermark,
        };
        let bytes = self.log.read(self.handed_out, limit)?;
        for (header, batch) in wire::fetch::whole_batches(&bytes) {
            self.read_ahead.push_back(Committed {
                base_offset: header.base_offset,
                end_offset: header.next_offset(),
                is_control: header.attributes.is_control(),
                timestamp: header.max_timestamp,
                bytes: bytes.slice_ref(batch),
            });
        }
        Ok(())
    }

    /// Hands everything committed out again. Whoever asks for it forgets what it knows.
    pub fn hand_out_again(&mut self) {
        self.replaces_state = self.snapshots.newest().is_some();
        self.handed_out = self.log.start_offset();
    }

    /// Syncs what there is, at the end.
    pub fn close(&mut self) -> Result<(), StorageError> {
        self.log.sync().map(|_| ())
    }
}
