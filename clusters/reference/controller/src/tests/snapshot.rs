//! The image as records: written and taken in again it is the same, and what follows in the log fits it.

use super::random::{BROKERS, Random, create_topics, step};
use super::*;

const SEEDS: u64 = 60;
const STEPS: usize = 60;

/// The image, from its own records.
fn rewritten(image: &Image, last: i64) -> Image {
    let mut again = Image::default();
    for record in image.records() {
        let record = Record::decode(&record.encode()).unwrap();
        again.replay(last, last, &record).unwrap();
    }
    again
}

/// The image, with the offsets that no record tells moved up to `last`.
fn with_offsets_from(image: &Image, last: i64) -> Image {
    let mut image = image.clone();
    for broker in image.brokers.values_mut() {
        broker.registered_at = broker.registered_at.max(last);
        broker.controlled_shutdown_at = broker.controlled_shutdown_at.map(|at| at.max(last));
    }
    image
}

/// What no request leads to here, but a log may hold.
fn rare_records() -> Vec<Record> {
    let feature = |name: &str, level| {
        Record::FeatureLevel(records::FeatureLevel {
            name: name.into(),
            level,
        })
    };
    let end_point = records::EndPoint {
        name: "CONTROLLER".into(),
        host: "h".into(),
        port: 9093,
        security_protocol: 0,
    };
    let controller = records::RegisterController {
        controller_id: 100,
        incarnation_id: Uuid::from_u128(5),
        zk_migration_ready: false,
        end_points: vec![end_point],
        features: vec![records::Feature {
            name: "metadata.version".into(),
            min: 1,
            max: 9,
        }],
    };
    let producer_ids = records::ProducerIds {
        broker_id: 1,
        broker_epoch: 2,
        next_producer_id: 3000,
    };
    let config = |resource_type, resource_name: &str, value: Option<&str>| {
        Record::Config(records::Config {
            resource_type,
            resource_name: resource_name.into(),
            name: "k".into(),
            value: value.map(String::from),
        })
    };
    let reassigned = records::PartitionChange {
        topic_id: TOPIC,
        adding_replicas: Some(vec![8]),
        removing_replicas: Some(vec![9]),
        directories: Some(vec![Uuid::from_u128(6)]),
        ..Default::default()
    };
    vec![
        feature("a.version", 0),
        feature("metadata.version", 26),
        Record::RegisterController(controller),
        Record::ProducerIds(producer_ids),
        config(4, "", Some("v")),
        config(4, "1", Some("w")),
        config(2, "t", Some("gone")),
        config(2, "t", None),
        Record::PartitionChange(reassigned),
        Record::NoOp,
    ]
}

#[test]
fn a_snapshot_is_the_image_and_the_rest_of_the_log_follows_it() {
    // How often a snapshot held a fenced broker, one in shutdown, an ELR, a leader that recovers.
    let mut met = [0; 4];
    for seed in 1..=SEEDS {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = World::new((seed % 3).min(1) as i16, BROKERS as i32);
        create_topics(&mut world, &mut random);
        for record in rare_records() {
            let at = world.log.len() as i64;
            world.controller.replay(at, at, &record).unwrap();
            world.log.push((at, record));
        }
        for _ in 0..STEPS {
            step(&mut world, &mut random);
        }
        let mut whole = Image::default();
        let mut boundary = random.below(world.log.len());
        while boundary > 0 && world.log[boundary].0 != boundary as i64 {
            boundary -= 1;
        }
        let mut short: Option<Image> = None;
        for (offset, (batch, record)) in (0..).zip(&world.log) {
            if offset == boundary as i64 {
                let snapshot = rewritten(&whole, offset - 1);
                assert_eq!(snapshot, with_offsets_from(&whole, offset - 1), "seed {seed}");
                assert_eq!(rewritten(&snapshot, offset - 1), snapshot);
                let brokers = || snapshot.brokers().values();
                let partitions = || {
                    snapshot
                        .topics()
                        .values()
                        .flat_map(|topic| topic.partitions.values())
                };
                met[0] += i32::from(brokers().any(|broker| broker.fenced));
                met[1] += i32::from(brokers().any(|broker| broker.controlled_shutdown_at.is_some()));
                met[2] += i32::from(partitions().any(|partition| !partition.elr.is_empty()));
                met[3] += i32::from(partitions().any(|partition| partition.recovering));
                short = Some(snapshot);
            }
            whole.replay(offset, *batch, record).unwrap();
            if let Some(short) = &mut short {
                short.replay(offset, *batch, record).unwrap();
            }
        }
        let last = boundary as i64 - 1;
        assert_eq!(short.unwrap(), with_offsets_from(&whole, last), "seed {seed}");
        let all = rewritten(&whole, 9_999);
        assert_eq!(all, with_offsets_from(&whole, 9_999), "seed {seed}");
        assert_eq!(all.next_producer_id(), Some(3000));
    }
    assert!(met.iter().all(|times| *times > 0), "{met:?}");
}

#[test]
fn the_version_of_records_comes_first() {
    let mut image = Image::default();
    for (offset, record) in (0..).zip(
        rare_records()
            .into_iter()
            .filter(|record| !matches!(record, Record::PartitionChange(_))),
    ) {
        image.replay(offset, offset, &record).unwrap();
    }
    let first = image.records().next();
    assert!(matches!(first, Some(Record::FeatureLevel(level)) if level.name == "metadata.version"));
    // A configuration that was set and removed is no more.
    assert_eq!(
        image
            .records()
            .filter(|record| matches!(record, Record::Config(_)))
            .count(),
        2
    );
    assert_eq!(Image::default().records().count(), 0);
}
