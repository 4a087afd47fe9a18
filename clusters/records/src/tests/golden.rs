//! Bytes of Kafka's own codec (4.3.1), a row a record: what it wrote is read here as the same record, and, where the
//! version is the one that is written here, written here as the same bytes. In words, the row of a topic: frame 1,
//! id 2, version 0; "abc" as its length plus one and three bytes; sixteen bytes of id; no tagged fields.

use super::*;

fn id(byte: u8) -> Uuid {
    Uuid::from_bytes([byte; 16])
}

fn bytes(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2));
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// Kafka wrote these bytes, and so does this codec.
fn same(record: Record, hex: &str) {
    read(record.clone(), hex);
    assert_eq!(record.encode(), bytes(hex), "{record:?}");
}

/// Kafka wrote these bytes in a version that this codec only reads.
fn read(record: Record, hex: &str) {
    assert_eq!(Record::decode(&bytes(hex)).as_ref(), Ok(&record));
}

fn end_points() -> Vec<EndPoint> {
    vec![EndPoint {
        name: "A".into(),
        host: "h".into(),
        // Above 2^15: the port is unsigned.
        port: 40000,
        security_protocol: 2,
    }]
}

fn features() -> Vec<Feature> {
    vec![Feature {
        name: "f".into(),
        min: 1,
        max: 300,
    }]
}

#[test]
fn registrations_of_brokers() {
    let broker = RegisterBroker {
        broker_id: 1,
        is_migrating_zk_broker: false,
        incarnation_id: id(7),
        broker_epoch: 5,
        end_points: end_points(),
        features: features(),
        rack: Some("r".into()),
        fenced: true,
        in_controlled_shutdown: false,
        log_dirs: vec![],
    };
    read(
        Record::RegisterBroker(broker.clone()),
        "0100000000000107070707070707070707070707070707000000000000000502024102689c400002000202660001012c0002720100",
    );
    same(
        Record::RegisterBroker(broker.clone()),
        "0100010000000107070707070707070707070707070707000000000000000502024102689c400002000202660001012c000272010000",
    );
    let leaving = RegisterBroker {
        rack: None,
        in_controlled_shutdown: true,
        ..broker
    };
    same(
        Record::RegisterBroker(leaving.clone()),
        "0100010000000107070707070707070707070707070707000000000000000502024102689c400002000202660001012c0000010100",
    );
    let migrating = RegisterBroker {
        is_migrating_zk_broker: true,
        ..leaving.clone()
    };
    same(
        Record::RegisterBroker(migrating),
        "010002000000010107070707070707070707070707070707000000000000000502024102689c400002000202660001012c0000010100",
    );
    let with_folders = RegisterBroker {
        log_dirs: vec![id(8), id(9)],
        ..leaving
    };
    same(
        Record::RegisterBroker(with_folders.clone()),
        "010003000000010007070707070707070707070707070707000000000000000502024102689c400002000202660001012c00000101010021030808080808080808080808080808080809090909090909090909090909090909",
    );
    // Version 4 has a cordoned folder besides, in tag 1.
    read(
        Record::RegisterBroker(with_folders),
        "010004000000010007070707070707070707070707070707000000000000000502024102689c400002000202660001012c0000010102002103080808080808080808080808080808080909090909090909090909090909090901110209090909090909090909090909090909",
    );
}

#[test]
fn changes_of_registrations() {
    let change = BrokerRegistrationChange {
        broker_id: 1,
        broker_epoch: 5,
        ..Default::default()
    };
    let fenced = BrokerRegistrationChange {
        fenced: 1,
        ..change.clone()
    };
    let unfenced = BrokerRegistrationChange {
        fenced: -1,
        ..change.clone()
    };
    let leaving = BrokerRegistrationChange {
        in_controlled_shutdown: 1,
        ..change
    };
    let with_folder = BrokerRegistrationChange {
        log_dirs: vec![id(8)],
        ..leaving.clone()
    };
    same(
        Record::BrokerRegistrationChange(fenced),
        "01110000000001000000000000000501000101",
    );
    same(
        Record::BrokerRegistrationChange(unfenced),
        "011100000000010000000000000005010001ff",
    );
    same(
        Record::BrokerRegistrationChange(leaving),
        "01110100000001000000000000000501010101",
    );
    same(
        Record::BrokerRegistrationChange(with_folder.clone()),
        "0111020000000100000000000000050201010102110208080808080808080808080808080808",
    );
    // Version 3 has a cordoned folder besides, in tag 3.
    read(
        Record::BrokerRegistrationChange(with_folder),
        "011103000000010000000000000005030101010211020808080808080808080808080808080803110208080808080808080808080808080808",
    );
}

#[test]
fn partitions() {
    let partition = Partition {
        partition_id: 2,
        topic_id: id(9),
        replicas: vec![2, 0, 1],
        isr: vec![2],
        removing_replicas: vec![0],
        leader: 2,
        leader_epoch: 3,
        partition_epoch: 4,
        ..Partition::default()
    };
    same(
        Record::Partition(partition.clone()),
        "010300000000020909090909090909090909090909090904000000020000000000000001020000000202000000000100000002000000030000000400",
    );
    let recovering = Partition {
        leader: -1,
        leader_recovery_state: 1,
        ..partition
    };
    same(
        Record::Partition(recovering.clone()),
        "0103000000000209090909090909090909090909090909040000000200000000000000010200000002020000000001ffffffff000000030000000401000101",
    );
    let with_folders = Partition {
        directories: vec![id(7), id(7), id(8)],
        ..recovering
    };
    same(
        Record::Partition(with_folders.clone()),
        "0103010000000209090909090909090909090909090909040000000200000000000000010200000002020000000001ffffffff00000003000000040407070707070707070707070707070707070707070707070707070707070707070808080808080808080808080808080801000101",
    );
    // Kafka's metadata.version asks for version 2 though there is no ELR.
    read(
        Record::Partition(with_folders.clone()),
        "0103020000000209090909090909090909090909090909040000000200000000000000010200000002020000000001ffffffff00000003000000040407070707070707070707070707070707070707070707070707070707070707070808080808080808080808080808080801000101",
    );
    let with_elr = Partition {
        eligible_leader_replicas: vec![0],
        last_known_elr: vec![1],
        ..with_folders
    };
    same(
        Record::Partition(with_elr),
        "0103020000000209090909090909090909090909090909040000000200000000000000010200000002020000000001ffffffff000000030000000404070707070707070707070707070707070707070707070707070707070707070708080808080808080808080808080808030001010105020000000002050200000001",
    );
}

#[test]
fn changes_of_partitions() {
    let change = PartitionChange {
        partition_id: 2,
        topic_id: id(9),
        ..PartitionChange::default()
    };
    same(
        Record::PartitionChange(change.clone()),
        "010500000000020909090909090909090909090909090900",
    );
    let leaderless = PartitionChange {
        isr: Some(vec![]),
        leader: Some(-1),
        ..change
    };
    same(
        Record::PartitionChange(leaderless.clone()),
        "0105000000000209090909090909090909090909090909020001010104ffffffff",
    );
    let reassigned = PartitionChange {
        replicas: Some(vec![1]),
        removing_replicas: Some(vec![]),
        adding_replicas: Some(vec![3]),
        leader_recovery_state: Some(0),
        ..leaderless
    };
    same(
        Record::PartitionChange(reassigned.clone()),
        "0105000000000209090909090909090909090909090909060001010104ffffffff0205020000000103010104050200000003050100",
    );
    let moved = PartitionChange {
        directories: Some(vec![id(8)]),
        ..reassigned
    };
    same(
        Record::PartitionChange(moved.clone()),
        "0105010000000209090909090909090909090909090909070001010104ffffffff020502000000010301010405020000000305010008110208080808080808080808080808080808",
    );
    let with_elr = PartitionChange {
        eligible_leader_replicas: Some(vec![1, 2]),
        last_known_elr: Some(vec![]),
        ..moved
    };
    same(
        Record::PartitionChange(with_elr),
        "0105020000000209090909090909090909090909090909090001010104ffffffff0205020000000103010104050200000003050100060903000000010000000207010108110208080808080808080808080808080808",
    );
}

#[test]
fn records_of_one_version() {
    let (broker_id, broker_epoch) = (1, 5);
    same(
        Record::UnregisterBroker(UnregisterBroker {
            broker_id,
            broker_epoch,
        }),
        "01010000000001000000000000000500",
    );
    same(
        Record::Topic(Topic {
            name: "abc".into(),
            topic_id: id(9),
        }),
        "010200046162630909090909090909090909090909090900",
    );
    same(
        Record::RemoveTopic(id(9)),
        "0109000909090909090909090909090909090900",
    );
    let config = Config {
        resource_type: 2,
        resource_name: "abc".into(),
        name: "k".into(),
        value: Some("2".into()),
    };
    same(Record::Config(config), "0104000204616263026b023200");
    let removed = Config {
        resource_type: 4,
        resource_name: String::new(),
        name: "k".into(),
        value: None,
    };
    same(Record::Config(removed), "0104000401026b0000");
    let fence = Record::FenceBroker {
        broker_id,
        broker_epoch,
    };
    same(fence, "01070000000001000000000000000500");
    let unfence = Record::UnfenceBroker {
        broker_id,
        broker_epoch,
    };
    same(unfence, "01080000000001000000000000000500");
    let level = FeatureLevel {
        name: "f".into(),
        level: 23,
    };
    same(Record::FeatureLevel(level), "010c000266001700");
    let ids = ProducerIds {
        broker_id,
        broker_epoch,
        next_producer_id: 1000,
    };
    same(
        Record::ProducerIds(ids),
        "010f0000000001000000000000000500000000000003e800",
    );
    let controller = RegisterController {
        controller_id: 100,
        incarnation_id: id(7),
        zk_migration_ready: true,
        end_points: end_points(),
        features: features(),
    };
    same(
        Record::RegisterController(controller),
        "011b0000000064070707070707070707070707070707070102024102689c400002000202660001012c0000",
    );
    same(Record::ClearElr("abc".into()), "011c000461626300");
    same(Record::ClearElr(String::new()), "011c000100");
}

#[test]
fn records_that_say_little() {
    same(Record::NoOp, "01140000");
    let name = Some("n".into());
    same(Record::BeginTransaction { name }, "011700010002026e");
    same(Record::BeginTransaction { name: None }, "01170000");
    same(Record::EndTransaction, "01180000");
    let reason = Some("r".into());
    same(Record::AbortTransaction { reason }, "0119000100020272");
}

/// Made by hand: ids and lengths are unsigned varints, seven bits a byte, the lowest first.
#[test]
fn ids_and_lengths_of_more_than_seven_bits() {
    let topic = Topic {
        name: "n".repeat(200),
        topic_id: id(9),
    };
    // The length plus one, 201, is 0x49 and the mark that another byte follows, then 1.
    let hex = ["010200", "c901", &"6e".repeat(200), &"09".repeat(16), "00"].concat();
    same(Record::Topic(topic), &hex);
    // Id 300 is 0x2c and the mark, then 2; version 130 is 0x02 and the mark, then 1.
    let unknown = Record::Unknown {
        id: 300,
        version: 130,
        body: vec![7, 0],
    };
    same(unknown, "01ac0282010700");
}
