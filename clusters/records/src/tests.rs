//! Round trips, and bytes that are no record.

mod golden;

use super::*;

fn examples() -> Vec<Record> {
    let id = Uuid::from_bytes([7; 16]);
    let end_points = vec![EndPoint {
        name: "PLAINTEXT".into(),
        host: "10.9.0.4".into(),
        port: 9092,
        security_protocol: 0,
    }];
    let features = vec![Feature {
        name: "metadata.version".into(),
        min: 7,
        max: 26,
    }];
    let broker = RegisterBroker {
        broker_id: 1,
        is_migrating_zk_broker: false,
        incarnation_id: id,
        broker_epoch: 5,
        end_points: end_points.clone(),
        features: features.clone(),
        rack: None,
        fenced: true,
        in_controlled_shutdown: false,
        log_dirs: vec![id],
    };
    let partition = Partition {
        partition_id: 2,
        topic_id: id,
        replicas: vec![2, 0, 1],
        isr: vec![2],
        leader: 2,
        leader_epoch: 3,
        partition_epoch: 4,
        ..Partition::default()
    };
    let change = PartitionChange {
        partition_id: 2,
        topic_id: id,
        ..PartitionChange::default()
    };
    vec![
        Record::RegisterBroker(broker.clone()),
        Record::RegisterBroker(RegisterBroker {
            log_dirs: vec![],
            rack: Some("r".into()),
            ..broker
        }),
        Record::UnregisterBroker(UnregisterBroker {
            broker_id: 1,
            broker_epoch: 5,
        }),
        Record::Topic(Topic {
            name: "night".into(),
            topic_id: id,
        }),
        Record::Partition(partition.clone()),
        Record::Partition(Partition {
            directories: vec![id; 3],
            ..partition.clone()
        }),
        Record::Partition(Partition {
            eligible_leader_replicas: vec![0],
            last_known_elr: vec![1],
            leader_recovery_state: 1,
            ..partition
        }),
        Record::Config(Config {
            resource_type: 2,
            resource_name: "night".into(),
            name: "min.insync.replicas".into(),
            value: Some("2".into()),
        }),
        Record::PartitionChange(PartitionChange {
            isr: Some(vec![]),
            leader: Some(-1),
            ..change.clone()
        }),
        Record::PartitionChange(PartitionChange {
            eligible_leader_replicas: Some(vec![1, 2]),
            last_known_elr: Some(vec![]),
            leader_recovery_state: Some(0),
            replicas: Some(vec![1]),
            removing_replicas: Some(vec![]),
            adding_replicas: Some(vec![3]),
            directories: Some(vec![id]),
            ..change.clone()
        }),
        Record::PartitionChange(change),
        Record::RemoveTopic(id),
        Record::FeatureLevel(FeatureLevel {
            name: "eligible.leader.replicas.version".into(),
            level: 1,
        }),
        Record::ProducerIds(ProducerIds {
            broker_id: 1,
            broker_epoch: 5,
            next_producer_id: 1000,
        }),
        Record::BrokerRegistrationChange(BrokerRegistrationChange {
            broker_id: 1,
            broker_epoch: 5,
            fenced: -1,
            ..Default::default()
        }),
        Record::BrokerRegistrationChange(BrokerRegistrationChange {
            broker_id: 1,
            broker_epoch: 5,
            in_controlled_shutdown: 1,
            log_dirs: vec![id],
            ..Default::default()
        }),
        Record::FenceBroker {
            broker_id: 1,
            broker_epoch: 5,
        },
        Record::UnfenceBroker {
            broker_id: 1,
            broker_epoch: 5,
        },
        Record::BeginTransaction {
            name: Some("n".into()),
        },
        Record::BeginTransaction { name: None },
        Record::EndTransaction,
        Record::AbortTransaction {
            reason: Some("r".into()),
        },
        Record::NoOp,
        Record::RegisterController(RegisterController {
            controller_id: 100,
            incarnation_id: id,
            zk_migration_ready: false,
            end_points,
            features,
        }),
        Record::ClearElr(String::new()),
        Record::Unknown {
            id: 99,
            version: 0,
            body: vec![1, 2, 3],
        },
    ]
}

#[test]
fn every_record_survives_its_bytes_and_no_shorter_ones_are_taken_for_it() {
    for record in examples() {
        let bytes = record.encode();
        assert_eq!(Record::decode(&bytes).as_ref(), Ok(&record));
        if matches!(record, Record::Unknown { .. }) {
            continue;
        }
        for end in 0..bytes.len() {
            assert!(Record::decode(&bytes[..end]).is_err(), "{record:?} cut at {end}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(Record::decode(&longer).is_err(), "{record:?}");
    }
}

#[test]
fn no_byte_makes_the_reader_panic() {
    for record in examples() {
        let bytes = record.encode();
        for at in 0..bytes.len() {
            for byte in 0..=255 {
                let mut hurt = bytes.clone();
                hurt[at] = byte;
                let _ = Record::decode(&hurt);
            }
        }
    }
}

#[test]
fn unknown_tagged_fields_are_skipped() {
    let bytes = [1, 20, 0, 1, 99, 2, 7, 7];
    assert_eq!(Record::decode(&bytes), Ok(Record::NoOp));
}

#[test]
fn a_version_above_those_known_is_kept_and_written_as_it_was() {
    for id in [0, 3, 5, 17, 20] {
        let bytes = [1, id, 9, 1, 2, 3];
        let record = Record::decode(&bytes).unwrap();
        let kept = Record::Unknown {
            id: id.into(),
            version: 9,
            body: vec![1, 2, 3],
        };
        assert_eq!(record, kept);
        assert_eq!(record.encode(), bytes);
    }
}

#[test]
fn another_frame_no_bytes_and_endless_varints_are_refused() {
    let refused = |bytes: &[u8]| Record::decode(bytes).unwrap_err().to_string();
    assert!(refused(&[]).contains("1 bytes are wanted, 0 are left"));
    assert!(refused(&[2, 20, 0, 0]).contains("frame version 2"));
    assert!(refused(&[1, 255, 255, 255, 255, 255, 0]).contains("more than 5 bytes"));
    assert!(refused(&[1, 255, 255, 255, 255, 127, 0]).contains("above 2^32"));
    // A topic whose name is said to be as long as a varint can say: nothing is reserved for it.
    assert!(refused(&[1, 2, 0, 255, 255, 255, 255, 15]).contains("bytes are wanted"));
}

#[test]
fn a_null_list_means_unchanged_and_the_fields_say_no_change_by_their_numbers() {
    let mut bytes = vec![1, 5, 2, 0, 0, 0, 0];
    bytes.extend([9; 16]);
    // ISR null, leader -2, recovery state -1, ELR null
    bytes.extend([4, 0, 1, 0, 1, 4, 255, 255, 255, 254, 5, 1, 255, 6, 1, 0]);
    let Ok(Record::PartitionChange(change)) = Record::decode(&bytes) else {
        panic!("no change of a partition");
    };
    assert!(change.is_no_op());
    let moved = PartitionChange {
        leader: Some(-1),
        ..change
    };
    assert!(!moved.is_no_op());
}
