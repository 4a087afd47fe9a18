//! The world: time, nodes, and what happens next.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use raft::{Config, Event, Nanos, NodeId, Offset, Raft, Request, RequestId, Role, SyncTicket};

use super::network::{Content, Network, Packet};
use super::settings::{MILLISECOND, Outcome};
use super::{Application, Checks, Disk, Post, Settings, Violation};
use crate::Random;

/// A whole run.
#[derive(Debug)]
pub struct World<A: Application> {
    pub(super) now: Nanos,
    queue: BinaryHeap<Reverse<(Nanos, u64)>>,
    due: HashMap<u64, Happening<A>>,
    scheduled: u64,
    pub(super) random: Random,
    pub(super) nodes: Vec<Node<A::Payload>>,
    pub(super) network: Network,
    pub(super) settings: Settings,
    pub(super) checks: Checks,
    pub(super) app: A,
    pub(super) chaotic: bool,
    pub(super) crashes: u64,
    steps: u64,
}

/// A node: what survives, and what does not.
#[derive(Debug)]
pub(super) struct Node<P> {
    pub(super) disk: Disk<P>,
    pub(super) raft: Option<Raft>,
    pub(super) incarnation: u64,
    tick_at: Option<Nanos>,
    /// This incarnation's high watermark.
    pub(super) high_watermark: Option<Offset>,
    /// The requests being answered.
    pub(super) asked: HashMap<RequestId, Asked>,
    pub(super) next_request: u64,
}

/// A request that a node has yet to answer.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) from: usize,
    pub(super) incarnation: u64,
    pub(super) call: raft::CallId,
    pub(super) request: Request,
}

/// What can happen.
#[derive(Debug)]
pub(super) enum Happening<A: Application> {
    Arrival(Packet<A::Payload>),
    Synced(usize, u64, SyncTicket),
    Tick(usize, Nanos),
    Restart(usize),
    Fault,
    Application(A::Event),
}

impl<A: Application> World<A> {
    /// A world in which all nodes start afresh.
    ///
    /// # Errors
    ///
    /// When a rule breaks at once.
    pub fn new(seed: u64, settings: Settings, app: A) -> Result<Self, Violation> {
        let count = settings.voters + settings.observers;
        let mut world = Self {
            now: 0,
            queue: BinaryHeap::new(),
            due: HashMap::new(),
            scheduled: 0,
            random: Random::new(seed),
            nodes: (0..count).map(|_| Node::new()).collect(),
            network: Network::new(count),
            settings,
            checks: Checks::default(),
            app,
            chaotic: true,
            crashes: 0,
            steps: 0,
        };
        for node in 0..count {
            world.start(node)?;
        }
        world.schedule(0, Happening::Fault);
        world.deliver_posts();
        Ok(world)
    }

    /// The application.
    pub fn app(&self) -> &A {
        &self.app
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
        Ok(Outcome {
            steps: self.steps,
            leaders: self.checks.leaders(),
            committed: self.checks.committed(),
            crashes: self.crashes,
            recovered_after: self.now - healed_at,
        })
    }

    /// One leader, acting; all follow it; and the application is content.
    fn recovered(&self) -> bool {
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

    fn stuck(&self) -> Violation {
        let standings: Vec<_> = self
            .nodes
            .iter()
            .map(|node| node.raft.as_ref().map(Raft::standing))
            .collect();
        Violation::Stuck(format!(
            "{} ms after the last fault healed: {standings:?}; {}",
            self.settings.recovery / MILLISECOND,
            self.app.summary()
        ))
    }

    /// Lets the next thing happen.
    ///
    /// # Errors
    ///
    /// The first broken rule.
    pub fn step(&mut self) -> Result<(), Violation> {
        let Some(Reverse((at, number))) = self.queue.pop() else {
            return Err(Violation::Stuck("nothing will ever happen again".to_owned()));
        };
        let Some(happening) = self.due.remove(&number) else {
            return Ok(());
        };
        self.now = at;
        self.steps += 1;
        self.happen(happening)?;
        self.deliver_posts();
        Ok(())
    }

    fn happen(&mut self, happening: Happening<A>) -> Result<(), Violation> {
        match happening {
            Happening::Arrival(packet) => self.arrive(packet),
            Happening::Synced(node, incarnation, ticket) => self.synced(node, incarnation, ticket),
            Happening::Tick(node, deadline) => self.tick(node, deadline),
            Happening::Restart(node) => self.start(node),
            Happening::Fault => self.next_fault(),
            Happening::Application(event) => self.application(event),
        }
    }

    pub(super) fn schedule(&mut self, after: Nanos, happening: Happening<A>) {
        self.scheduled += 1;
        self.due.insert(self.scheduled, happening);
        self.queue.push(Reverse((self.now + after, self.scheduled)));
    }

    /// Starts a node from its disk, if it is down.
    pub(super) fn start(&mut self, at: usize) -> Result<(), Violation> {
        if self.nodes[at].raft.is_some() {
            return Ok(());
        }
        let voters: Vec<_> = (0..self.settings.voters).map(node_id).collect();
        let broken = |error: &dyn std::fmt::Display| Violation::Contract(error.to_string());
        let mut config =
            Config::new(node_id(at), &voters, self.settings.timeouts).map_err(|error| broken(&error))?;
        if let Some(bug) = self.settings.bug {
            config = config.with_bug(bug);
        }
        let disk = &self.nodes[at].disk;
        let seed = self.random.word();
        let (raft, actions) = Raft::start(self.now, config, disk.quorum(), disk.summary(), seed)
            .map_err(|error| broken(&error))?;
        self.nodes[at].revive(raft);
        self.app.started(self.now, at);
        self.carry_out(at, actions, &[])
    }

    fn arrive(&mut self, packet: Packet<A::Payload>) -> Result<(), Violation> {
        let Packet {
            from,
            to,
            incarnation,
            call,
            content,
        } = packet;
        let node = &mut self.nodes[to];
        if node.raft.is_none() {
            if matches!(content, Content::Request(_)) {
                self.break_connection(from, to, incarnation, call);
            }
            return Ok(());
        }
        let peer = node_id(from);
        match content {
            Content::Request(request) => {
                let id = node.note_request(from, incarnation, call, request.clone());
                self.handle(to, Event::Request { id, request }, &[])
            }
            _ if node.incarnation != incarnation => Ok(()),
            Content::Response(response, records) => self.handle(
                to,
                Event::Response {
                    from: peer,
                    call,
                    response,
                },
                &records,
            ),
            Content::Broken => self.handle(to, Event::CallFailed { to: peer, call }, &[]),
        }
    }

    fn synced(&mut self, at: usize, incarnation: u64, ticket: SyncTicket) -> Result<(), Violation> {
        if self.nodes[at].incarnation != incarnation || self.nodes[at].raft.is_none() {
            return Ok(());
        }
        self.sync_disk(at, ticket);
        self.handle(at, Event::Synced(ticket), &[])
    }

    fn tick(&mut self, at: usize, deadline: Nanos) -> Result<(), Violation> {
        if self.nodes[at].tick_at != Some(deadline) {
            return Ok(());
        }
        self.nodes[at].tick_at = None;
        self.handle(at, Event::Tick, &[])
    }

    fn application(&mut self, event: A::Event) -> Result<(), Violation> {
        self.app.on_event(self.now, event, &mut self.random)?;
        for at in 0..self.nodes.len() {
            self.grant_wishes(at)?;
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
        records: &[super::Record<A::Payload>],
    ) -> Result<(), Violation> {
        let Some(raft) = &mut self.nodes[at].raft else {
            return Ok(());
        };
        let actions = raft.handle(self.now, event);
        self.carry_out(at, actions, records)
    }

    /// Has the machine woken when it wants to be, or a little later.
    pub(super) fn wake_later(&mut self, at: usize) -> Result<(), Violation> {
        let node = &mut self.nodes[at];
        let Some(deadline) = node.raft.as_ref().and_then(Raft::next_deadline) else {
            return Ok(());
        };
        if deadline <= self.now {
            return Err(Violation::BusyLoop(format!(
                "node {at} at {} wants to be woken at {deadline}",
                self.now
            )));
        }
        if node.tick_at != Some(deadline) {
            node.tick_at = Some(deadline);
            let late = self.random.below(MILLISECOND);
            self.schedule(deadline - self.now + late, Happening::Tick(at, deadline));
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

impl<P: Clone> Node<P> {
    fn new() -> Self {
        Self {
            disk: Disk::new(),
            raft: None,
            incarnation: 0,
            tick_at: None,
            high_watermark: None,
            asked: HashMap::new(),
            next_request: 0,
        }
    }

    fn revive(&mut self, raft: Raft) {
        self.raft = Some(raft);
        self.incarnation += 1;
        self.tick_at = None;
        self.high_watermark = None;
        self.asked.clear();
    }

    fn note_request(
        &mut self,
        from: usize,
        incarnation: u64,
        call: raft::CallId,
        request: Request,
    ) -> RequestId {
        self.next_request += 1;
        let id = RequestId(self.next_request);
        let asked = Asked {
            from,
            incarnation,
            call,
            request,
        };
        self.asked.insert(id, asked);
        id
    }
}

/// A node's id is its place.
pub(super) fn node_id(at: usize) -> NodeId {
    NodeId(i32::try_from(at).unwrap_or(i32::MAX))
}
