//! The rules, each both ways; every batch of every test is held to the invariants.

mod alter_partition;
mod configs;
mod elections;
mod elr;
mod features;
mod heartbeat;
mod random;
mod reassignment;
mod registration;
mod replay;
mod snapshot;
mod topics;
mod unclean;

use super::*;
use records::{Feature, Record};
use std::collections::BTreeMap;
use uuid::Uuid;

const TIMEOUT: u64 = 1500;
const TOPIC: Uuid = Uuid::from_u128(77);

fn config() -> Config {
    Config {
        cluster_id: "c".into(),
        session_timeout_ms: TIMEOUT,
        min_insync_replicas: 1,
        unclean_leader_election: false,
        num_partitions: 1,
        default_replication_factor: 1,
    }
}

/// A controller with a log of its own: what it gives is appended and replayed at once.
struct World {
    controller: Controller,
    log: Vec<(i64, Record)>,
    now: u64,
    incarnations: u128,
    /// Who registers uncleanly in the batch at hand.
    unclean: Option<i32>,
    /// Whether the batch at hand is an unclean election that was asked for.
    forced: bool,
}

impl Controller {
    fn min_isr(&self, topic: &str, replicas: usize) -> usize {
        effective_min_isr(self.min_insync_replicas(topic), replicas)
    }
}

impl World {
    fn new(elr: i16, brokers: i32) -> World {
        World::with(config(), elr, brokers)
    }

    fn with(config: Config, elr: i16, brokers: i32) -> World {
        let mut world = World {
            controller: Controller::new(config),
            log: Vec::new(),
            now: 0,
            incarnations: 0,
            unclean: None,
            forced: false,
        };
        let levels = world
            .controller
            .bootstrap_records([(ELR_FEATURE.to_string(), elr)]);
        world.append(levels);
        world.controller.activate(0);
        for id in 0..brokers {
            world.start(id, -1);
        }
        world
    }

    /// Appends a batch and takes it in; every batch is held to the invariants.
    fn append(&mut self, records: Vec<Record>) {
        let before = self.controller.image().clone();
        let batch = self.log.len() as i64;
        for record in &records {
            let offset = self.log.len() as i64;
            self.controller.replay(offset, batch, record).unwrap();
            self.log.push((batch, record.clone()));
        }
        self.check();
        self.check_changes(&before, &records);
    }

    fn register(&mut self, id: i32, previous: i64) -> Result<i64, ErrorCode> {
        let request = self.registration(id, previous);
        self.ask_registration(&request)
    }

    /// What a process that starts now asks.
    fn registration(&mut self, id: i32, previous: i64) -> RegisterBroker {
        self.incarnations += 1;
        RegisterBroker {
            broker_id: id,
            cluster_id: "c".into(),
            incarnation_id: Uuid::from_u128(self.incarnations),
            previous_broker_epoch: previous,
            end_points: vec![],
            features: vec![Feature {
                name: ELR_FEATURE.into(),
                min: 0,
                max: 1,
            }],
            log_dirs: vec![],
            rack: None,
        }
    }

    fn ask_registration(&mut self, request: &RegisterBroker) -> Result<i64, ErrorCode> {
        let next_offset = self.log.len() as i64;
        let outcome = self.controller.register_broker(self.now, next_offset, request);
        let stored = self.controller.image().brokers().get(&request.broker_id);
        let clean = stored.is_some_and(|broker| broker.epoch == request.previous_broker_epoch);
        self.unclean = (!clean).then_some(request.broker_id);
        self.append(outcome.records);
        self.unclean = None;
        outcome.reply
    }

    fn broker(&self, id: i32) -> &Broker {
        &self.controller.image().brokers()[&id]
    }

    fn epoch(&self, id: i32) -> i64 {
        self.controller.image().brokers()[&id].epoch
    }

    fn beat(&mut self, id: i32, want_shut_down: bool) -> Result<HeartbeatAnswer, ErrorCode> {
        let heartbeat = Heartbeat {
            broker_id: id,
            broker_epoch: self.epoch(id),
            current_metadata_offset: self.log.len() as i64 - 1,
            want_fence: false,
            want_shut_down,
        };
        let outcome = self.controller.heartbeat(self.now, &heartbeat);
        self.append(outcome.records);
        outcome.reply
    }

    fn start(&mut self, id: i32, previous: i64) {
        self.register(id, previous).unwrap();
        self.beat(id, false).unwrap();
    }

    /// The session of this broker alone runs out.
    fn fence(&mut self, id: i32) {
        self.now += TIMEOUT;
        let others: Vec<i32> = self
            .controller
            .image()
            .brokers()
            .keys()
            .copied()
            .filter(|o| *o != id)
            .collect();
        for other in others {
            if !self.controller.image().brokers()[&other].fenced {
                self.beat(other, false).unwrap();
            }
        }
        let records = self.controller.tick(self.now);
        assert!(!records.is_empty());
        self.append(records);
        assert!(self.controller.tick(self.now).is_empty());
        assert!(self.controller.image().brokers()[&id].fenced);
    }

    fn topic(&mut self, replicas: &[i32], min_isr: i32) {
        self.topic_with(
            "t",
            TOPIC,
            replicas,
            &[(MIN_INSYNC_REPLICAS, &min_isr.to_string())],
        );
    }

    fn topic_with(&mut self, name: &str, topic_id: Uuid, replicas: &[i32], configs: &[(&str, &str)]) {
        let config = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
        let request = CreateTopic {
            name: name.into(),
            topic_id,
            placement: Placement::Assigned(vec![replicas.to_vec()]),
            configs: configs.iter().map(config).collect(),
        };
        let outcome = self.controller.create_topic(&request);
        outcome.reply.unwrap();
        self.append(outcome.records);
    }

    /// Takes in what was decided, and nothing where it was refused.
    fn decide<T, E>(&mut self, outcome: Outcome<Result<T, E>>) -> Result<T, E> {
        assert!(outcome.reply.is_ok() || outcome.records.is_empty());
        self.append(outcome.records);
        outcome.reply
    }

    /// A topic's configuration changes; of all brokers' where the name is empty.
    fn configure(&mut self, name: &str, key: &str, value: &str) {
        let change = match value {
            "" => ConfigChange::Delete,
            value => ConfigChange::Set(value.into()),
        };
        let resource = match name {
            "" => ConfigResource::AllBrokers,
            name => ConfigResource::Topic(name.into()),
        };
        let changes = BTreeMap::from([(key.to_string(), change)]);
        let outcome = self.controller.alter_configs(&AlterConfigs { resource, changes });
        self.decide(outcome).unwrap();
    }

    fn elect(&mut self, election: Election, topic: &str) -> Result<(), ErrorCode> {
        let outcome = self.controller.elect_leader(election, topic, 0);
        self.forced = election == Election::Unclean;
        let reply = self.decide(outcome).map_err(|(code, _)| code);
        self.forced = false;
        reply
    }

    fn reassign(&mut self, topic: &str, replicas: Option<&[i32]>) -> Result<(), ErrorCode> {
        let outcome = self.controller.reassign(&Reassign {
            topic: topic.into(),
            partition_id: 0,
            replicas: replicas.map(<[i32]>::to_vec),
            may_resize: true,
        });
        self.decide(outcome).map_err(|(code, _)| code)
    }

    fn set_elr(&mut self, level: i16) -> Result<(), ErrorCode> {
        let supported = [Feature {
            name: ELR_FEATURE.into(),
            min: 0,
            max: 1,
        }];
        let update = FeatureUpdate {
            name: ELR_FEATURE.into(),
            level,
            direction: Direction::UpOrDown,
        };
        let outcome = self.controller.update_features(&supported, &[update]);
        self.decide(outcome).map_err(|(code, _)| code)
    }

    fn unregister(&mut self, id: i32) -> Result<(), ErrorCode> {
        let outcome = self.controller.unregister_broker(id);
        self.decide(outcome)
    }

    fn partition(&self) -> &Partition {
        self.partition_of(TOPIC)
    }

    fn partition_of(&self, topic_id: Uuid) -> &Partition {
        self.controller.image().partition(topic_id, 0).unwrap()
    }

    fn proposal(&self, isr: &[i32]) -> AlterPartition {
        self.proposal_of(TOPIC, isr)
    }

    fn proposal_of(&self, topic_id: Uuid, isr: &[i32]) -> AlterPartition {
        let partition = self.partition_of(topic_id);
        let broker_id = partition.leader;
        AlterPartition {
            broker_id,
            broker_epoch: self.epoch(broker_id),
            partitions: vec![PartitionToAlter {
                topic_id,
                partition_id: 0,
                leader_epoch: partition.leader_epoch,
                partition_epoch: partition.partition_epoch,
                new_isr: isr.iter().map(|id| (*id, self.epoch(*id))).collect(),
                recovering: false,
            }],
        }
    }

    fn alter(&mut self, isr: &[i32]) -> Result<AlteredPartition, ErrorCode> {
        self.alter_of(TOPIC, isr)
    }

    fn alter_of(&mut self, topic_id: Uuid, isr: &[i32]) -> Result<AlteredPartition, ErrorCode> {
        let request = self.proposal_of(topic_id, isr);
        let outcome = self.controller.alter_partition(&request);
        self.append(outcome.records);
        let answer = outcome.reply.unwrap().remove(0);
        if let Ok(altered) = &answer {
            let now = self.partition_of(topic_id);
            assert_eq!((&altered.isr, altered.leader), (&now.isr, now.leader));
            assert_eq!(altered.partition_epoch, now.partition_epoch);
            assert_eq!(
                (altered.leader_epoch, altered.recovering),
                (now.leader_epoch, now.recovering)
            );
        }
        answer
    }

    /// leader, ISR, ELR
    fn state(&self) -> (i32, Vec<i32>, Vec<i32>) {
        let sorted = |list: &[i32]| {
            let mut list = list.to_vec();
            list.sort();
            list
        };
        let partition = self.partition();
        (partition.leader, sorted(&partition.isr), sorted(&partition.elr))
    }

    /// The invariants, after every batch.
    fn check(&self) {
        let image = self.controller.image();
        let elr_enabled = image.feature(ELR_FEATURE) >= 1;
        for topic in image.topics().values() {
            for p in topic.partitions.values() {
                let min = self.controller.min_isr(&topic.name, p.replicas.len());
                assert!(
                    p.isr.iter().chain(&p.elr).all(|id| p.replicas.contains(id)),
                    "{p:?}"
                );
                assert!(p.isr.iter().all(|id| !p.elr.contains(id)), "{p:?}");
                assert!(p.isr.len() < min || p.elr.is_empty(), "{p:?}");
                assert!(p.leader < 0 || p.isr.contains(&p.leader), "{p:?}");
                assert!(
                    p.leader < 0 || image.brokers().get(&p.leader).is_some_and(Broker::is_active),
                    "{p:?}"
                );
                if elr_enabled {
                    assert!(p.isr.iter().all(|id| image.is_active(*id)), "{p:?}");
                } else {
                    assert!(!p.isr.is_empty() && p.elr.is_empty(), "{p:?}");
                    assert!(
                        p.isr.len() == 1 || p.isr.iter().all(|id| image.is_active(*id)),
                        "{p:?}"
                    );
                }
            }
        }
    }

    /// What a batch may not do to any partition, however it began.
    fn check_changes(&self, before: &Image, records: &[Record]) {
        for record in records {
            let Record::PartitionChange(change) = record else {
                continue;
            };
            assert!(!change.is_no_op());
            let was = before.partition(change.topic_id, change.partition_id).unwrap();
            let is = self
                .controller
                .image()
                .partition(change.topic_id, change.partition_id)
                .unwrap();
            assert_eq!(is.partition_epoch, was.partition_epoch + 1, "one record a batch");
            let elections = i32::from(change.leader.is_some());
            assert_eq!(is.leader_epoch, was.leader_epoch + elections);
            // Whoever joins the ISR with the proposal that ends a reassignment may lead at once.
            let moves = |of: &Partition| !of.adding_replicas.is_empty() || !of.removing_replicas.is_empty();
            let ended = moves(was) && !moves(is);
            let eligible =
                |id: i32| was.isr.contains(&id) || was.elr.contains(&id) || ended && is.isr.contains(&id);
            if let Some(leader) = change.leader.filter(|leader| *leader >= 0) {
                assert!(eligible(leader) || is.recovering, "{was:?} {is:?}");
                // Whoever registers uncleanly leaves both lists in the record that elects.
                let mut members = was.isr.iter().chain(&was.elr);
                let nobody = members.all(|id| self.unclean == Some(*id));
                let last_known = nobody && was.last_known_elr == [leader];
                let topic = &before.topics()[&change.topic_id].name;
                assert!(
                    eligible(leader) || last_known || self.forced || self.controller.unclean_allowed(topic),
                    "{was:?} {is:?}"
                );
            }
            let unclean_election = change
                .leader
                .is_some_and(|leader| leader >= 0 && !eligible(leader));
            let min = self
                .controller
                .min_isr(&before.topics()[&change.topic_id].name, is.replicas.len());
            let lost = was.isr.len() + was.elr.len() >= min && is.isr.len() + is.elr.len() < min;
            if self.controller.elr_enabled() {
                assert!(
                    !lost || unclean_election || self.unclean.is_some(),
                    "{was:?} {is:?}"
                );
            }
        }
    }

    /// Another controller becomes active: it knows what the log says, and nothing else.
    fn fail_over(&mut self) {
        self.controller = self.replayed();
        self.controller.activate(self.now);
    }

    /// The log replayed from its start gives the same image.
    fn replays(&self) {
        assert_eq!(self.replayed().image(), self.controller.image());
    }

    fn replayed(&self) -> Controller {
        let mut other = Controller::new(self.controller.config.clone());
        for (offset, (batch, record)) in (0..).zip(&self.log) {
            other
                .replay(offset, *batch, &Record::decode(&record.encode()).unwrap())
                .unwrap();
        }
        other
    }
}
