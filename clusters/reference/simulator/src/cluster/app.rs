//! The cluster, as an application on a simulated quorum.

use std::collections::{BTreeMap, BTreeSet};

use controller::{Config, Controller, Image};
use raft::{Epoch, Nanos, Offset, Raft};
use records::Record;

use super::broker::Broker;
use super::controllers::{self, Entry, TOPIC};
use super::lifecycle::life_of;
use super::message::{Arrival, Event, Letter};
use super::promise::Promise;
use super::settings::Flaw;
use super::{ClusterSettings, rules};
use crate::Random;
use crate::quorum::{Application, MILLISECOND, Outcome, Post, Violation, Wish, World};

/// `broker.session.timeout.ms`.
const SESSION_TIMEOUT_MS: u64 = 250;

/// All controllers, brokers and clients.
#[derive(Debug)]
pub struct Cluster {
    pub(super) settings: ClusterSettings,
    controllers: Vec<controllers::Node>,
    pub(super) brokers: Vec<Broker>,
    /// The committed log, and the image after each of its records.
    committed: Vec<Option<Entry>>,
    images: Vec<Image>,
    truth: Controller,
    pub(super) promises: Vec<Promise>,
    /// Each broker's last life that ended uncleanly, and last life that registered.
    pub(super) crashed_life: BTreeMap<i32, u64>,
    registered_life: BTreeMap<i32, u64>,
    /// Leaderships that began and are not checked yet.
    pub(super) begun: Vec<(usize, usize, i32)>,
    pub(super) posts: Vec<Post<Event>>,
    pub(super) next_number: u64,
    /// Since when there are no more faults, and what had been acknowledged by then.
    pub(super) calm_since: Option<(Nanos, Vec<usize>)>,
}

impl Cluster {
    fn new(settings: ClusterSettings) -> Self {
        let voters = settings.quorum.voters;
        let nodes = voters + settings.quorum.observers;
        let config = controller_config();
        let timers = (0..voters)
            .map(Event::ControllerTimer)
            .chain((voters..nodes).flat_map(|node| [Event::BrokerTimer(node), Event::ReplicaTimer(node)]));
        let posts = timers
            .chain([Event::Client])
            .map(|event| Post::Later(MILLISECOND, event));
        Self {
            controllers: (0..voters)
                .map(|_| controllers::Node::new(config.clone()))
                .collect(),
            brokers: (voters..nodes)
                .map(|node| Broker::new(node, settings.partitions))
                .collect(),
            committed: Vec::new(),
            images: Vec::new(),
            truth: Controller::new(config),
            promises: Vec::new(),
            crashed_life: BTreeMap::new(),
            registered_life: BTreeMap::new(),
            begun: Vec::new(),
            posts: posts.collect(),
            next_number: 0,
            calm_since: None,
            settings,
        }
    }

    /// How many records were acknowledged.
    pub fn acknowledged(&self) -> usize {
        self.promises.iter().map(Promise::acknowledgements).sum()
    }

    /// How many leaders partitions have had, the first included.
    pub fn leader_epochs(&self) -> i32 {
        let topic = self.truth.image().topics().get(&TOPIC);
        let partitions = topic.into_iter().flat_map(|topic| topic.partitions.values());
        partitions.map(|partition| partition.leader_epoch + 1).sum()
    }

    pub(super) fn broker_mut(&mut self, node: usize) -> &mut Broker {
        &mut self.brokers[node - self.settings.quorum.voters]
    }

    fn is_controller(&self, node: usize) -> bool {
        node < self.settings.quorum.voters
    }

    /// The first node that knows a record to be committed makes it the truth.
    fn commit(&mut self, now: Nanos, offset: i64, entry: Option<&Entry>) -> Result<(), Violation> {
        let before = self.truth.image().clone();
        controllers::replay(&mut self.truth, offset, entry)?;
        let elr = self.settings.flaw != Some(Flaw::NoElr);
        rules::check(&before, self.truth.image(), (self.settings.min_isr, elr))?;
        self.committed.push(entry.cloned());
        self.images.push(self.truth.image().clone());
        match entry.map(|entry| &entry.record) {
            Some(Record::RegisterBroker(record)) => {
                let life = life_of(record.incarnation_id);
                self.registered_life.insert(record.broker_id, life);
            }
            Some(Record::Partition(_)) => {
                let dirty = self.crashed_life.keys().copied();
                let dirty = dirty.filter(|id| !self.is_registered_since(*id)).collect();
                self.promises.push(Promise::new(self.min_isr(), dirty));
            }
            _ => {}
        }
        self.account(now, &before);
        Ok(())
    }

    fn is_registered_since(&self, broker: i32) -> bool {
        self.registered_life.get(&broker) > self.crashed_life.get(&broker)
    }

    /// Tells the promises what has changed.
    fn account(&mut self, now: Nanos, before: &Image) {
        let registered: BTreeSet<i32> = self
            .registered_life
            .keys()
            .copied()
            .filter(|id| self.is_registered_since(*id))
            .collect();
        for (number, promise) in (0..).zip(&mut self.promises) {
            let Some(state) = self.truth.image().partition(TOPIC, number) else {
                continue;
            };
            if before.partition(TOPIC, number) != Some(state) {
                promise.changed(now, state, &registered);
            }
        }
    }

    /// A node's image after a committed record is everybody's.
    fn compare(&self, node: usize, offset: usize, image: &Image) -> Result<(), Violation> {
        if *image == self.images[offset] {
            return Ok(());
        }
        Err(Violation::Application(format!(
            "node {node}'s image after offset {offset} is another than the first node's"
        )))
    }

    fn apply_to_controller(
        &mut self,
        node: usize,
        offset: usize,
        at: i64,
        entry: Option<&Entry>,
    ) -> Result<(), Violation> {
        let voters = self.settings.quorum.voters;
        let misses = self.settings.flaw == Some(Flaw::MissesRecord) && offset == 5;
        let own = &mut self.controllers[node];
        own.applied = at + 1;
        let Some(active) = &mut own.active else {
            if !misses {
                controllers::replay(&mut own.controller, at, entry)?;
            }
            return self.compare(node, offset, self.controllers[node].controller.image());
        };
        let image = active
            .ahead
            .pop_front_if(|(ahead, _)| *ahead == at)
            .map(|(_, image)| image);
        let ready = |answer: &mut (i64, _, _)| answer.0 <= at + 1;
        for (_, origin, reply) in active.answers.extract_if(.., ready) {
            debug_assert!(origin.broker >= voters);
            self.posts.push(Post::Message {
                from: node,
                to: origin.broker,
                event: Event::Arrival(Arrival(Letter::Reply(origin, reply))),
            });
        }
        image.map_or(Ok(()), |image| self.compare(node, offset, &image))
    }

    fn on_letter(&mut self, now: Nanos, letter: Letter) {
        match letter {
            Letter::Request(controller, origin, request) => {
                let own = &mut self.controllers[controller];
                if own.active.is_some() {
                    own.inbox.push_back((origin, request));
                }
            }
            Letter::Reply(origin, reply) => {
                if self.broker_mut(origin.broker).life == origin.life {
                    self.on_reply(origin.broker, reply);
                }
            }
            Letter::Fetch(leader, fetch) => {
                if let Some(fetched) = self.on_fetch(now, leader, &fetch) {
                    let to = fetch.origin.broker;
                    let event = Event::Arrival(Arrival(Letter::Fetched(fetch, fetched)));
                    self.posts.push(Post::Message {
                        from: leader,
                        to,
                        event,
                    });
                }
            }
            Letter::Fetched(fetch, fetched) => {
                if self.broker_mut(fetch.origin.broker).life == fetch.origin.life {
                    self.on_fetched(&fetch, fetched);
                }
            }
        }
    }

    fn see_to_replicas(&mut self, now: Nanos, node: usize) {
        for partition in 0..self.settings.partitions {
            self.fetch(now, node, partition);
            self.propose(now, node, partition);
        }
    }

    /// A client finds whoever believes that it leads.
    fn client(&mut self, now: Nanos, random: &mut Random) {
        let partition = random.index(self.settings.partitions);
        let first = random.index(self.brokers.len());
        let voters = self.settings.quorum.voters;
        for turn in 0..self.brokers.len() {
            let node = voters + (first + turn) % self.brokers.len();
            if self.produce(now, node, partition) {
                return;
            }
        }
    }

    fn wish_of_controller(
        &mut self,
        now: Nanos,
        node: usize,
        raft: &Raft,
    ) -> Result<Option<Wish<Entry>>, Violation> {
        let now_ms = now / MILLISECOND;
        let own = &mut self.controllers[node];
        own.follow(now_ms, raft, &self.committed)?;
        let batch = own.next_batch(now_ms, raft.log_end_offset(), &self.settings)?;
        self.send_settled_answers(node, raft);
        Ok(batch.map(|(epoch, batch)| Wish::Append(epoch, batch)))
    }

    /// Answers that wait for nothing that is not committed already.
    fn send_settled_answers(&mut self, node: usize, raft: &Raft) {
        let Some(active) = &mut self.controllers[node].active else {
            return;
        };
        let committed = raft.high_watermark().unwrap_or(0);
        let settled = |answer: &mut (i64, _, _)| answer.0 <= committed;
        for (_, origin, reply) in active.answers.extract_if(.., settled) {
            self.posts.push(Post::Message {
                from: node,
                to: origin.broker,
                event: Event::Arrival(Arrival(Letter::Reply(origin, reply))),
            });
        }
    }
}

fn controller_config() -> Config {
    Config {
        cluster_id: "simulated".to_owned(),
        session_timeout_ms: SESSION_TIMEOUT_MS,
        min_insync_replicas: 1,
        unclean_leader_election: false,
        num_partitions: 1,
        default_replication_factor: 1,
    }
}

impl Application for Cluster {
    type Payload = Entry;
    type Event = Event;

    fn fingerprint(payload: &Entry) -> u64 {
        let bytes = payload.record.encode();
        bytes.iter().fold(payload.batch.unsigned_abs(), |print, byte| {
            crate::random::mix(print ^ u64::from(*byte))
        })
    }

    fn started(&mut self, _now: Nanos, node: usize) {
        if self.is_controller(node) {
            self.controllers[node] = controllers::Node::new(controller_config());
        } else {
            self.broker_mut(node).start(controller_config());
        }
    }

    fn crashed(&mut self, _now: Nanos, node: usize, random: &mut Random) {
        if !self.is_controller(node) {
            self.crash_broker(node, random);
        }
    }

    fn spares(&self, node: usize) -> bool {
        if self.is_controller(node) || !self.settings.within_promise {
            return false;
        }
        let id = self.brokers[node - self.settings.quorum.voters].id();
        self.promises.iter().any(|promise| !promise.bears(id))
    }

    fn apply(
        &mut self,
        now: Nanos,
        node: usize,
        offset: Offset,
        _epoch: Epoch,
        payload: Option<&Entry>,
    ) -> Result<(), Violation> {
        let position = usize::try_from(offset).unwrap_or(0);
        if position == self.committed.len() {
            self.commit(now, offset, payload)?;
        }
        if self.is_controller(node) {
            return self.apply_to_controller(node, position, offset, payload);
        }
        if let Some(process) = &mut self.broker_mut(node).process {
            controllers::replay(&mut process.metadata, offset, payload)?;
            process.applied = offset + 1;
        }
        if let Some(process) = &self.brokers[node - self.settings.quorum.voters].process {
            self.compare(node, position, process.metadata.image())?;
        }
        Ok(())
    }

    fn after_step(&mut self, now: Nanos, node: usize, raft: &Raft) -> Result<Option<Wish<Entry>>, Violation> {
        if self.is_controller(node) {
            return self.wish_of_controller(now, node, raft);
        }
        if let Some(process) = &mut self.broker_mut(node).process {
            process.controller = raft.leader().and_then(|id| usize::try_from(id.0).ok());
        }
        self.adopt_metadata(now, node);
        self.check_begun()?;
        let down = 20 + (now / MILLISECOND) % 200;
        Ok(self
            .stop_if_granted(node)
            .then_some(Wish::Stop(down * MILLISECOND)))
    }

    fn on_event(&mut self, now: Nanos, event: Event, random: &mut Random) -> Result<(), Violation> {
        let mut again = |after: Nanos, event| self.posts.push(Post::Later(after, event));
        match event {
            Event::Arrival(Arrival(letter)) => self.on_letter(now, letter),
            Event::ControllerTimer(node) => {
                again(20 * MILLISECOND, Event::ControllerTimer(node));
                self.controllers[node].tick = true;
            }
            Event::BrokerTimer(node) => {
                again(Self::heartbeat_pause(random), Event::BrokerTimer(node));
                self.see_to_registration(node, random);
            }
            Event::ReplicaTimer(node) => {
                again(random.between(2, 12) * MILLISECOND, Event::ReplicaTimer(node));
                self.see_to_replicas(now, node);
            }
            Event::Client => {
                again(random.between(2, 20) * MILLISECOND, Event::Client);
                self.client(now, random);
            }
        }
        Ok(())
    }

    fn take_posts(&mut self) -> Vec<Post<Event>> {
        std::mem::take(&mut self.posts)
    }

    fn calm(&mut self, now: Nanos) {
        let acknowledged = self.promises.iter().map(Promise::acknowledgements).collect();
        self.calm_since = Some((now, acknowledged));
    }

    fn recovered(&self, _now: Nanos) -> bool {
        let Some((_, acknowledged)) = &self.calm_since else {
            return false;
        };
        let image = self.truth.image();
        let Some(topic) = image.topics().get(&TOPIC) else {
            return false;
        };
        let whole = topic
            .partitions
            .values()
            .all(|partition| partition.leader >= 0 && partition.isr.len() == partition.replicas.len());
        let progress = (0..).zip(&self.promises).all(|(at, promise): (usize, _)| {
            promise.acknowledgements() > acknowledged.get(at).copied().unwrap_or(0)
        });
        whole && progress
    }

    fn summary(&self) -> String {
        let image = self.truth.image();
        let lives = self
            .brokers
            .iter()
            .map(|broker| (broker.node, broker.life, &broker.process));
        let lives = lives.map(|(node, life, process)| {
            let part = process
                .as_ref()
                .map(|it| (it.epoch, it.stopping, it.applied, &it.replicas));
            format!("broker {node} in life {life}: {part:?}")
        });
        format!(
            "{:?}; {:?}; {:?}",
            image.topics(),
            image.brokers(),
            lives.collect::<Vec<_>>()
        )
    }
}

/// Runs one seed.
///
/// # Errors
///
/// The first broken rule.
pub fn simulate(seed: u64, settings: ClusterSettings) -> Result<(Outcome, usize, i32), Violation> {
    let quorum = settings.quorum.clone();
    let mut world = World::new(seed, quorum, Cluster::new(settings))?;
    let outcome = world.run()?;
    Ok((outcome, world.app().acknowledged(), world.app().leader_epochs()))
}
