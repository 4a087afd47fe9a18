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
            id: 15,
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
fn golden_bytes() {
    // frame 1, id 2, version 0; "abc" as length 4 and three bytes; the id; no tagged fields
    let topic = Record::Topic(Topic {
        name: "abc".into(),
        topic_id: Uuid::from_bytes([9; 16]),
    });
    let mut bytes = vec![1, 2, 0, 4, b'a', b'b', b'c'];
    bytes.extend([9; 16]);
    bytes.push(0);
    assert_eq!(topic.encode(), bytes);

    // frame 1, id 5, version 2; partition 0; the id; three tagged fields: 0 (ISR, 1 byte: empty array),
    // 1 (leader, 4 bytes: -1), 6 (ELR, 5 bytes: array of one, 2)
    let change = Record::PartitionChange(PartitionChange {
        topic_id: Uuid::from_bytes([9; 16]),
        isr: Some(vec![]),
        leader: Some(-1),
        eligible_leader_replicas: Some(vec![2]),
        ..Default::default()
    });
    let mut bytes = vec![1, 5, 2, 0, 0, 0, 0];
    bytes.extend([9; 16]);
    bytes.extend([3, 0, 1, 1, 1, 4, 255, 255, 255, 255, 6, 5, 2, 0, 0, 0, 2]);
    assert_eq!(change.encode(), bytes);

    // frame 1, id 17, version 0; broker 1; epoch 5; tag 0, one byte, 1: fenced
    let fence = Record::BrokerRegistrationChange(BrokerRegistrationChange {
        broker_id: 1,
        broker_epoch: 5,
        fenced: 1,
        ..Default::default()
    });
    assert_eq!(
        fence.encode(),
        [1, 17, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 1, 0, 1, 1]
    );
}

#[test]
fn unknown_tagged_fields_are_skipped() {
    let bytes = [1, 20, 0, 1, 99, 2, 7, 7];
    assert_eq!(Record::decode(&bytes), Ok(Record::NoOp));
}
