//! The world: time, nodes, and what happens next.

use std::collections::HashMap;

use raft::{
    Config, DirectoryId, Endpoint, Event, Nanos, NodeId, Offset, Raft, ReplicaKey, Request, RequestId, Role,
    SnapshotId, SyncTicket, Voter, VoterSet, VotersAt,
};

use super::administrators::{ADMINISTRATORS, Administrator, bootstrap_id};
use super::clock::Clock;
use super::disk::{Snapshot, State};
use super::network::{Cargo, Network, Packet};
use super::queue::Queue;
use super::schedule::Schedule;
use super::settings::{MILLISECOND, Outcome};
use super::trace::{Kind, Trace, plain, standing_number};
use super::{Application, Checks, Counts, Disk, Post, Settings, Violation};
use crate::Random;

/// A whole run.
#[derive(Debug)]
pub struct World<A: Application> {
    pub(super) seed: u64,
    pub(super) now: Nanos,
    pub(super) queue: Queue<Happening<A>>,
    pub(super) random: Random,
    pub(super) nodes: Vec<Node<A::Payload>>,
    pub(super) administrators: Vec<Administrator>,
    /// Requests of administrators that are under way.
    pub(super) admin_packets: usize,
    /// The newest set of voters that is known to be committed, where the log names them.
    pub(super) committed_voters: Option<VotersAt>,
    pub(super) network: Network,
    pub(super) settings: Settings,
    pub(super) checks: Checks,
    pub(super) app: A,
    pub(super) chaotic: bool,
    /// Whether the plan's next fault is on its way.
    pub(super) fault_due: bool,
    pub(super) faults: u64,
    pub(super) crashes: u64,
    /// How many records were committed when the last fault came.
    pub(super) committed_at_fault: usize,
    steps: u64,
    pub(super) counts: Counts,
    pub(super) schedule: Schedule,
    pub(super) trace: Trace,
}

/// A node: what survives, and what does not.
#[derive(Debug)]
pub(super) struct Node<P> {
    pub(super) disk: Disk<P>,
    pub(super) clock: Clock,
    /// The port that it listens on, which may be another after a restart.
    port: u16,
    pub(super) raft: Option<Raft>,
    pub(super) incarnation: u64,
    pub(super) tick_at: Option<Nanos>,
    /// This incarnation's high watermark.
    pub(super) high_watermark: Option<Offset>,
    /// What it has applied, and what it had before the last batch.
    pub(super) state: State,
    pub(super) before_last_batch: State,
    /// The requests being answered.
    pub(super) asked: HashMap<RequestId, Asked>,
    next_request: u64,
    /// How many lists of actions it has been given, in all its lives.
    pub(super) lists: u64,
    /// Whether it does nothing at present.
    pub(super) paused: bool,
}

/// A request that a node has yet to answer.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) from: usize,
    pub(super) incarnation: u64,
    pub(super) call: raft::CallId,
    pub(super) callee: NodeId,
    pub(super) request: Request,
}

/// What can happen.
#[derive(Debug)]
pub(super) enum Happening<A: Application> {
    Arrival(Packet<A::Payload>),
    Synced(usize, u64, SyncTicket),
    TakeSnapshot(usize, u64),
    SnapshotWritten(usize, u64, Snapshot),
    Install(usize, u64, SnapshotId),
    Tick(usize, Nanos),
    Restart(usize),
    Resume(usize, u64),
    Fault,
    /// An administrator looks at what there is to do, and again later, or only now.
    Administrator(usize, bool),
    Application(A::Event),
}

impl<A: Application> Happening<A> {
    /// The node that must do something about it: a node that is paused does it later.
    fn node(&self) -> Option<usize> {
        match self {
            Self::Arrival(packet) => Some(packet.to),
            Self::Synced(node, ..)
            | Self::TakeSnapshot(node, _)
            | Self::SnapshotWritten(node, ..)
            | Self::Install(node, ..)
            | Self::Tick(node, _) => Some(*node),
            _ => None,
        }
    }
}

/// How long what a paused node must do is put off at a time.
const PAUSE_STEP: Nanos = 5 * MILLISECOND;

/// How many nodes `controller.quorum.bootstrap.servers` names.
const BOOTSTRAP_SERVERS: usize = 3;

impl<A: Application> World<A> {
    /// A world in which all nodes start afresh.
    ///
    /// # Errors
    ///
    /// When a rule breaks at once.
    pub fn new(seed: u64, settings: Settings, app: A) -> Result<Self, Violation> {
        let begun = Self::with(seed, settings, app, Schedule::all(), Trace::default());
        begun.map_err(|broken| broken.1)
    }

    /// The same, of which only these decisions are carried out.
    ///
    /// # Errors
    ///
    /// When a rule breaks at once: then also the world in which it did.
    pub fn with(
        seed: u64,
        settings: Settings,
        app: A,
        schedule: Schedule,
        trace: Trace,
    ) -> Result<Self, Box<(Self, Violation)>> {
        let mut random = Random::new(seed);
        let count = settings.voters + settings.observers;
        let nodes = format_nodes(&settings, &mut random);
        let formatted = nodes.first().and_then(|node| node.disk.voters_below(0));
        let checks = Checks::new(settings.bug.is_some());
        let mut world = Self {
            seed,
            now: 0,
            queue: Queue::new(),
            random,
            nodes,
            administrators: (0..ADMINISTRATORS).map(|_| Administrator::default()).collect(),
            admin_packets: 0,
            committed_voters: formatted,
            network: Network::new(count + ADMINISTRATORS),
            settings,
            checks,
            app,
            chaotic: true,
            fault_due: true,
            faults: 0,
            crashes: 0,
            committed_at_fault: 0,
            steps: 0,
            counts: Counts::default(),
            schedule,
            trace,
        };
        for node in 0..count {
            if let Err(violation) = world.start(node) {
                return Err(Box::new((world, violation)));
            }
        }
        world.schedule(0, Happening::Fault);
        world.begin_administration();
        world.deliver_posts();
        Ok(world)
    }

    /// The application.
    pub fn app(&self) -> &A {
        &self.app
    }

    /// What happened.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Runs chaos, then calm, until all works again.
    ///
    /// # Errors
    ///
    /// The first broken rule.
    pub fn run(&mut self) -> Result<Outcome, Violation> {
        while self.now < self.settings.chaos {
            self.step()?;
        }
        self.calm()?;
        let healed_at = self.now;
        while !self.recovered() {
            if self.now > healed_at + self.settings.recovery {
                return Err(self.stuck());
            }
            self.step()?;
        }
        let mut counts = self.counts;
        counts.commits_after_fault = (self.checks.committed() - self.committed_at_fault) as u64;
        counts.power_cuts = self.crashes;
        counts.elections = self.checks.leaders() as u64;
        counts.commits = self.checks.committed() as u64;
        Ok(Outcome {
            steps: self.steps,
            leaders: self.checks.leaders(),
            committed: self.checks.committed(),
            crashes: self.crashes,
            recovered_after: self.now - healed_at,
            counts,
        })
    }

    /// One leader, acting; all follow it; and the application is content.
    pub(super) fn recovered(&self) -> bool {
        let standings = || self.nodes.iter().flat_map(|node| &node.raft).map(Raft::standing);
        let mut epochs = standings().map(|it| (it.epoch, it.leader));
        let Some((epoch, Some(leader))) = epochs.next() else {
            return false;
        };
        let leads = self.raft(leader).and_then(Raft::active_epoch) == Some(epoch);
        leads && epochs.all(|it| it == (epoch, Some(leader))) && self.app.recovered(self.now)
    }

    fn raft(&self, id: NodeId) -> Option<&Raft> {
        let at = usize::try_from(id.0).ok()?;
        self.nodes.get(at)?.raft.as_ref()
    }

    /// Lets the next thing happen.
    ///
    /// # Errors
    ///
    /// The first broken rule.
    pub fn step(&mut self) -> Result<(), Violation> {
        let Some((at, happening)) = self.queue.pop() else {
            return Err(Violation::Stuck("nothing will ever happen again".to_owned()));
        };
        self.now = at;
        self.steps += 1;
        let node = happening.node().and_then(|node| self.nodes.get(node));
        if node.is_some_and(|node| node.paused) {
            self.schedule(PAUSE_STEP, happening);
            return Ok(());
        }
        self.happen(happening)?;
        self.deliver_posts();
        Ok(())
    }

    fn happen(&mut self, happening: Happening<A>) -> Result<(), Violation> {
        match happening {
            Happening::Arrival(packet) => self.arrive(packet),
            Happening::Synced(at, life, ticket) if self.lives(at, life) => self.synced(at, ticket),
            Happening::TakeSnapshot(at, life) if self.lives(at, life) => self.take_snapshot(at),
            Happening::SnapshotWritten(at, life, it) if self.lives(at, life) => self.snapshot_written(at, it),
            Happening::Install(at, life, id) if self.lives(at, life) => self.install(at, id),
            Happening::Tick(at, deadline) => self.tick(at, deadline),
            Happening::Restart(at) => self.start(at),
            Happening::Resume(at, life) => {
                if self.lives(at, life) {
                    self.nodes[at].paused = false;
                }
                Ok(())
            }
            Happening::Fault => self.next_fault(),
            Happening::Administrator(which, again) => {
                self.administrate(which, again);
                Ok(())
            }
            Happening::Application(event) => self.application(event),
            // What a life that is over had begun.
            Happening::Synced(..)
            | Happening::TakeSnapshot(..)
            | Happening::SnapshotWritten(..)
            | Happening::Install(..) => Ok(()),
        }
    }

    fn lives(&self, at: usize, incarnation: u64) -> bool {
        let node = &self.nodes[at];
        node.incarnation == incarnation && node.raft.is_some()
    }

    pub(super) fn schedule(&mut self, after: Nanos, happening: Happening<A>) {
        self.queue.push(self.now + after, happening);
    }

    /// Starts a node from its disk, if it is down.
    pub(super) fn start(&mut self, at: usize) -> Result<(), Violation> {
        if self.nodes[at].raft.is_some() {
            return Ok(());
        }
        let broken = |error: &dyn std::fmt::Display| Violation::Contract(format!("node {at}: {error}"));
        let config = self.config(at).map_err(|error| broken(&error))?;
        let seed = self.random.word();
        let node = &mut self.nodes[at];
        node.disk.recover();
        let now = node.clock.read(self.now);
        let (raft, actions) = Raft::start(now, config, node.disk.quorum(), node.disk.summary(), seed)
            .map_err(|error| broken(&error))?;
        node.revive(raft);
        self.app.started(self.now, at);
        self.load_snapshot(at)?;
        self.counts.note(&actions);
        self.carry_out(at, actions, &Cargo::none())
    }

    fn config(&mut self, at: usize) -> Result<Config, raft::ConfigError> {
        let timeouts = self.settings.timeouts;
        let config = if self.settings.dynamic {
            if self.chaotic && self.random.per_mille(100) {
                self.nodes[at].port += 1;
            }
            let servers = 0..self.nodes.len().min(BOOTSTRAP_SERVERS);
            let own = self.nodes[at].as_voter(at);
            Config::dynamic(own, servers.map(bootstrap_id).collect(), timeouts)
        } else {
            let voters: Vec<_> = (0..self.settings.voters).map(node_id).collect();
            Config::new(node_id(at), &voters, timeouts)
        };
        Ok(match self.settings.bug {
            Some(bug) => config?.with_bug(bug),
            None => config?,
        })
    }

    fn synced(&mut self, at: usize, ticket: SyncTicket) -> Result<(), Violation> {
        self.sync_disk(at, ticket);
        self.handle(at, Event::Synced(ticket), &Cargo::none())
    }

    fn tick(&mut self, at: usize, deadline: Nanos) -> Result<(), Violation> {
        if self.nodes[at].tick_at != Some(deadline) {
            return Ok(());
        }
        self.nodes[at].tick_at = None;
        self.handle(at, Event::Tick, &Cargo::none())
    }

    fn application(&mut self, event: A::Event) -> Result<(), Violation> {
        self.app.on_event(self.now, event, &mut self.random)?;
        for at in 0..self.nodes.len() {
            if !self.nodes[at].paused {
                self.grant_wishes(at)?;
            }
        }
        Ok(())
    }

    /// Sends what the application wants sent.
    fn deliver_posts(&mut self) {
        for post in self.app.take_posts() {
            match post {
                Post::Later(after, event) => self.schedule(after, Happening::Application(event)),
                Post::Message { from, to, event } => {
                    let carried = self.network.carries(from, to);
                    if carried && !self.network.loses(&mut self.random) {
                        let delay = self.network.delay(&mut self.random);
                        self.schedule(delay, Happening::Application(event));
                    }
                }
            }
        }
    }

    /// Hands an event to a node's machine, and carries out what comes of it.
    pub(super) fn handle(
        &mut self,
        at: usize,
        event: Event,
        cargo: &Cargo<A::Payload>,
    ) -> Result<(), Violation> {
        let node = &mut self.nodes[at];
        let Some(raft) = &mut node.raft else {
            return Ok(());
        };
        let number = node.lists;
        self.trace
            .note(self.now, at, Kind::Event, number, || plain(&event));
        let actions = raft.handle(node.clock.read(self.now), event);
        let number = standing_number(raft.standing());
        self.trace.note(self.now, at, Kind::Actions, number, || {
            if actions.is_empty() {
                String::new()
            } else {
                plain(&actions)
            }
        });
        self.counts.note(&actions);
        self.carry_out(at, actions, cargo)
    }

    /// Has the machine woken when it wants to be, or a little later.
    pub(super) fn wake_later(&mut self, at: usize) -> Result<(), Violation> {
        let node = &mut self.nodes[at];
        let Some(deadline) = node.raft.as_ref().and_then(Raft::next_deadline) else {
            return Ok(());
        };
        let now = node.clock.read(self.now);
        if deadline <= now {
            return Err(Violation::BusyLoop(format!(
                "node {at}, by its clock at {now}, wants to be woken at {deadline}"
            )));
        }
        if node.tick_at != Some(deadline) {
            node.tick_at = Some(deadline);
            let wait = node.clock.wait(self.now, deadline);
            let late = self.random.below(MILLISECOND);
            self.schedule(wait + late, Happening::Tick(at, deadline));
        }
        Ok(())
    }

    /// The node that leads the newest epoch, if any is up.
    pub(super) fn newest_leader(&self) -> Option<usize> {
        let leads = |node: &Node<A::Payload>| {
            let raft = node.raft.as_ref()?;
            (raft.role() == Role::Leader).then(|| raft.epoch())
        };
        let leaders = self.nodes.iter().enumerate();
        leaders
            .filter_map(|(at, node)| Some((leads(node)?, at)))
            .max()
            .map(|(_, at)| at)
    }
}

/// The nodes, formatted: those that vote at first with all who do, the others without.
fn format_nodes<P: Clone>(settings: &Settings, random: &mut Random) -> Vec<Node<P>> {
    let count = settings.voters + settings.observers;
    if !settings.dynamic {
        return (0..count).map(|_| Node::new(Disk::new(None), random)).collect();
    }
    let directories: Vec<_> = (0..count)
        .map(|_| DirectoryId(u128::from(random.word())))
        .collect();
    let mut nodes: Vec<Node<P>> = directories
        .into_iter()
        .map(|directory| Node::new(Disk::new(Some((directory, VoterSet::default()))), random))
        .collect();
    let voters = nodes[..settings.voters].iter().enumerate();
    let voters = voters.map(|(at, node)| node.as_voter(at)).collect();
    // Their ids differ, so they do make a set.
    let voters = VoterSet::new(voters).unwrap_or_default();
    for node in &mut nodes[..settings.voters] {
        let directory = node.disk.directory();
        node.disk = Disk::new(directory.map(|directory| (directory, voters.clone())));
    }
    nodes
}

impl<P: Clone> Node<P> {
    fn new(disk: Disk<P>, random: &mut Random) -> Self {
        Self {
            disk,
            clock: Clock::new(random.below(1_000 * MILLISECOND)),
            port: 9093,
            raft: None,
            incarnation: 0,
            tick_at: None,
            high_watermark: None,
            state: State::default(),
            before_last_batch: State::default(),
            asked: HashMap::new(),
            next_request: 0,
            lists: 0,
            paused: false,
        }
    }

    fn revive(&mut self, raft: Raft) {
        self.raft = Some(raft);
        self.incarnation += 1;
        self.tick_at = None;
        self.high_watermark = None;
        self.asked.clear();
        self.paused = false;
    }

    /// Who it is.
    pub(super) fn key(&self, at: usize) -> ReplicaKey {
        ReplicaKey {
            id: node_id(at),
            directory: self.disk.directory(),
        }
    }

    /// What the log would say of it if it voted.
    pub(super) fn as_voter(&self, at: usize) -> Voter {
        let endpoint = Endpoint {
            name: "CONTROLLER".to_owned(),
            host: format!("n{at}"),
            port: self.port,
        };
        Voter {
            key: self.key(at),
            endpoints: vec![endpoint],
            kraft_versions: (0, 1),
        }
    }

    pub(super) fn note_request(&mut self, asked: Asked) -> RequestId {
        self.next_request += 1;
        let id = RequestId(self.next_request);
        self.asked.insert(id, asked);
        id
    }
}

/// A node's id is its place.
pub(super) fn node_id(at: usize) -> NodeId {
    NodeId(i32::try_from(at).unwrap_or(i32::MAX))
}
