//! Nodes killed, stopped and started at random while records are appended: whatever was acknowledged is there
//! in the end, at its offset.

mod support;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::client::{Client, values};
use support::{Cluster, until};

const TOPIC: &str = "night";
const PROPERTIES: &str = "log.flush.interval.messages=1\nmin.insync.replicas=2\nlog.segment.bytes=4096";

/// A small generator, so that a failure's choices can be had again by its seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// The leader of the partition, as some broker sees it.
fn leader(brokers: &[SocketAddr]) -> Option<Client> {
    let described = brokers
        .iter()
        .find_map(|address| Client::connect(*address)?.describe(TOPIC))?;
    Client::connect(*brokers.get(usize::try_from(described.leader_id.0).ok()?)?)
}

type Acked = Arc<Mutex<BTreeMap<i64, String>>>;

/// Appends one record after the other until told to stop.
fn producer(brokers: Vec<SocketAddr>, prefix: &'static str, acked: Acked, stop: Arc<AtomicBool>) {
    let mut number = 0;
    let mut client = None;
    while !stop.load(Ordering::Relaxed) {
        if client.is_none() {
            client = leader(&brokers);
        }
        let Some(connection) = &mut client else {
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        let value = format!("{prefix}{number}");
        number += 1;
        match connection.produce(TOPIC, -1, &[&value]) {
            Some(answer) if answer.error_code == 0 => {
                let before = acked.lock().unwrap().insert(answer.base_offset, value.clone());
                assert_eq!(
                    before, None,
                    "two records were acknowledged at offset {}",
                    answer.base_offset
                );
            }
            _ => {
                client = None;
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

fn run(seed: u64, rounds: usize) {
    let mut dice = Dice(seed);
    let mut cluster = Cluster::start(3, 3, PROPERTIES, &[]);
    let brokers: Vec<SocketAddr> = (0..3).map(|id| cluster.address(id)).collect();
    until("the topic", || {
        let (error, _) = Client::connect(brokers[0])?.create_topic(TOPIC, &[0, 1, 2], &[])?;
        (error == 0 || error == 36).then_some(())
    });
    let acked = Acked::default();
    let stop = Arc::new(AtomicBool::new(false));
    let producers: Vec<_> = ["a", "b"]
        .into_iter()
        .map(|prefix| {
            let (brokers, acked, stop) = (brokers.clone(), acked.clone(), stop.clone());
            std::thread::spawn(move || producer(brokers, prefix, acked, stop))
        })
        .collect();
    for round in 0..rounds {
        let ids = cluster.ids();
        // One controller or up to three brokers at a time, killed or stopped.
        let victims: Vec<i32> = if dice.below(3) == 0 {
            vec![100 + dice.below(3) as i32]
        } else {
            ids.into_iter()
                .filter(|id| *id < 100 && dice.below(2) == 0)
                .collect()
        };
        let mut log = String::new();
        for id in &victims {
            if dice.below(3) == 0 {
                cluster.stop(*id).unwrap();
                log += &format!(" {id} stopped");
            } else {
                cluster.kill(*id);
                log += &format!(" {id} killed");
            }
        }
        eprintln!("round {round}:{log}");
        std::thread::sleep(Duration::from_millis(100 + dice.below(900)));
        for id in victims {
            cluster.start_node(id);
        }
        std::thread::sleep(Duration::from_millis(dice.below(900)));
    }
    until("a whole ISR", || {
        let described = Client::connect(brokers[0])?.describe(TOPIC)?;
        (described.isr_nodes.len() == 3 && described.leader_id.0 >= 0).then_some(())
    });
    stop.store(true, Ordering::Relaxed);
    for producer in producers {
        producer.join().unwrap();
    }
    check(&brokers, &acked.lock().unwrap(), seed);
}

fn check(brokers: &[SocketAddr], acked: &BTreeMap<i64, String>, seed: u64) {
    // -1: whichever epoch the leader is in.
    let (mut client, end) = until("the end", || {
        let mut client = leader(brokers)?;
        let end = client.latest(TOPIC, -1)?.ok()?;
        Some((client, end))
    });
    let mut log = BTreeMap::new();
    let mut offset = 0;
    while offset < end {
        let data = client.fetch(TOPIC, offset, -1, 500).unwrap();
        assert_eq!(data.error_code, 0);
        for (at, _, value) in values(&data.records.unwrap_or_default()) {
            log.insert(at, value);
        }
        offset = log.last_key_value().map_or(0, |(at, _)| at + 1);
    }
    eprintln!("{} of {end} records were acknowledged", acked.len());
    assert!(acked.len() > 10, "too few to tell");
    for (offset, value) in acked {
        assert_eq!(log.get(offset), Some(value), "offset {offset}, seed {seed}");
    }
}

/// A short night always; `ACKALL_CHAOS_SEEDS=10 cargo test -p reference --test chaos` adds so many long ones, of about
/// 16 s each.
#[test]
fn acknowledged_records_outlive_crashes_and_restarts() {
    run(0x5eed, 5);
    let asked = std::env::var("ACKALL_CHAOS_SEEDS").map_or(0, |seeds| seeds.parse().unwrap());
    for seed in 1..=asked {
        run(seed * 7919, 15);
    }
}
