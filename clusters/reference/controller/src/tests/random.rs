//! Random runs: whatever happens in whatever order, every batch holds the invariants, and the log replays.

use super::*;

const SEEDS: u64 = 400;
const STEPS: usize = 150;
pub(super) const BROKERS: usize = 4;
const TOPICS: [(&str, Uuid); 3] = [
    ("t", TOPIC),
    ("u", Uuid::from_u128(78)),
    ("v", Uuid::from_u128(79)),
];

/// xorshift: the tests' own randomness.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }
}

pub(super) fn create_topics(world: &mut World, random: &mut Random) {
    let orders = [[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]];
    for (name, id) in TOPICS {
        let replicas = &orders[random.below(3)][..1 + random.below(BROKERS)];
        let min_isr = (1 + random.below(4)).to_string();
        let unclean = if random.below(3) == 0 { "true" } else { "false" };
        let configs = [
            (MIN_INSYNC_REPLICAS, min_isr.as_str()),
            (UNCLEAN_LEADER_ELECTION, unclean),
        ];
        world.topic_with(name, id, replicas, &configs);
    }
}

fn propose(world: &mut World, random: &mut Random, topic: Uuid) {
    let partition = world.partition_of(topic).clone();
    if partition.leader < 0 {
        return;
    }
    let mut isr = vec![partition.leader];
    let others = partition.replicas.iter().filter(|id| **id != partition.leader);
    isr.extend(others.filter(|_| random.coin()));
    // An ISR with a fenced member is refused: that is a case too.
    let _ = world.alter_of(topic, &isr);
}

pub(super) fn step(world: &mut World, random: &mut Random) {
    let id = random.below(BROKERS) as i32;
    let (name, topic) = TOPICS[random.below(TOPICS.len())];
    match random.below(20) {
        0 | 1 if !world.broker(id).fenced => world.fence(id),
        0..=4 => drop(world.beat(id, false)),
        5 => drop(world.beat(id, true)),
        6 | 7 => {
            world.now += TIMEOUT * random.below(2) as u64;
            let previous = if random.coin() { world.epoch(id) } else { -1 };
            let _ = world.register(id, previous);
        }
        8 if random.below(4) == 0 => world.fail_over(),
        9 if random.below(4) == 0 => {
            let min_isr = (1 + random.below(4)).to_string();
            world.configure(name, MIN_INSYNC_REPLICAS, &min_isr);
        }
        10 => drop(world.elect(Election::Preferred, name)),
        11 if random.below(8) == 0 => drop(world.elect(Election::Unclean, name)),
        12 => {
            let mut target: Vec<i32> = (0..BROKERS as i32).filter(|_| random.coin()).collect();
            let first = random.below(target.len().max(1));
            target.rotate_left(first);
            let _ = world.reassign(name, (random.below(4) > 0).then_some(&target));
        }
        13 if random.below(8) == 0 => drop(world.set_elr(random.below(2) as i16)),
        14 if random.below(8) == 0 => {
            world.unregister(id).unwrap();
            world.register(id, -1).unwrap();
        }
        _ => propose(world, random, topic),
    }
}

#[test]
fn random_runs_hold_the_invariants_and_replay() {
    // What must have been met for the runs to mean something: leaderless with an ELR, elected from it, unclean, and
    // a reassignment begun and ended.
    let mut met = [0; 5];
    for seed in 1..=SEEDS {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = World::new((seed % 3).min(1) as i16, BROKERS as i32);
        create_topics(&mut world, &mut random);
        for _ in 0..STEPS {
            let before: Vec<Partition> = TOPICS
                .iter()
                .map(|(_, id)| world.partition_of(*id).clone())
                .collect();
            step(&mut world, &mut random);
            for (was, (_, id)) in before.iter().zip(TOPICS) {
                let is = world.partition_of(id);
                assert!(is.leader_epoch >= was.leader_epoch, "seed {seed}");
                assert!(is.partition_epoch >= was.partition_epoch, "seed {seed}");
                met[0] += i32::from(is.leader < 0 && !is.elr.is_empty());
                met[1] += i32::from(is.leader >= 0 && was.elr.contains(&is.leader));
                let coming = |of: &Partition| !of.adding_replicas.is_empty();
                met[3] += i32::from(coming(is) && !coming(was));
                met[4] += i32::from(coming(was) && !coming(is) && is.isr.contains(&was.adding_replicas[0]));
                met[2] += i32::from(is.recovering && !was.recovering);
            }
        }
        world.replays();
    }
    assert!(met.iter().all(|times| *times > 100), "{met:?}");
}
