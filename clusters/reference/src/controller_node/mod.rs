//! A controller: a voter of the metadata quorum, and, while it leads, the one that decides.
//!
//! One task owns all of it and handles one event at a time. A request becomes one batch of records, which is
//! taken in at once, so that the next request sees it, and answered once it is committed; an answer that
//! needs no records waits too, for it may rest on records that are not committed yet. On losing the
//! leadership every answer that waits becomes NOT_CONTROLLER, and the state is built anew from what is
//! committed.

mod admin;
mod answers;
mod registering;
mod requests;

use std::collections::BTreeMap;

use controller::Controller;
use kafka_protocol::messages::ApiKey;
use records::Record;
use storage::{BatchBuilder, Records};
use tokio::sync::{mpsc, watch};

use crate::clock::Clock;
use crate::config::Config;
use crate::diary::{failed, info};
use crate::failure::Failure;
use crate::format::{self, Levels};
use crate::net::frame::FrameError;
use crate::net::peers::Peers;
use crate::net::server::Incoming;
use crate::node::{Door, Home};
use crate::quorum::{self, Committed, Fatal, Identity, Next, NotOurs, Quorum, for_each_record};
use registering::Registering;

/// Events that are handled before the log is synced and answers given, at most.
const MAX_BURST: usize = 1024;
/// Committed batches that are taken in before peers and clients are heard again, at most. A leader that has just
/// started replays the whole log, and must not let its followers' fetches wait for that as long as a fetch time-out:
/// they would elect another, which begins with the same replay.
const MAX_TAKEN_IN: usize = 128;
/// How long a controller that stops tells the others, before it ends all the same.
const FAREWELL: std::time::Duration = std::time::Duration::from_millis(100);

/// Whether an answer's records were committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Committed,
    /// This controller is not active any more. The records may be committed all the same.
    Lost,
}

/// An answer that waits for the log to be committed up to an offset.
type Waiting = Box<dyn FnOnce(Fate) + Send>;

/// A controller.
struct Node {
    config: Config,
    cluster_id: String,
    clock: Clock,
    quorum: Quorum,
    state: Controller,
    bootstrap: Levels,
    /// The epoch in which this controller is active.
    active: Option<i32>,
    registering: Registering,
    /// The offset after the last record that the state has taken in.
    taken_in: i64,
    /// Whether more is committed than was taken in.
    behind: bool,
    /// By the offset up to which the log must be committed.
    waiting: BTreeMap<i64, Vec<Waiting>>,
}

/// Runs a controller until it is told to stop.
///
/// # Errors
/// When it cannot start, or its disk refuses.
pub async fn run(config: Config, home: Home, mut stop: watch::Receiver<bool>) -> Result<(), Failure> {
    let (requests, mut inbox) = mpsc::unbounded_channel();
    let (answers, mut quorum_inbox) = mpsc::unbounded_channel();
    let bootstrap = format::read_bootstrap(&config.log_dir)?;
    let door = Door::hold(&config)?;
    let clock = Clock::start();
    let identity = Identity {
        cluster_id: home.cluster_id.clone(),
        node_id: config.node_id,
        directory_id: home.directory_id,
    };
    let peers = Peers::new(config.node_id, config.request_timeout);
    let quorum = Quorum::start(&config, identity, peers.clone(), answers, clock)?;
    let mut node = Node {
        state: Controller::new(settings(&config, home.cluster_id.clone())),
        config,
        cluster_id: home.cluster_id,
        clock,
        quorum,
        bootstrap,
        active: None,
        registering: Registering::new(peers),
        taken_in: 0,
        behind: false,
        waiting: BTreeMap::new(),
    };
    let server = door.open(crate::api::CONTROLLER, requests)?;
    let ended = node.main_loop(&mut inbox, &mut quorum_inbox, &mut stop).await;
    server.abort();
    ended.map_err(|error| {
        failed!("FATAL {error}");
        Failure::other(
            "The controller stopped.",
            error.to_string(),
            "Mend what is named there, then start the node again.",
        )
    })
}

fn settings(config: &Config, cluster_id: String) -> controller::Config {
    controller::Config {
        cluster_id,
        session_timeout_ms: u64::try_from(config.session_timeout.as_millis()).unwrap_or(u64::MAX),
        min_insync_replicas: config.min_insync_replicas,
        unclean_leader_election: config.unclean_leader_election,
        num_partitions: config.num_partitions,
        default_replication_factor: config.default_replication_factor,
    }
}

impl Node {
    async fn main_loop(
        &mut self,
        inbox: &mut mpsc::UnboundedReceiver<Incoming>,
        quorum_inbox: &mut mpsc::UnboundedReceiver<quorum::Answer>,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<(), Fatal> {
        self.settle()?;
        loop {
            let wake = tokio::time::Instant::from_std(self.clock.at(self.next_deadline()));
            tokio::select! {
                Some(incoming) = inbox.recv() => self.request(incoming)?,
                Some(answer) = quorum_inbox.recv() => self.quorum.take(answer)?,
                () = tokio::time::sleep_until(wake) => {}
                () = tokio::task::yield_now(), if self.behind => {}
                _ = stop.wait_for(|stop| *stop) => return self.stop().await,
            }
            for _ in 0..MAX_BURST {
                match (quorum_inbox.try_recv(), inbox.try_recv()) {
                    (Err(_), Err(_)) => break,
                    (answer, incoming) => {
                        if let Ok(answer) = answer {
                            self.quorum.take(answer)?;
                        }
                        if let Ok(incoming) = incoming {
                            self.request(incoming)?;
                        }
                    }
                }
            }
            self.settle()?;
        }
    }

    /// Hands the leadership on, if this controller has it, so that the others need not wait for a time-out.
    async fn stop(&mut self) -> Result<(), Fatal> {
        let led = self.quorum.standing().role == raft::Role::Leader;
        self.quorum.resign()?;
        self.settle()?;
        if led {
            tokio::time::sleep(FAREWELL).await;
        }
        self.quorum.close()?;
        info!("stopped");
        Ok(())
    }

    fn next_deadline(&self) -> u64 {
        let sessions = self.active.and_then(|_| self.state.next_deadline_ms());
        // With nothing to wait for, a look a minute costs nothing.
        let idle = self.clock.ms() + 60_000;
        [
            self.quorum.next_deadline(),
            sessions,
            self.registering.next_deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(idle)
    }

    /// Takes a request. One that is malformed closes its connection: its reply is dropped.
    fn request(&mut self, incoming: Incoming) -> Result<(), Fatal> {
        let Err(NotOurs(incoming)) = self.quorum.serve(incoming)? else {
            return Ok(());
        };
        match self.serve(incoming) {
            Ok(served) => served,
            Err(error) => {
                crate::diary::warning!("a connection is closed: {error}");
                Ok(())
            }
        }
    }

    fn serve(&mut self, incoming: Incoming) -> Result<Result<(), Fatal>, FrameError> {
        match incoming.key {
            ApiKey::BrokerRegistration => self.register_broker(incoming),
            ApiKey::BrokerHeartbeat => self.heartbeat(incoming),
            ApiKey::AlterPartition => self.alter_partition(incoming),
            ApiKey::CreateTopics => self.create_topics(incoming),
            ApiKey::DeleteTopics
            | ApiKey::CreatePartitions
            | ApiKey::IncrementalAlterConfigs
            | ApiKey::ElectLeaders
            | ApiKey::AlterPartitionReassignments
            | ApiKey::ListPartitionReassignments
            | ApiKey::UnregisterBroker
            | ApiKey::UpdateFeatures => self.administer(incoming),
            ApiKey::ControllerRegistration => self.register_controller(incoming),
            _ => self.answer(incoming).map(Ok),
        }
    }

    /// Does all that follows from the events so far, and from time.
    fn settle(&mut self) -> Result<(), Fatal> {
        self.quorum.tick()?;
        self.quorum.settle()?;
        self.note_standing();
        self.leave_office_if_lost()?;
        self.take_in_committed()?;
        self.take_office_if_won()?;
        self.register_itself()?;
        self.end_sessions()?;
        // What was appended just now is to be synced just now.
        self.quorum.settle()?;
        self.answer_committed();
        Ok(())
    }

    fn note_standing(&mut self) {
        if let Some(standing) = self.quorum.take_standing_change() {
            let leader = standing
                .leader
                .map_or("none".to_owned(), |leader| leader.to_string());
            info!(
                "{:?} in epoch {} (leader {leader})",
                standing.role, standing.epoch
            );
        }
    }

    fn leave_office_if_lost(&mut self) -> Result<(), Fatal> {
        let Some(epoch) = self.active else {
            return Ok(());
        };
        if self.quorum.raft().active_epoch() == Some(epoch) {
            return Ok(());
        }
        info!("no longer the active controller of epoch {epoch}");
        self.active = None;
        self.lose_waiting();
        self.state.reset();
        self.taken_in = 0;
        self.quorum.hand_out_again();
        Ok(())
    }

    fn take_in_committed(&mut self) -> Result<(), Fatal> {
        for _ in 0..MAX_TAKEN_IN {
            let Some(next) = self.quorum.next_committed()? else {
                self.behind = false;
                return Ok(());
            };
            match next {
                Next::Snapshot(snapshot) => {
                    self.state.reset();
                    self.taken_in = snapshot.id().end_offset;
                    // Where a record of a snapshot stood is not known; it was before this.
                    let last = self.taken_in - 1;
                    for_each_record(&snapshot, |record| {
                        self.state
                            .replay(last, last, &record)
                            .map_err(|error| error.to_string())
                    })?;
                }
                // An active controller has taken in its own records already.
                Next::Batch(batch) if batch.end_offset > self.taken_in => self.take_in(&batch)?,
                Next::Batch(_) => {}
            }
        }
        self.behind = true;
        Ok(())
    }

    fn take_in(&mut self, batch: &Committed) -> Result<(), Fatal> {
        self.taken_in = batch.end_offset;
        if batch.is_control {
            return Ok(());
        }
        let broken = |error: &dyn std::fmt::Display| {
            Fatal::Quorum(format!(
                "the metadata batch at offset {}: {error}",
                batch.base_offset
            ))
        };
        for record in Records::of(&batch.bytes).map_err(|error| broken(&error))? {
            let record = record.map_err(|error| broken(&error))?;
            let decoded = Record::decode(record.value.unwrap_or_default()).map_err(|error| broken(&error))?;
            self.state
                .replay(record.offset, batch.base_offset, &decoded)
                .map_err(|error| broken(&error))?;
        }
        Ok(())
    }

    /// Becomes active once it leads, and has taken in all that its predecessors committed.
    fn take_office_if_won(&mut self) -> Result<(), Fatal> {
        let won = self.quorum.raft().active_epoch();
        if won.is_none() || won == self.active || self.behind {
            return Ok(());
        }
        self.active = won;
        self.state.activate(self.clock.ms());
        info!("active controller of epoch {}", won.unwrap_or_default());
        if self.state.image().features().is_empty() {
            let records = self.state.bootstrap_records(self.bootstrap.clone());
            self.append(&records)?;
        }
        Ok(())
    }

    /// Fences brokers whose sessions have ended, each with a batch of its own.
    fn end_sessions(&mut self) -> Result<(), Fatal> {
        while self.active.is_some() {
            let records = self.state.tick(self.clock.ms());
            if records.is_empty() {
                break;
            }
            for record in &records {
                if let Record::BrokerRegistrationChange(change) = record {
                    info!("broker {} is fenced: its session has ended", change.broker_id);
                }
            }
            if !self.append(&records)? {
                break;
            }
        }
        Ok(())
    }

    /// Appends one batch and takes it in. Nothing happens, and it says so, where this controller is not the
    /// active one any more.
    fn append(&mut self, records: &[Record]) -> Result<bool, Fatal> {
        let Some(epoch) = self.active else {
            return Ok(false);
        };
        if records.is_empty() {
            return Ok(true);
        }
        let broken =
            |error: &dyn std::fmt::Display| Fatal::Quorum(format!("metadata cannot be appended: {error}"));
        let mut batch = BatchBuilder::new(self.clock.wall_ms());
        for record in records {
            batch
                .push(None, Some(&record.encode()), &[])
                .map_err(|error| broken(&error))?;
        }
        let Some(base_offset) = self.quorum.append(epoch, &batch)? else {
            return Ok(false);
        };
        for (offset, record) in (base_offset..).zip(records) {
            self.state
                .replay(offset, base_offset, record)
                .map_err(|error| broken(&error))?;
        }
        self.taken_in = self.quorum.end_offset();
        Ok(true)
    }

    /// Tells all who wait that this controller cannot say.
    fn lose_waiting(&mut self) {
        for waiting in std::mem::take(&mut self.waiting).into_values().flatten() {
            waiting(Fate::Lost);
        }
    }

    /// Has an answer wait until all that it may rest on is committed.
    fn when_committed(&mut self, answer: Waiting) {
        let required = self.quorum.end_offset();
        self.waiting.entry(required).or_default().push(answer);
    }

    fn answer_committed(&mut self) {
        if self.active.is_none() {
            return;
        }
        let rest = self.waiting.split_off(&(self.quorum.high_watermark() + 1));
        for waiting in std::mem::replace(&mut self.waiting, rest).into_values().flatten() {
            waiting(Fate::Committed);
        }
    }
}
