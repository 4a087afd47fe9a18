//! Files in Kafka's formats: the metadata log of a cluster that lost leaders, and every record that can be written.

use records::{
    BrokerRegistrationChange, Config, EndPoint, Feature, FeatureLevel, Partition, PartitionChange,
    ProducerIds, Record, RegisterBroker, RegisterController, Topic, UnregisterBroker,
};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use storage::{BatchBuilder, Log, LogConfig, SnapshotHeader, SnapshotId, SnapshotWriter};
use uuid::Uuid;

use crate::dump::{assert_same, count, theirs};
use crate::jvm::kafka;
use crate::reference::{CLUSTER_ID, Reference};
use crate::support::ackall;

#[test]
fn kafka_reads_the_metadata_log_of_a_cluster_that_lost_leaders() {
    let Some(kafka) = kafka("log") else { return };
    let mut cluster = Reference::start(kafka.folder(), 3, 2);
    cluster.create_topic(0, "night", &[&[0, 1], &[1, 0]], &[("min.insync.replicas", "1")]);
    cluster.until_isr(0, "night", &[0, 1]);
    cluster.kill(1);
    cluster.until_isr(0, "night", &[0]);
    let before = cluster.quorum();
    cluster.kill(before.leader);
    let after = cluster.quorum();
    assert!(after.epoch > before.epoch);
    cluster.create_topic(0, "day", &[&[0]], &[]);
    cluster.start_node(before.leader);
    cluster.start_node(1);
    cluster.until_isr(0, "night", &[0, 1]);
    let end = cluster.until_caught_up();
    let controllers = cluster.controllers();
    cluster.stop();
    for id in controllers {
        let files = cluster.metadata_files(id, "log");
        let files: Vec<&Path> = files.iter().map(AsRef::as_ref).collect();
        let records = assert_same(&kafka, &files);
        assert!(
            records.len() as i64 >= end,
            "{} records below {end}",
            records.len()
        );
        for (kind, least) in [
            ("LeaderChange", 2),
            ("FEATURE_LEVEL_RECORD", 2),
            ("REGISTER_BROKER_RECORD", 3),
            ("BROKER_REGISTRATION_CHANGE_RECORD", 4),
            ("TOPIC_RECORD", 2),
            ("CONFIG_RECORD", 1),
            ("PARTITION_RECORD", 3),
            ("PARTITION_CHANGE_RECORD", 4),
        ] {
            let found = count(&records, kind);
            assert!(found >= least, "{found} of {kind} in {records:#?}");
        }
    }
}

#[test]
fn kafka_reads_every_record_in_every_version_that_is_written() {
    let Some(kafka) = kafka("records") else { return };
    let folder = kafka.folder().join("__cluster_metadata-0");
    let config = LogConfig {
        segment_bytes: 1 << 30,
    };
    let (mut log, _) = Log::open(&folder, config, 0).unwrap();
    let records = every_record();
    // Batches of one and of many.
    for (epoch, chunk) in (1..).zip(records.chunks(7)) {
        let mut batch = BatchBuilder::new(1_700_000_000_000);
        for record in chunk {
            batch.push(None, Some(&record.encode()), &[]).unwrap();
        }
        log.append_as_leader(&mut batch.build(0, 0).unwrap().to_vec(), epoch)
            .unwrap();
    }
    log.sync().unwrap();
    let file = folder.join("00000000000000000000.log");
    let read = assert_same(&kafka, &[&file]);
    assert_eq!(read.len(), records.len());
    let versions: BTreeSet<_> = read
        .iter()
        .map(|(_, value)| {
            (
                value["type"].as_str().unwrap(),
                value["version"].as_i64().unwrap(),
            )
        })
        .collect();
    // 13 types of one version, three of each of three versions, and three of a registration.
    assert_eq!(versions.len(), 14 + 4 * 3, "{versions:#?}");

    // One byte of a record changed, and Kafka has something to say.
    let mut hurt = fs::read(&file).unwrap();
    let host = hurt.windows(8).position(|bytes| bytes == b"10.0.0.1").unwrap();
    hurt[host] = b'2';
    fs::write(&file, hurt).unwrap();
    let why = theirs(&kafka, &[&file]).unwrap_err();
    assert!(why.contains("not valid"), "{why}");
}

#[test]
fn kafka_reads_a_folder_that_was_formatted_for_voters_that_may_change() {
    let Some(kafka) = kafka("format") else { return };
    let config = kafka.folder().join("server.properties");
    let disk = kafka.folder().join("disk");
    let text = format!(
        "process.roles=controller\nnode.id=100\ncontroller.quorum.bootstrap.servers=127.0.0.1:9093\n\
         listeners=CONTROLLER://127.0.0.1:9093\ncontroller.listener.names=CONTROLLER\nlog.dirs={}\n",
        disk.display()
    );
    fs::write(&config, text).unwrap();
    let formatted = ackall()
        .args([
            "node",
            "format",
            "--standalone",
            "--cluster-id",
            CLUSTER_ID,
            "--config",
        ])
        .arg(&config)
        .output()
        .unwrap();
    assert!(formatted.status.success(), "{formatted:?}");
    let snapshot = SnapshotId::BOOTSTRAP.path(&disk.join("__cluster_metadata-0"));
    let records = assert_same(&kafka, &[&disk.join("bootstrap.checkpoint"), &snapshot]);
    for (kind, times) in [
        ("SnapshotHeader", 2),
        ("FEATURE_LEVEL_RECORD", 2),
        ("KRaftVersion", 1),
        ("KRaftVoters", 1),
        ("SnapshotFooter", 2),
    ] {
        assert_eq!(count(&records, kind), times, "{kind} in {records:#?}");
    }
    let info = ["info", "-c", config.to_str().unwrap()];
    let said = kafka.tool("kafka.tools.StorageTool", &info).unwrap();
    assert!(
        said.contains(CLUSTER_ID) && said.contains("node.id=100"),
        "{said}"
    );
}

#[test]
fn kafka_reads_snapshots() {
    let Some(kafka) = kafka("snapshot") else { return };
    let records = every_record();
    let header = SnapshotHeader {
        last_contained_log_timestamp: 1_700_000_000_000,
        quorum: Vec::new(),
    };
    let id = SnapshotId {
        end_offset: 1_000_000,
        epoch: 7,
    };
    let mut snapshot = SnapshotWriter::create(kafka.folder(), id, &header, 1_700_000_000_001).unwrap();
    // Enough for more than one batch.
    let rounds = 400;
    for _ in 0..rounds {
        for record in &records {
            snapshot.append(&record.encode()).unwrap();
        }
    }
    snapshot.finish().unwrap();
    let read = assert_same(&kafka, &[&id.path(kafka.folder())]);
    assert_eq!(count(&read, "SnapshotHeader"), 1);
    assert_eq!(count(&read, "SnapshotFooter"), 1);
    assert_eq!(read.len(), rounds * records.len() + 2);
}

/// One of each type, version and field.
pub fn every_record() -> Vec<Record> {
    let id = |byte| Uuid::from_bytes([byte; 16]);
    let end_points = vec![
        EndPoint {
            name: "PLAINTEXT".into(),
            host: "10.0.0.1".into(),
            port: 40_000,
            security_protocol: 0,
        },
        EndPoint {
            name: "INSIDE".into(),
            host: "h".into(),
            port: 9092,
            security_protocol: 2,
        },
    ];
    let features = vec![Feature {
        name: "metadata.version".into(),
        min: 7,
        max: 300,
    }];
    let broker = RegisterBroker {
        broker_id: 1,
        is_migrating_zk_broker: false,
        incarnation_id: id(7),
        broker_epoch: 1 << 40,
        end_points: end_points.clone(),
        features: features.clone(),
        rack: None,
        fenced: true,
        in_controlled_shutdown: true,
        log_dirs: vec![],
    };
    let registration = BrokerRegistrationChange {
        broker_id: 1,
        broker_epoch: 5,
        ..Default::default()
    };
    let partition = Partition {
        partition_id: 2,
        topic_id: id(9),
        replicas: vec![2, 0, 1],
        isr: vec![2],
        removing_replicas: vec![0],
        adding_replicas: vec![1],
        leader: -1,
        leader_recovery_state: 1,
        leader_epoch: 3,
        partition_epoch: 4,
        ..Partition::default()
    };
    let change = PartitionChange {
        partition_id: 2,
        topic_id: id(9),
        ..PartitionChange::default()
    };
    let (broker_id, broker_epoch) = (1, 5);
    vec![
        Record::RegisterBroker(broker.clone()),
        Record::RegisterBroker(RegisterBroker {
            is_migrating_zk_broker: true,
            ..broker.clone()
        }),
        Record::RegisterBroker(RegisterBroker {
            log_dirs: vec![id(8), id(9)],
            rack: Some("r\u{e4}ck".into()),
            fenced: false,
            ..broker
        }),
        Record::UnregisterBroker(UnregisterBroker {
            broker_id,
            broker_epoch,
        }),
        Record::Topic(Topic {
            name: "night".into(),
            topic_id: id(9),
        }),
        Record::Partition(partition.clone()),
        Record::Partition(Partition {
            directories: vec![id(7); 3],
            ..partition.clone()
        }),
        Record::Partition(Partition {
            directories: vec![id(7); 3],
            eligible_leader_replicas: vec![0],
            last_known_elr: vec![1],
            ..partition
        }),
        Record::Config(Config {
            resource_type: 2,
            resource_name: "night".into(),
            name: "min.insync.replicas".into(),
            value: Some("2".into()),
        }),
        Record::Config(Config {
            resource_type: 4,
            resource_name: String::new(),
            name: "min.insync.replicas".into(),
            value: None,
        }),
        Record::PartitionChange(PartitionChange {
            isr: Some(vec![]),
            leader: Some(-1),
            replicas: Some(vec![1]),
            removing_replicas: Some(vec![]),
            adding_replicas: Some(vec![3]),
            leader_recovery_state: Some(0),
            ..change.clone()
        }),
        Record::PartitionChange(PartitionChange {
            directories: Some(vec![id(8)]),
            ..change.clone()
        }),
        Record::PartitionChange(PartitionChange {
            eligible_leader_replicas: Some(vec![1, 2]),
            last_known_elr: Some(vec![]),
            directories: Some(vec![id(8)]),
            ..change.clone()
        }),
        Record::PartitionChange(change),
        Record::FenceBroker {
            broker_id,
            broker_epoch,
        },
        Record::UnfenceBroker {
            broker_id,
            broker_epoch,
        },
        Record::RemoveTopic(id(9)),
        Record::FeatureLevel(FeatureLevel {
            name: "eligible.leader.replicas.version".into(),
            level: 1,
        }),
        Record::ProducerIds(ProducerIds {
            broker_id,
            broker_epoch,
            next_producer_id: 1000,
        }),
        Record::BrokerRegistrationChange(BrokerRegistrationChange {
            fenced: 1,
            ..registration.clone()
        }),
        Record::BrokerRegistrationChange(BrokerRegistrationChange {
            fenced: -1,
            ..registration.clone()
        }),
        Record::BrokerRegistrationChange(BrokerRegistrationChange {
            in_controlled_shutdown: 1,
            ..registration.clone()
        }),
        Record::BrokerRegistrationChange(BrokerRegistrationChange {
            in_controlled_shutdown: 1,
            log_dirs: vec![id(8)],
            ..registration
        }),
        Record::NoOp,
        Record::BeginTransaction {
            name: Some("n".into()),
        },
        Record::BeginTransaction { name: None },
        Record::EndTransaction,
        Record::AbortTransaction {
            reason: Some("r".into()),
        },
        Record::AbortTransaction { reason: None },
        Record::RegisterController(RegisterController {
            controller_id: 100,
            incarnation_id: id(7),
            zk_migration_ready: true,
            end_points,
            features,
        }),
        Record::ClearElr("night".into()),
        Record::ClearElr(String::new()),
    ]
}
