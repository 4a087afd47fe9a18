//! Three replicas, a toy controller with eligible leader replicas, and a network that delays, reorders,
//! duplicates and drops; brokers are fenced while they run, killed, and lose power.
//!
//! After every step:
//! - two logs agree up to the smaller of their two high watermarks;
//! - what was once below any high watermark, or acknowledged with acks=all, is in the log of every
//!   broker that the controller might elect: its ISR and ELR;
//! - a leader's high watermark has not moved back within its epoch.
//!
//! The same run with the min ISR of the brokers too low must break the second: the check can fire.

mod toy;

use std::collections::BTreeMap;

use replication::{
    AlterIsr, AlterIsrError, AlteredIsr, BatchSummary, Broker, Completion, FetchAnswer, FetchCheck,
    FetchError, FetchPlan, FetchRefusal, FetchRequest, FollowerFetch, FollowerId, LogView, Now, Partition,
    Replica, Settings, Step, Transition,
};
use toy::{Entry, ToyLog};

const BROKERS: [i32; 3] = [1, 2, 3];
const MIN_ISR: usize = 2;
const LAG: u64 = 60;
/// Records an answer may hold.
const ANSWER_RECORDS: usize = 3;
const STEPS: usize = 3_000;
const SEEDS: u64 = 1_000;

/// SplitMix64.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

/// The cluster's metadata.
struct Controller {
    partition: Partition,
    elr: Vec<i32>,
    brokers: BTreeMap<i32, Broker>,
    next_broker_epoch: i64,
}

impl Controller {
    fn new() -> Self {
        let partition = Partition {
            leader: Some(1),
            leader_epoch: 0,
            partition_epoch: 0,
            isr: BROKERS.into(),
            replicas: BROKERS.into(),
        };
        let broker = |id: i32| Broker {
            broker_epoch: i64::from(id),
            fenced: false,
            in_controlled_shutdown: false,
        };
        let brokers = BROKERS.map(|id| (id, broker(id))).into();
        Self {
            partition,
            elr: Vec::new(),
            brokers,
            next_broker_epoch: 10,
        }
    }

    fn electable(&self) -> Vec<i32> {
        [self.partition.isr.as_slice(), &self.elr].concat()
    }

    /// Makes `isr` the ISR, without `lost` in either list, and elects if the leader is out.
    fn change(&mut self, mut isr: Vec<i32>, lost: Option<i32>) {
        isr.retain(|id| Some(*id) != lost);
        let before = self.electable();
        self.elr = if isr.len() >= MIN_ISR { Vec::new() } else { before };
        self.elr.retain(|id| !isr.contains(id) && Some(*id) != lost);
        let may_lead = |id: &&i32| !self.brokers[id].fenced;
        let leader = self
            .partition
            .leader
            .filter(|id| isr.contains(id) && may_lead(&id));
        let elected = leader
            .or_else(|| isr.iter().find(may_lead).copied())
            .or_else(|| self.elr.iter().filter(|_| isr.is_empty()).find(may_lead).copied());
        if let Some(id) = elected.filter(|id| !isr.contains(id)) {
            isr = vec![id];
            self.elr.retain(|other| *other != id);
        }
        if elected != self.partition.leader {
            self.partition.leader_epoch += 1;
        }
        self.partition.leader = elected;
        self.partition.isr = isr;
        self.partition.partition_epoch += 1;
    }

    fn fence(&mut self, id: i32, lost: bool) {
        self.brokers.get_mut(&id).unwrap().fenced = true;
        let isr = self
            .partition
            .isr
            .iter()
            .copied()
            .filter(|member| *member != id)
            .collect();
        self.change(isr, lost.then_some(id));
    }

    fn register(&mut self, id: i32, lost: bool) -> i64 {
        self.fence(id, lost);
        self.next_broker_epoch += 1;
        self.brokers.get_mut(&id).unwrap().broker_epoch = self.next_broker_epoch;
        self.next_broker_epoch
    }

    fn unfence(&mut self, id: i32) {
        self.brokers.get_mut(&id).unwrap().fenced = false;
        if self.partition.leader.is_none() {
            self.change(self.partition.isr.clone(), None);
        }
    }

    fn alter(&mut self, from: i32, proposal: &AlterIsr) -> Result<AlteredIsr, AlterIsrError> {
        let now = &self.partition;
        if proposal.leader_epoch != now.leader_epoch
            || now.leader != Some(from)
            || proposal.partition_epoch != now.partition_epoch
        {
            return Err(AlterIsrError::Outdated);
        }
        let eligible = |id, epoch: i64| {
            let broker = &self.brokers[id];
            !broker.fenced && (epoch == -1 || epoch == broker.broker_epoch)
        };
        if !proposal
            .isr
            .iter()
            .all(|member| eligible(&member.broker, member.broker_epoch))
        {
            return Err(AlterIsrError::Rejected);
        }
        self.change(proposal.isr.iter().map(|member| member.broker).collect(), None);
        let now = &self.partition;
        let (leader_epoch, partition_epoch, isr) = (now.leader_epoch, now.partition_epoch, now.isr.clone());
        Ok(AlteredIsr {
            leader_epoch,
            partition_epoch,
            isr,
        })
    }
}

/// A broker and its one replica.
struct Node {
    replica: Replica,
    log: ToyLog,
    synced: i64,
    broker_epoch: i64,
    /// What it has heard of the other brokers.
    known: BTreeMap<i32, Broker>,
    /// acks=all appends that wait: (leader epoch, required offset).
    waiting: Vec<(i32, i64)>,
    /// The high watermark in the last leader epoch it led.
    led: (i32, i64),
}

#[derive(Clone)]
enum Message {
    Fetch {
        from: i32,
        broker_epoch: i64,
        plan: FetchPlan,
    },
    Answer {
        to: i32,
        plan: FetchPlan,
        answer: FetchAnswer,
        records: Vec<Entry>,
    },
    Alter {
        from: i32,
        proposal: AlterIsr,
    },
    Altered {
        to: i32,
        proposal: u64,
        answer: Result<AlteredIsr, AlterIsrError>,
    },
    Metadata {
        to: i32,
        partition: Partition,
        brokers: BTreeMap<i32, Broker>,
    },
}

struct World {
    draws: Draws,
    /// The larger, the rarer are faults.
    calm: u64,
    settings: Settings,
    controller: Controller,
    nodes: BTreeMap<i32, Node>,
    network: Vec<Message>,
    ms: u64,
    next_value: u64,
    committed: Vec<Entry>,
    acknowledged: usize,
}

type Checked = Result<(), String>;

impl World {
    fn new(seed: u64, broker_min_isr: usize) -> Self {
        let settings = Settings {
            min_insync_replicas: broker_min_isr,
            replica_lag_time_max_ms: LAG,
        };
        let controller = Controller::new();
        let node = |id: i32| Node {
            replica: Replica::new(id, i64::from(id), settings, 0),
            log: ToyLog::default(),
            synced: 0,
            broker_epoch: i64::from(id),
            known: controller.brokers.clone(),
            waiting: Vec::new(),
            led: (-1, 0),
        };
        let nodes = BROKERS.map(|id| (id, node(id))).into();
        let mut world = Self {
            draws: Draws(seed),
            calm: 1 + seed % 5,
            settings,
            controller,
            nodes,
            network: Vec::new(),
            ms: 0,
            next_value: 0,
            committed: Vec::new(),
            acknowledged: 0,
        };
        world.announce();
        world
    }

    fn send(&mut self, message: Message) {
        if self.draws.one_in(12) {
            return;
        }
        if self.draws.one_in(20) {
            self.network.push(message.clone());
        }
        self.network.push(message);
    }

    /// The controller's state, on its way to every broker. What is lost is overtaken by the next.
    fn announce(&mut self) {
        for to in BROKERS {
            let (partition, brokers) = (self.controller.partition.clone(), self.controller.brokers.clone());
            self.send(Message::Metadata {
                to,
                partition,
                brokers,
            });
        }
    }

    fn step(&mut self) -> Checked {
        self.ms += self.draws.below(3);
        let id = BROKERS[self.draws.below(3) as usize];
        match self.draws.below(100) {
            0..=14 => self.produce(id),
            15..=39 => self.fetch(id),
            40..=89 => self.deliver(),
            90..=93 => self.tick(id),
            94 => self.announce(),
            95..=96 => self.nodes.get_mut(&id).unwrap().synced = self.nodes[&id].log.end_offset(),
            97 => {
                self.controller.unfence(id);
                self.announce();
            }
            _ if self.draws.below(self.calm) > 0 => {}
            _ if self.draws.one_in(3) => {
                self.controller.fence(id, false);
                self.announce();
            }
            _ => {
                let power_loss = self.draws.one_in(2);
                self.restart(id, power_loss);
            }
        }
        self.complete();
        self.check()
    }

    fn produce(&mut self, id: i32) {
        let acks_all = self.draws.one_in(2);
        let node = self.nodes.get_mut(&id).unwrap();
        let Some(leader) = node.replica.leader() else {
            return;
        };
        if acks_all && leader.admit_acks_all().is_err() {
            return;
        }
        let leader_epoch = leader.leader_epoch();
        self.next_value += 1;
        node.log.append(Entry {
            leader_epoch,
            value: self.next_value,
        });
        if acks_all {
            node.waiting.push((leader_epoch, node.log.end_offset()));
        }
        self.lead(id, |leader, now| leader.appended(now));
    }

    fn tick(&mut self, id: i32) {
        self.lead(id, |leader, now| leader.tick(now));
    }

    /// An event of a leader, with its proposal sent on.
    fn lead(
        &mut self,
        id: i32,
        event: impl FnOnce(&mut replication::Leader, Now<'_, BTreeMap<i32, Broker>>) -> replication::Effects,
    ) {
        let node = self.nodes.get_mut(&id).unwrap();
        let now = Now {
            ms: self.ms,
            log_end: node.log.end_offset(),
            brokers: &node.known,
        };
        let Some(leader) = node.replica.leader_mut() else {
            return;
        };
        if let Some(proposal) = event(leader, now).alter_isr {
            self.send(Message::Alter { from: id, proposal });
        }
    }

    fn fetch(&mut self, from: i32) {
        let node = &self.nodes[&from];
        let Some(plan) = node
            .replica
            .follower()
            .and_then(|follower| follower.plan(&node.log))
        else {
            return;
        };
        let broker_epoch = node.broker_epoch;
        self.send(Message::Fetch {
            from,
            broker_epoch,
            plan,
        });
    }

    fn deliver(&mut self) {
        if self.network.is_empty() {
            return;
        }
        let at = self.draws.below(self.network.len() as u64) as usize;
        match self.network.swap_remove(at) {
            Message::Fetch {
                from,
                broker_epoch,
                plan,
            } => self.serve(from, broker_epoch, plan),
            Message::Answer {
                to,
                plan,
                answer,
                records,
            } => self.receive(to, &plan, &answer, &records),
            Message::Alter { from, proposal } => {
                let answer = self.controller.alter(from, &proposal);
                let proposal = proposal.proposal;
                self.send(Message::Altered {
                    to: from,
                    proposal,
                    answer,
                });
                self.announce();
            }
            Message::Altered { to, proposal, answer } => {
                self.lead(to, |leader, now| leader.isr_answer(proposal, answer, now));
            }
            Message::Metadata {
                to,
                partition,
                brokers,
            } => self.learn(to, &partition, brokers),
        }
    }

    fn learn(&mut self, to: i32, partition: &Partition, brokers: BTreeMap<i32, Broker>) {
        let node = self.nodes.get_mut(&to).unwrap();
        // A broker acts on metadata only once it holds its own registration.
        if brokers[&to].broker_epoch != node.broker_epoch {
            return;
        }
        if partition.partition_epoch >= node.replica.partition_epoch() {
            node.known = brokers;
        }
        let now = Now {
            ms: self.ms,
            log_end: node.log.end_offset(),
            brokers: &node.known,
        };
        let transition = node.replica.metadata(partition, &node.log, now);
        if let Transition::BecameLeader {
            leader_epoch,
            start_offset,
            ..
        } = transition
        {
            assert_eq!(start_offset, node.log.end_offset());
            node.log.assign(leader_epoch);
        }
    }

    fn serve(&mut self, from: i32, broker_epoch: i64, plan: FetchPlan) {
        let node = &self.nodes[&plan.leader];
        let request = FetchRequest {
            follower: Some(FollowerId {
                replica: from,
                broker_epoch,
            }),
            current_leader_epoch: Some(plan.current_leader_epoch),
            fetch_offset: plan.fetch_offset,
            last_fetched_epoch: plan.last_fetched_epoch,
        };
        let mut records: Vec<Entry> = Vec::new();
        let answer = match node.replica.check_fetch(&request, &node.log, &node.known) {
            FetchCheck::Valid => {
                records.extend(
                    node.log
                        .entries
                        .iter()
                        .skip(plan.fetch_offset as usize)
                        .take(ANSWER_RECORDS),
                );
                let fetch = FollowerFetch {
                    replica: from,
                    broker_epoch,
                    fetch_offset: plan.fetch_offset,
                };
                self.lead(plan.leader, |leader, now| leader.fetched(&fetch, now));
                let batches = records
                    .iter()
                    .zip(plan.fetch_offset..)
                    .map(|(entry, offset)| BatchSummary {
                        base_offset: offset,
                        next_offset: offset + 1,
                        leader_epoch: entry.leader_epoch,
                    });
                let high_watermark = self.nodes[&plan.leader].replica.high_watermark();
                FetchAnswer::Records {
                    batches: batches.collect(),
                    high_watermark,
                    log_start_offset: 0,
                }
            }
            FetchCheck::Diverging(end) => FetchAnswer::Diverging(end),
            FetchCheck::Refused(FetchRefusal::OffsetOutOfRange) => {
                FetchAnswer::Error(FetchError::OffsetOutOfRange)
            }
            FetchCheck::Refused(_) => FetchAnswer::Error(FetchError::Other),
        };
        self.send(Message::Answer {
            to: from,
            plan,
            answer,
            records,
        });
    }

    fn receive(&mut self, to: i32, plan: &FetchPlan, answer: &FetchAnswer, records: &[Entry]) {
        let node = self.nodes.get_mut(&to).unwrap();
        let Some(follower) = node.replica.follower_mut() else {
            return;
        };
        match follower.answer(plan, answer, &node.log) {
            Step::Append {
                batches,
                leader_high_watermark,
                ..
            } => {
                records[..batches]
                    .iter()
                    .for_each(|entry| node.log.append(*entry));
                follower.appended(leader_high_watermark, &node.log);
            }
            Step::Truncate { to } => {
                node.log.truncate(to);
                node.synced = node.synced.min(node.log.end_offset());
                follower.truncated(&node.log);
            }
            Step::Reset { .. } => unreachable!("every log begins at 0"),
            Step::AskLeaderRange => {
                panic!("no unclean election, so nobody is longer than the leader's epochs")
            }
            Step::Backoff | Step::AwaitMetadata | Step::Ignore(_) => {}
        }
    }

    /// Kills a broker and starts it again, with or without a loss of power. Not a loss of power to the
    /// last one that the controller could elect: that KIP-966 does not promise to survive.
    fn restart(&mut self, id: i32, power_loss: bool) {
        if power_loss && self.controller.electable().iter().all(|other| *other == id) {
            return;
        }
        let broker_epoch = self.controller.register(id, power_loss);
        let checkpoint = self
            .draws
            .below(self.nodes[&id].replica.high_watermark() as u64 + 1) as i64;
        let node = self.nodes.get_mut(&id).unwrap();
        let latest = self.controller.partition.leader_epoch;
        if power_loss {
            node.log.truncate(node.synced);
        } else {
            // An epoch without records is forgotten when a log is opened.
            node.log.truncate(node.log.end_offset());
        }
        assert!(node.log.latest_epoch().is_none_or(|epoch| epoch <= latest));
        node.replica = Replica::new(
            id,
            broker_epoch,
            self.settings,
            checkpoint.min(node.log.end_offset()),
        );
        node.broker_epoch = broker_epoch;
        node.waiting.clear();
        self.announce();
    }

    fn complete(&mut self) {
        for node in self.nodes.values_mut() {
            let Some(leader) = node.replica.leader() else {
                continue;
            };
            let epoch = leader.leader_epoch();
            node.waiting.retain(|waiting| waiting.0 == epoch);
            let done = |waiting: &&(i32, i64)| leader.completion(waiting.1) == Completion::Acknowledged;
            self.acknowledged += node.waiting.iter().filter(done).count();
            node.waiting
                .retain(|waiting| leader.completion(waiting.1) == Completion::Waiting);
        }
    }

    fn check(&mut self) -> Checked {
        for (id, node) in &mut self.nodes {
            let high_watermark = node.replica.high_watermark();
            if high_watermark > node.log.end_offset() {
                return Err(format!("{id}: high watermark {high_watermark} beyond the log"));
            }
            if let Some(leader) = node.replica.leader() {
                let led = (leader.leader_epoch(), high_watermark);
                if led.0 == node.led.0 && led.1 < node.led.1 {
                    return Err(format!("{id}: high watermark went back in epoch {}", led.0));
                }
                node.led = led;
            }
            // Everybody agrees with what was committed, as far as both go; that makes them agree with
            // each other.
            let visible = &node.log.entries[..high_watermark as usize];
            let shared = visible.len().min(self.committed.len());
            if visible[..shared] != self.committed[..shared] {
                return Err(format!(
                    "{id}: departs from what was committed below its high watermark"
                ));
            }
            if visible.len() > shared {
                self.committed.extend_from_slice(&visible[shared..]);
            }
        }
        for id in self.controller.electable() {
            if !self.nodes[&id].log.entries.starts_with(&self.committed) {
                return Err(format!("{id} may be elected, and lacks committed records"));
            }
        }
        Ok(())
    }
}

/// Committed and acknowledged records of a run.
fn run(seed: u64, broker_min_isr: usize) -> Result<(usize, usize, i32), String> {
    let mut world = World::new(seed, broker_min_isr);
    for step in 0..STEPS {
        world
            .step()
            .map_err(|broken| format!("seed {seed}, step {step}: {broken}"))?;
    }
    Ok((
        world.committed.len(),
        world.acknowledged,
        world.controller.partition.leader_epoch,
    ))
}

#[test]
fn nothing_committed_is_lost() {
    let (mut committed, mut acknowledged, mut elections) = (0, 0, 0);
    for seed in 0..SEEDS {
        let totals = run(seed, MIN_ISR).unwrap();
        committed += totals.0;
        acknowledged += totals.1;
        elections += totals.2;
    }
    println!("{committed} committed, {acknowledged} acknowledged, {elections} elections");
    // Not a vacuous run.
    assert!(
        committed > 50_000 && acknowledged > 20_000 && elections > 5_000,
        "{committed} {acknowledged} {elections}"
    );
}

#[test]
fn without_the_strict_high_watermark_something_is() {
    let broken = (0..SEEDS).find_map(|seed| run(seed, 1).err());
    assert!(broken.unwrap().contains("lacks committed records"));
}
