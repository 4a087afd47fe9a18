//! A broker: partitions, clients, and its standing with the controller.
//!
//! One task owns all of it and handles one event at a time. After each burst of events it settles: logs are
//! synced once for all that was appended, high watermarks move, and whoever waited for that is answered. So
//! nothing is polled, and a burst of appends costs one sync.

mod answers;
mod apply;
mod checkpoint;
mod configs;
mod departure;
mod fetch;
mod image;
mod isr;
mod lifecycle;
mod list_offsets;
mod partition;
mod produce;
mod replicate;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use kafka_protocol::messages::{
    AlterPartitionResponse, ApiKey, BrokerHeartbeatResponse, BrokerRegistrationResponse, FetchRequest,
    FetchResponse, ListOffsetsRequest, ListOffsetsResponse, OffsetForLeaderEpochRequest, ProduceRequest,
};
use kafka_protocol::protocol::Request;
use replication::{Effects, FetchPlan};
use tokio::sync::{mpsc, watch};
use uuid::Uuid;

use crate::clock::Clock;
use crate::config::Config;
use crate::failure::Failure;
use crate::net::frame::FrameError;
use crate::net::peers::Peers;
use crate::net::server::{Incoming, Reply};
use crate::node::{Door, Home};
use crate::quorum::{self, Fatal, Identity, Quorum};
use checkpoint::Checkpoint;
use fetch::Fetches;
use image::Image;
use isr::{IsrSender, Proposals};
use lifecycle::Registration;
use partition::{Key, Partition};
use produce::Produces;
use replicate::{Fetchers, Plans};

/// Events that are handled before the logs are synced and answers given, at most.
const MAX_BURST: usize = 1024;

/// What happens to a broker.
#[derive(Debug)]
enum Event {
    /// A request came in.
    Request(Incoming),
    /// A fetch from a leader ended.
    Fetched {
        leader: i32,
        plans: Plans,
        answer: Option<FetchResponse>,
    },
    /// A leader said where its log starts and ends.
    Ranged {
        key: Key,
        plan: FetchPlan,
        answer: Option<ListOffsetsResponse>,
    },
    /// The controller answered proposals.
    IsrAnswered {
        proposals: Proposals,
        answer: Option<AlterPartitionResponse>,
    },
    /// The controller answered the registration.
    Registered(Option<BrokerRegistrationResponse>),
    /// The controller answered a heartbeat.
    HeartbeatAnswered(Option<BrokerHeartbeatResponse>),
}

impl From<Incoming> for Event {
    fn from(incoming: Incoming) -> Self {
        Self::Request(incoming)
    }
}

/// A broker.
struct Broker {
    config: Config,
    cluster_id: String,
    directory_id: Uuid,
    clock: Clock,
    peers: Peers,
    events: mpsc::UnboundedSender<Event>,
    quorum: Quorum,
    registration: Registration,
    image: Image,
    /// Whether metadata is applied to partitions yet.
    active: bool,
    /// Whether more metadata is committed than was applied.
    behind: bool,
    partitions: BTreeMap<Key, Partition>,
    /// Logs that were found in the folder and belong to partitions not heard of yet.
    found: BTreeMap<Key, apply::FoundLog>,
    produces: Produces,
    fetches: Fetches,
    fetchers: Fetchers,
    isr_sender: IsrSender,
    checkpoint: Checkpoint,
    /// Partitions whose logs grew, or whose standing changed, since the last time all was settled.
    grown: BTreeSet<Key>,
    /// When leaders look for followers that lag.
    next_lag_check: u64,
}

/// Runs a broker until it is told to stop and has stopped.
///
/// # Errors
/// When it cannot start, or its disk refuses.
pub async fn run(config: Config, home: Home, mut stop: watch::Receiver<bool>) -> Result<(), Failure> {
    let (events, mut inbox) = mpsc::unbounded_channel();
    let (answers, mut quorum_inbox) = mpsc::unbounded_channel();
    let clock = Clock::start();
    let door = Door::hold(&config)?;
    let mut broker = Broker::open(config, home, events.clone(), answers, clock)?;
    broker
        .main_loop(&mut inbox, &mut quorum_inbox, &mut stop, Goal::Active)
        .await
        .map_err(|error| disk_failure(&error))?;
    // Clients are served only now: older metadata would send them astray.
    let server = door.open(crate::api::BROKER, events)?;
    let ended = broker
        .main_loop(&mut inbox, &mut quorum_inbox, &mut stop, Goal::Over)
        .await;
    server.abort();
    ended
        .and_then(|()| broker.close())
        .map_err(|error| disk_failure(&error))
}

/// How far a broker runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// Until it applies metadata to its partitions, or is over.
    Active,
    /// Until it has been told to stop, and may.
    Over,
}

fn disk_failure(error: &Fatal) -> Failure {
    crate::diary::failed!("FATAL {error}");
    Failure::other(
        "The broker stopped.",
        error.to_string(),
        "Mend what is named there, then start the node again: it recovers its logs by itself.",
    )
}

impl Broker {
    fn open(
        config: Config,
        home: Home,
        events: mpsc::UnboundedSender<Event>,
        answers: mpsc::UnboundedSender<quorum::Answer>,
        clock: Clock,
    ) -> Result<Self, Failure> {
        let peers = Peers::new(config.node_id, config.request_timeout);
        let identity = Identity {
            cluster_id: home.cluster_id.clone(),
            node_id: config.node_id,
            directory_id: home.directory_id,
        };
        let previous_epoch =
            lifecycle::take_marker(&config.log_dir).map_err(|error| disk_failure(&error.into()))?;
        departure::finish_removals(&config).map_err(|error| disk_failure(&error.into()))?;
        let (found, checkpoint) = apply::find_logs(&config).map_err(|error| disk_failure(&error.into()))?;
        let quorum = Quorum::start(&config, identity, peers.clone(), answers, clock)?;
        Ok(Self {
            cluster_id: home.cluster_id,
            directory_id: home.directory_id,
            clock,
            peers,
            events,
            quorum,
            registration: Registration::new(previous_epoch),
            image: Image::new(&config.advertised.name),
            active: false,
            behind: false,
            partitions: BTreeMap::new(),
            found,
            produces: Produces::default(),
            fetches: Fetches::default(),
            fetchers: Fetchers::default(),
            isr_sender: IsrSender::default(),
            checkpoint,
            grown: BTreeSet::new(),
            next_lag_check: 0,
            config,
        })
    }

    async fn main_loop(
        &mut self,
        inbox: &mut mpsc::UnboundedReceiver<Event>,
        quorum_inbox: &mut mpsc::UnboundedReceiver<quorum::Answer>,
        stop: &mut watch::Receiver<bool>,
        goal: Goal,
    ) -> Result<(), Fatal> {
        self.settle()?;
        while !self.reached(goal) {
            let wake = tokio::time::Instant::from_std(self.clock.at(self.next_deadline()));
            tokio::select! {
                // The sender is held by `self`.
                Some(event) = inbox.recv() => self.handle(event)?,
                Some(answer) = quorum_inbox.recv() => self.quorum.take(answer)?,
                () = tokio::time::sleep_until(wake) => {}
                () = tokio::task::yield_now(), if self.behind => {}
                _ = stop.wait_for(|stop| *stop), if !self.registration.is_stopping() => self.begin_shutdown(),
            }
            for _ in 0..MAX_BURST {
                match (quorum_inbox.try_recv(), inbox.try_recv()) {
                    (Err(_), Err(_)) => break,
                    (answer, event) => {
                        if let Ok(answer) = answer {
                            self.quorum.take(answer)?;
                        }
                        if let Ok(event) = event {
                            self.handle(event)?;
                        }
                    }
                }
            }
            self.settle()?;
        }
        Ok(())
    }

    fn reached(&self, goal: Goal) -> bool {
        let active = goal == Goal::Active && self.active;
        active || self.registration.is_over(self.clock.ms())
    }

    fn next_deadline(&self) -> u64 {
        [
            self.quorum.next_deadline(),
            self.registration.next_deadline(),
            self.produces.next_deadline(),
            self.fetches.next_deadline(),
            self.isr_sender.next_deadline(),
            self.next_fetch(),
            Some(self.checkpoint.next_deadline()),
            Some(self.next_lag_check),
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(0)
    }

    fn handle(&mut self, event: Event) -> Result<(), Fatal> {
        match event {
            Event::Request(incoming) => self.request(incoming),
            Event::Fetched {
                leader,
                plans,
                answer,
            } => Ok(self.fetched(leader, plans, answer)?),
            Event::Ranged { key, plan, answer } => Ok(self.ranged(key, &plan, answer)?),
            Event::IsrAnswered { proposals, answer } => {
                self.isr_answered(proposals, answer);
                Ok(())
            }
            Event::Registered(answer) => {
                self.registered(answer);
                Ok(())
            }
            Event::HeartbeatAnswered(answer) => {
                self.heartbeat_answered(answer);
                Ok(())
            }
        }
    }

    /// Takes a request. One that is malformed closes its connection: its reply is dropped.
    fn request(&mut self, incoming: Incoming) -> Result<(), Fatal> {
        match self.serve(incoming) {
            Ok(served) => served,
            Err(error) => {
                crate::diary::warning!("a connection is closed: {error}");
                Ok(())
            }
        }
    }

    fn serve(&mut self, incoming: Incoming) -> Result<Result<(), Fatal>, FrameError> {
        let served = match incoming.key {
            ApiKey::Produce => {
                let (request, reply) = incoming.decode::<ProduceRequest>()?;
                self.produce(request, reply)
            }
            ApiKey::Fetch => {
                let (request, reply) = incoming.decode::<FetchRequest>()?;
                self.fetch(request, reply)
            }
            ApiKey::ListOffsets => {
                let (request, reply) = incoming.decode::<ListOffsetsRequest>()?;
                self.list_offsets(request, reply)
            }
            ApiKey::OffsetForLeaderEpoch => {
                let (request, reply) = incoming.decode::<OffsetForLeaderEpochRequest>()?;
                self.offset_for_leader_epoch(request, reply);
                Ok(())
            }
            _ => {
                self.answer(incoming)?;
                Ok(())
            }
        };
        Ok(served.map_err(Fatal::from))
    }

    /// Carries out what replication says.
    fn effects(&mut self, key: Key, effects: Effects) {
        if effects.high_watermark.is_some() {
            self.grown.insert(key);
        }
        if let Some(proposal) = effects.alter_isr {
            self.isr_sender.push(key, proposal);
        }
    }

    /// Does all that follows from the events so far, and from time.
    fn settle(&mut self) -> Result<(), Fatal> {
        let now = self.clock.ms();
        self.quorum.tick()?;
        self.quorum.settle()?;
        self.apply_metadata()?;
        self.check_lag(now);
        self.settle_partitions()?;
        self.produces.expire(now);
        self.expire_fetches(now)?;
        self.propose_isrs();
        self.fetch_from_leaders();
        self.report_to_controller();
        self.write_checkpoint(now)?;
        Ok(())
    }

    /// Syncs what grew, moves high watermarks, and answers whoever waited for it.
    fn settle_partitions(&mut self) -> Result<(), Fatal> {
        let now = self.clock.ms();
        let mut keys = std::mem::take(&mut self.grown);
        for key in &keys {
            if let Some(partition) = self.partitions.get_mut(key) {
                partition.flush()?;
                let effects = partition.appended(now, &self.image.brokers_view());
                self.effects(*key, effects);
            }
        }
        keys.append(&mut self.grown);
        for key in &keys {
            self.acknowledge(*key);
        }
        self.wake_fetches(&keys)?;
        Ok(())
    }

    /// Has leaders look for followers that lag, often enough for the configured limit.
    fn check_lag(&mut self, now: u64) {
        if now < self.next_lag_check {
            return;
        }
        let limit = u64::try_from(self.config.replica_lag_time_max.as_millis()).unwrap_or(u64::MAX);
        self.next_lag_check = now.saturating_add((limit / 2).clamp(MIN_LAG_CHECK_MS, MAX_LAG_CHECK_MS));
        let keys: Vec<Key> = self.partitions.keys().copied().collect();
        for key in keys {
            if let Some(partition) = self.partitions.get_mut(&key) {
                let effects = partition.tick(now, &self.image.brokers_view());
                self.effects(key, effects);
            }
        }
    }

    /// Asks another node; the answer, or that there is none, comes back as an event.
    fn ask<R>(
        &self,
        to: SocketAddr,
        version: i16,
        request: R,
        wrap: impl FnOnce(Option<R::Response>) -> Event + Send + 'static,
    ) where
        R: Request + Send + Sync + 'static,
        R::Response: Send,
    {
        let (peers, events) = (self.peers.clone(), self.events.clone());
        tokio::spawn(async move {
            let answer = peers.call(to, version, &request).await;
            // The core is gone when the node stops.
            let _ = events.send(wrap(answer.ok()));
        });
    }

    /// Asks the active controller on behalf of a client.
    fn forward<R>(&self, to: SocketAddr, request: R, reply: Reply, late: R::Response)
    where
        R: Request + Send + Sync + 'static,
        R::Response: Send + Sync,
    {
        let peers = self.peers.clone();
        tokio::spawn(async move {
            let version = reply.version();
            match peers.call(to, version, &request).await {
                Ok(answer) => reply.send(&answer),
                Err(_) => reply.send(&late),
            }
        });
    }
}

/// Leaders look for followers that lag no more often than this.
const MIN_LAG_CHECK_MS: u64 = 50;
/// And at least this often.
const MAX_LAG_CHECK_MS: u64 = 2_000;
