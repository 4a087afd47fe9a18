//! The rules, each both ways; and random runs that hold the invariants.

use super::*;
use records::Record;
use std::collections::BTreeMap;
use uuid::Uuid;

const TIMEOUT: u64 = 1500;
const TOPIC: Uuid = Uuid::from_u128(77);

/// A controller with a log of its own: what it gives is appended and replayed at once.
struct World {
    controller: Controller,
    log: Vec<(i64, Record)>,
    now: u64,
    incarnations: u128,
}

impl World {
    fn new(elr: i16, brokers: i32) -> World {
        let config = Config {
            cluster_id: "c".into(),
            session_timeout_ms: TIMEOUT,
            min_insync_replicas: 1,
            unclean_leader_election: false,
            num_partitions: 1,
            default_replication_factor: 1,
        };
        let mut world = World {
            controller: Controller::new(config),
            log: Vec::new(),
            now: 0,
            incarnations: 0,
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

    fn append(&mut self, records: Vec<Record>) {
        let batch = self.log.len() as i64;
        for record in records {
            let offset = self.log.len() as i64;
            self.controller.replay(offset, batch, &record).unwrap();
            self.log.push((batch, record));
        }
        self.check();
    }

    fn register(&mut self, id: i32, previous: i64) -> Result<i64, ErrorCode> {
        self.incarnations += 1;
        let request = RegisterBroker {
            broker_id: id,
            cluster_id: "c".into(),
            incarnation_id: Uuid::from_u128(self.incarnations),
            previous_broker_epoch: previous,
            end_points: vec![],
            features: vec![],
            log_dirs: vec![],
            rack: None,
        };
        let outcome = self
            .controller
            .register_broker(self.now, self.log.len() as i64, &request);
        self.append(outcome.records);
        outcome.reply
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
        let request = CreateTopic {
            name: "t".into(),
            topic_id: TOPIC,
            placement: Placement::Assigned(vec![replicas.to_vec()]),
            configs: BTreeMap::from([(MIN_INSYNC_REPLICAS.to_string(), min_isr.to_string())]),
        };
        let outcome = self.controller.create_topic(&request);
        outcome.reply.unwrap();
        self.append(outcome.records);
    }

    fn partition(&self) -> &Partition {
        self.controller.image().partition(TOPIC, 0).unwrap()
    }

    fn proposal(&self, isr: &[i32]) -> AlterPartition {
        let partition = self.partition();
        let broker_id = partition.leader;
        AlterPartition {
            broker_id,
            broker_epoch: self.epoch(broker_id),
            partitions: vec![PartitionToAlter {
                topic_id: TOPIC,
                partition_id: 0,
                leader_epoch: partition.leader_epoch,
                partition_epoch: partition.partition_epoch,
                new_isr: isr.iter().map(|id| (*id, self.epoch(*id))).collect(),
                recovering: false,
            }],
        }
    }

    fn alter(&mut self, isr: &[i32]) -> Result<AlteredPartition, ErrorCode> {
        let request = self.proposal(isr);
        let outcome = self.controller.alter_partition(&request);
        self.append(outcome.records);
        let answer = outcome.reply.unwrap().remove(0);
        if let Ok(altered) = &answer {
            assert_eq!(altered.isr, self.partition().isr);
            assert_eq!(altered.partition_epoch, self.partition().partition_epoch);
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

    /// The log replayed from its start gives the same image.
    fn replays(&self) {
        let mut other = Controller::new(self.controller.config.clone());
        for (offset, (batch, record)) in (0..).zip(&self.log) {
            other
                .replay(offset, *batch, &Record::decode(&record.encode()).unwrap())
                .unwrap();
        }
        assert_eq!(other.image(), self.controller.image());
    }
}

/// T0 to T4 of the proposal: 0 is cut, 1 is cut, 2 loses its power, both return, 2 returns without its log's end.
fn last_replica_standing(elr: i16) -> World {
    let mut world = World::new(elr, 3);
    world.topic(&[1, 0, 2], 2);
    assert_eq!(world.state(), (1, vec![0, 1, 2], vec![]));
    world.fence(0);
    assert_eq!(world.state(), (1, vec![1, 2], vec![]));
    world.fence(1);
    world.fence(2);
    world
}

#[test]
fn the_last_replica_standing_is_saved_by_the_elr() {
    let mut world = last_replica_standing(1);
    assert_eq!(world.state(), (-1, vec![], vec![1, 2]));
    assert_eq!(world.partition().last_known_elr, [2]);
    world.beat(0, false).unwrap();
    assert_eq!(
        world.state(),
        (-1, vec![], vec![1, 2]),
        "0 has not got all records"
    );
    world.beat(1, false).unwrap();
    assert_eq!(world.state(), (1, vec![1], vec![2]));
    assert!(world.partition().last_known_elr.is_empty());
    world.alter(&[1, 0]).unwrap();
    assert_eq!(world.state(), (1, vec![0, 1], vec![]));
    world.start(2, -1);
    assert_eq!(world.state(), (1, vec![0, 1], vec![]));
    world.alter(&[1, 0, 2]).unwrap();
    assert_eq!(world.state(), (1, vec![0, 1, 2], vec![]));
    world.replays();
}

#[test]
fn without_the_elr_the_last_replica_leads_again_whatever_it_lost() {
    let mut world = last_replica_standing(0);
    assert_eq!(world.state(), (-1, vec![2], vec![]));
    world.beat(0, false).unwrap();
    world.beat(1, false).unwrap();
    assert_eq!(world.state(), (-1, vec![2], vec![]));
    world.start(2, -1);
    assert_eq!(world.state(), (2, vec![2], vec![]));
    world.replays();
}

#[test]
fn an_unclean_registration_leaves_the_elr_and_a_clean_one_stays() {
    for (clean, elr) in [(true, vec![1, 2]), (false, vec![1])] {
        let mut world = last_replica_standing(1);
        let previous = if clean { world.epoch(2) } else { -1 };
        world.register(2, previous).unwrap();
        assert_eq!(world.state(), (-1, vec![], elr));
        let leader = if clean { 2 } else { -1 };
        world.beat(2, false).unwrap();
        assert_eq!(world.partition().leader, leader);
        world.replays();
    }
}

#[test]
fn where_all_is_empty_the_last_known_leader_leads() {
    let mut world = last_replica_standing(1);
    world.register(1, -1).unwrap();
    world.register(2, -1).unwrap();
    assert_eq!(world.state(), (-1, vec![], vec![]));
    world.beat(1, false).unwrap();
    assert_eq!(world.partition().leader, -1, "1 did not lead last");
    world.beat(2, false).unwrap();
    assert_eq!(world.state(), (2, vec![2], vec![]));
    assert!(world.partition().recovering);
    world.alter(&[2]).unwrap();
    assert!(!world.partition().recovering);
}

#[test]
fn four_brokers_with_min_isr_three() {
    let mut world = World::new(1, 4);
    world.topic(&[0, 1, 2, 3], 3);
    world.fence(3);
    assert_eq!(world.state(), (0, vec![0, 1, 2], vec![]));
    world.fence(2);
    assert_eq!(world.state(), (0, vec![0, 1], vec![2]));
    world.fence(1);
    assert_eq!(world.state(), (0, vec![0], vec![1, 2]));
    world.fence(0);
    assert_eq!(world.state(), (-1, vec![], vec![0, 1, 2]));
    world.beat(3, false).unwrap();
    assert_eq!(
        world.state(),
        (-1, vec![], vec![0, 1, 2]),
        "3 left while the ISR was whole"
    );
    world.beat(2, false).unwrap();
    assert_eq!(world.state(), (2, vec![2], vec![0, 1]));
    world.alter(&[2, 3]).unwrap();
    assert_eq!(world.state(), (2, vec![2, 3], vec![0, 1]));
    world.beat(0, false).unwrap();
    world.alter(&[2, 3, 0]).unwrap();
    assert_eq!(world.state(), (2, vec![0, 2, 3], vec![]));
}

#[test]
fn registration_refuses_a_living_twin_and_another_cluster() {
    let mut world = World::new(1, 1);
    assert_eq!(world.register(0, -1), Err(ErrorCode::DuplicateBrokerRegistration));
    world.now += TIMEOUT;
    assert!(world.register(0, -1).is_ok());
    let mut request = RegisterBroker {
        broker_id: 9,
        cluster_id: "other".into(),
        incarnation_id: Uuid::from_u128(1),
        previous_broker_epoch: -1,
        end_points: vec![],
        features: vec![],
        log_dirs: vec![],
        rack: None,
    };
    let refused = world.controller.register_broker(0, 0, &request);
    assert_eq!(refused.reply, Err(ErrorCode::InconsistentClusterId));
    request.cluster_id = "c".into();
    let next = world.log.len() as i64;
    let first = world.controller.register_broker(world.now, next, &request);
    assert_eq!(first.reply, Ok(next));
    world.append(first.records);
    let again = world
        .controller
        .register_broker(world.now, world.log.len() as i64, &request);
    assert_eq!(again.reply, Ok(next), "the same incarnation keeps its epoch");
}

#[test]
fn heartbeats_unfence_whoever_has_seen_its_registration() {
    let mut world = World::new(1, 0);
    world.register(0, -1).unwrap();
    let mut heartbeat = Heartbeat {
        broker_id: 0,
        broker_epoch: world.epoch(0),
        current_metadata_offset: world.log.len() as i64 - 2,
        want_fence: false,
        want_shut_down: false,
    };
    let early = world.controller.heartbeat(0, &heartbeat);
    assert!(early.records.is_empty() && early.reply.unwrap().is_fenced);
    heartbeat.broker_epoch += 1;
    assert_eq!(
        world.controller.heartbeat(0, &heartbeat).reply,
        Err(ErrorCode::StaleBrokerEpoch)
    );
    heartbeat.broker_id = 5;
    assert_eq!(
        world.controller.heartbeat(0, &heartbeat).reply,
        Err(ErrorCode::BrokerIdNotRegistered)
    );
    assert!(!world.beat(0, false).unwrap().is_fenced);
}

#[test]
fn a_controlled_shutdown_moves_leaders_first() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 2);
    let asked = world.beat(0, true).unwrap();
    assert!(!asked.should_shut_down);
    assert_eq!(world.state(), (1, vec![1, 2], vec![]));
    world.beat(1, false).unwrap();
    assert!(
        !world.beat(0, true).unwrap().should_shut_down,
        "2 has not seen it"
    );
    world.beat(2, false).unwrap();
    assert!(world.beat(0, true).unwrap().should_shut_down);
    let clean = world.epoch(0);
    world.start(0, clean);
    assert_eq!(world.state(), (1, vec![1, 2], vec![]));
}

#[test]
fn a_proposal_is_checked_in_order() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 2);
    let refused = |world: &World, change: &dyn Fn(&mut AlterPartition)| {
        let mut request = world.proposal(&[0, 1]);
        change(&mut request);
        match world.controller.alter_partition(&request).reply {
            Ok(answers) => answers[0].clone().err(),
            Err(error) => Some(error),
        }
    };
    assert_eq!(refused(&world, &|_| ()), None);
    use ErrorCode::*;
    assert_eq!(refused(&world, &|r| r.broker_epoch += 1), Some(StaleBrokerEpoch));
    assert_eq!(
        refused(&world, &|r| r.partitions[0].topic_id = Uuid::nil()),
        Some(UnknownTopicId)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].partition_id = 4),
        Some(UnknownTopicOrPartition)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].leader_epoch += 1),
        Some(NotController)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].partition_epoch += 1),
        Some(NotController)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].leader_epoch -= 1),
        Some(FencedLeaderEpoch)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].partition_epoch -= 1),
        Some(InvalidUpdateVersion)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].new_isr = vec![(1, -1)]),
        Some(InvalidRequest)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].new_isr.push((0, -1))),
        Some(InvalidRequest)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].new_isr.push((9, -1))),
        Some(InvalidRequest)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].recovering = true),
        Some(InvalidRequest)
    );
    assert_eq!(
        refused(&world, &|r| r.partitions[0].new_isr[1].1 += 1),
        Some(IneligibleReplica)
    );
    let other = world.epoch(1);
    assert_eq!(
        refused(&world, &|r| (r.broker_id, r.broker_epoch) = (1, other)),
        Some(InvalidRequest)
    );
    world.fence(1);
    assert_eq!(refused(&world, &|_| ()), Some(IneligibleReplica));
}

#[test]
fn a_new_active_controller_gives_fresh_leases() {
    let mut world = World::new(1, 2);
    world.now += 10 * TIMEOUT;
    world.controller.activate(world.now);
    assert!(world.controller.tick(world.now + TIMEOUT - 1).is_empty());
    assert_eq!(world.controller.next_deadline_ms(), Some(world.now + TIMEOUT));
    assert!(!world.controller.tick(world.now + TIMEOUT).is_empty());
}

#[test]
fn topics_are_checked() {
    let mut world = World::new(1, 3);
    let create = |world: &World, change: &dyn Fn(&mut CreateTopic)| {
        let mut request = CreateTopic {
            name: "t".into(),
            topic_id: TOPIC,
            placement: Placement::Automatic {
                partitions: 4,
                replication_factor: 2,
                shift: 5,
            },
            configs: BTreeMap::new(),
        };
        change(&mut request);
        world.controller.create_topic(&request)
    };
    let outcome = create(&world, &|_| ());
    assert_eq!(outcome.reply.as_ref().unwrap().partitions, 4);
    use ErrorCode::*;
    let assigned = |replicas: &[&[i32]]| Placement::Assigned(replicas.iter().map(|r| r.to_vec()).collect());
    for (change, code) in [
        (&|r: &mut CreateTopic| r.name = String::from("a/b"), InvalidTopic),
        (&|r| r.placement = assigned(&[]), InvalidReplicaAssignment),
        (&|r| r.placement = assigned(&[&[0, 0]]), InvalidReplicaAssignment),
        (&|r| r.placement = assigned(&[&[0, 9]]), InvalidReplicaAssignment),
        (
            &|r| r.placement = assigned(&[&[0, 1], &[0]]),
            InvalidReplicaAssignment,
        ),
        (
            &|r| r.configs = BTreeMap::from([("x".into(), "1".into())]),
            InvalidConfig,
        ),
        (
            &|r| r.configs = BTreeMap::from([(MIN_INSYNC_REPLICAS.into(), "0".into())]),
            InvalidConfig,
        ),
    ] as [(&dyn Fn(&mut CreateTopic), ErrorCode); 7]
    {
        assert_eq!(create(&world, change).reply.unwrap_err().0, code);
    }
    let automatic = |partitions, replication_factor| Placement::Automatic {
        partitions,
        replication_factor,
        shift: 0,
    };
    assert_eq!(
        create(&world, &|r| r.placement = automatic(0, 1))
            .reply
            .unwrap_err()
            .0,
        InvalidPartitions
    );
    assert_eq!(
        create(&world, &|r| r.placement = automatic(1, 4))
            .reply
            .unwrap_err()
            .0,
        InvalidReplicationFactor
    );
    world.append(outcome.records);
    assert_eq!(create(&world, &|_| ()).reply.unwrap_err().0, TopicAlreadyExists);
    world.fence(0);
    let fenced = create(&world, &|r| {
        (r.name, r.placement) = ("u".into(), assigned(&[&[0]]))
    });
    assert_eq!(fenced.reply.unwrap_err().0, InvalidReplicaAssignment);
}

/// xorshift: the tests' own randomness.
struct Random(u64);
impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

#[test]
fn random_runs_hold_the_invariants_and_replay() {
    for seed in 1..=300u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = World::new((seed % 2) as i16, 4);
        let replicas = [[0, 1, 2, 3], [3, 1, 0, 2]][random.below(2)];
        let factor = 1 + random.below(4);
        world.topic(&replicas[..factor], 1 + random.below(3) as i32);
        let mut epochs = (0, 0);
        for _ in 0..120 {
            let id = random.below(4) as i32;
            match random.below(6) {
                0 if !world.controller.image().brokers()[&id].fenced => world.fence(id),
                1 | 2 => drop(world.beat(id, false)),
                3 => drop(world.beat(id, true)),
                4 => {
                    world.now += TIMEOUT * random.below(2) as u64;
                    let previous = if random.below(2) == 0 { world.epoch(id) } else { -1 };
                    let _ = world.register(id, previous);
                }
                _ if world.partition().leader >= 0 => {
                    let leader = world.partition().leader;
                    let mut isr = vec![leader];
                    isr.extend(
                        replicas[..factor]
                            .iter()
                            .filter(|r| **r != leader && random.below(2) == 0),
                    );
                    let _ = world.alter(&isr);
                }
                _ => {}
            }
            let now = (world.partition().leader_epoch, world.partition().partition_epoch);
            assert!(now.0 >= epochs.0 && now.1 >= epochs.1, "seed {seed}");
            epochs = now;
        }
        world.replays();
    }
}
