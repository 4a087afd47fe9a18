//! Metadata records in the JSON of Kafka's own tools, by the names of Kafka's schemas.
//!
//! Fields with a tag are there only where they are not the default, as Kafka prints them.

use kafka_protocol::messages::leader_change_message::{LeaderChangeMessage, Voter};
use kafka_protocol::messages::{
    KRaftVersionRecord, SnapshotFooterRecord, SnapshotHeaderRecord, VotersRecord, voters_record,
};
use kafka_protocol::protocol::Decodable;
use records::{EndPoint, Feature, Record};
use serde_json::{Value, json};
use storage::format_uuid;
use uuid::Uuid;

/// A record of the log as Kafka's tools name it: what kind of line, and the JSON on it.
pub type Named = (String, Value);

/// A metadata record, from its bytes.
pub fn metadata(bytes: &[u8]) -> Named {
    let record = Record::decode(bytes).unwrap_or_else(|why| panic!("{why}: {bytes:?}"));
    // Frame version, id and version are below 128 in every record there is: a byte each.
    let (id, version) = (bytes[1], bytes[2]);
    let (name, data) = body(&record, version);
    let value = json!({ "type": name, "version": version, "data": data });
    assert!(!matches!(record, Record::Unknown { .. }), "a record of id {id}");
    ("payload".into(), value)
}

fn ids(list: &[Uuid]) -> Value {
    list.iter().map(|id| format_uuid(*id)).collect()
}

fn end_points(list: &[EndPoint]) -> Value {
    let one = |e: &EndPoint| json!({"name": e.name, "host": e.host, "port": e.port, "securityProtocol": e.security_protocol});
    list.iter().map(one).collect()
}

fn features(list: &[Feature]) -> Value {
    let one =
        |f: &Feature| json!({"name": f.name, "minSupportedVersion": f.min, "maxSupportedVersion": f.max});
    list.iter().map(one).collect()
}

/// Adds a field where a condition holds: of a version, or that it is not the default.
fn add(data: &mut Value, there: bool, name: &str, value: Value) {
    if there {
        data[name] = value;
    }
}

fn some<T: serde::Serialize>(data: &mut Value, name: &str, value: &Option<T>) {
    add(data, value.is_some(), name, json!(value));
}

fn body(record: &Record, version: u8) -> (&'static str, Value) {
    match record {
        Record::RegisterBroker(r) => {
            let mut data = json!({
                "brokerId": r.broker_id, "incarnationId": format_uuid(r.incarnation_id),
                "brokerEpoch": r.broker_epoch, "endPoints": end_points(&r.end_points),
                "features": features(&r.features), "rack": r.rack, "fenced": r.fenced,
            });
            add(
                &mut data,
                version >= 2,
                "isMigratingZkBroker",
                json!(r.is_migrating_zk_broker),
            );
            add(
                &mut data,
                version >= 1,
                "inControlledShutdown",
                json!(r.in_controlled_shutdown),
            );
            add(&mut data, !r.log_dirs.is_empty(), "logDirs", ids(&r.log_dirs));
            ("REGISTER_BROKER_RECORD", data)
        }
        Record::UnregisterBroker(r) => {
            let data = json!({"brokerId": r.broker_id, "brokerEpoch": r.broker_epoch});
            ("UNREGISTER_BROKER_RECORD", data)
        }
        Record::Topic(r) => {
            let data = json!({"name": r.name, "topicId": format_uuid(r.topic_id)});
            ("TOPIC_RECORD", data)
        }
        Record::Partition(r) => ("PARTITION_RECORD", partition(r, version)),
        Record::Config(r) => {
            let data = json!({
                "resourceType": r.resource_type, "resourceName": r.resource_name, "name": r.name, "value": r.value,
            });
            ("CONFIG_RECORD", data)
        }
        Record::PartitionChange(r) => ("PARTITION_CHANGE_RECORD", partition_change(r)),
        Record::FenceBroker {
            broker_id,
            broker_epoch,
        } => (
            "FENCE_BROKER_RECORD",
            json!({"id": broker_id, "epoch": broker_epoch}),
        ),
        Record::UnfenceBroker {
            broker_id,
            broker_epoch,
        } => (
            "UNFENCE_BROKER_RECORD",
            json!({"id": broker_id, "epoch": broker_epoch}),
        ),
        Record::RemoveTopic(id) => ("REMOVE_TOPIC_RECORD", json!({"topicId": format_uuid(*id)})),
        Record::FeatureLevel(r) => (
            "FEATURE_LEVEL_RECORD",
            json!({"name": r.name, "featureLevel": r.level}),
        ),
        Record::ProducerIds(r) => {
            let data = json!({
                "brokerId": r.broker_id, "brokerEpoch": r.broker_epoch, "nextProducerId": r.next_producer_id,
            });
            ("PRODUCER_IDS_RECORD", data)
        }
        Record::BrokerRegistrationChange(r) => {
            let mut data = json!({"brokerId": r.broker_id, "brokerEpoch": r.broker_epoch});
            let leaving = r.in_controlled_shutdown;
            add(&mut data, r.fenced != 0, "fenced", json!(r.fenced));
            add(&mut data, leaving != 0, "inControlledShutdown", json!(leaving));
            add(&mut data, !r.log_dirs.is_empty(), "logDirs", ids(&r.log_dirs));
            ("BROKER_REGISTRATION_CHANGE_RECORD", data)
        }
        Record::NoOp => ("NO_OP_RECORD", json!({})),
        Record::BeginTransaction { name } => {
            let mut data = json!({});
            some(&mut data, "name", name);
            ("BEGIN_TRANSACTION_RECORD", data)
        }
        Record::EndTransaction => ("END_TRANSACTION_RECORD", json!({})),
        Record::AbortTransaction { reason } => {
            let mut data = json!({});
            some(&mut data, "reason", reason);
            ("ABORT_TRANSACTION_RECORD", data)
        }
        Record::RegisterController(r) => {
            let data = json!({
                "controllerId": r.controller_id, "incarnationId": format_uuid(r.incarnation_id),
                "zkMigrationReady": r.zk_migration_ready, "endPoints": end_points(&r.end_points),
                "features": features(&r.features),
            });
            ("REGISTER_CONTROLLER_RECORD", data)
        }
        Record::ClearElr(topic) => ("CLEAR_ELR_RECORD", json!({"topicName": topic})),
        Record::Unknown { .. } => ("of an unknown type", json!({})),
    }
}

fn partition(r: &records::Partition, version: u8) -> Value {
    let mut data = json!({
        "partitionId": r.partition_id, "topicId": format_uuid(r.topic_id), "replicas": r.replicas, "isr": r.isr,
        "removingReplicas": r.removing_replicas, "addingReplicas": r.adding_replicas, "leader": r.leader,
        "leaderEpoch": r.leader_epoch, "partitionEpoch": r.partition_epoch,
    });
    let (elr, last) = (&r.eligible_leader_replicas, &r.last_known_elr);
    let recovery = r.leader_recovery_state;
    add(&mut data, version >= 1, "directories", ids(&r.directories));
    add(&mut data, recovery != 0, "leaderRecoveryState", json!(recovery));
    add(&mut data, !elr.is_empty(), "eligibleLeaderReplicas", json!(elr));
    add(&mut data, !last.is_empty(), "lastKnownElr", json!(last));
    data
}

fn partition_change(r: &records::PartitionChange) -> Value {
    let mut data = json!({"partitionId": r.partition_id, "topicId": format_uuid(r.topic_id)});
    some(&mut data, "isr", &r.isr);
    some(&mut data, "leader", &r.leader);
    some(&mut data, "replicas", &r.replicas);
    some(&mut data, "removingReplicas", &r.removing_replicas);
    some(&mut data, "addingReplicas", &r.adding_replicas);
    some(&mut data, "leaderRecoveryState", &r.leader_recovery_state);
    some(&mut data, "eligibleLeaderReplicas", &r.eligible_leader_replicas);
    some(&mut data, "lastKnownElr", &r.last_known_elr);
    let directories = r.directories.as_deref().map(ids);
    some(&mut data, "directories", &directories);
    data
}

/// A control record, from its key and value.
pub fn control(key: &[u8], value: &[u8]) -> Named {
    let [_, _, _, kind] = key else {
        panic!("the key of a control record is {key:?}");
    };
    // Each value begins with its version.
    let version = i16::from_be_bytes([value[0], value[1]]);
    let mut bytes = bytes::Bytes::copy_from_slice(value);
    let (name, data) = match kind {
        2 => ("LeaderChange", leader_change(&mut bytes, version)),
        3 => {
            let header = SnapshotHeaderRecord::decode(&mut bytes, version).unwrap();
            let time = header.last_contained_log_timestamp;
            let data = json!({"version": header.version, "lastContainedLogTimestamp": time});
            ("SnapshotHeader", data)
        }
        4 => {
            let footer = SnapshotFooterRecord::decode(&mut bytes, version).unwrap();
            ("SnapshotFooter", json!({"version": footer.version}))
        }
        5 => {
            let record = KRaftVersionRecord::decode(&mut bytes, version).unwrap();
            let data = json!({"version": record.version, "kRaftVersion": record.k_raft_version});
            ("KRaftVersion", data)
        }
        6 => ("KRaftVoters", voters(&mut bytes, version)),
        other => panic!("a control record of type {other}"),
    };
    assert!(bytes.is_empty(), "{name} has {} bytes too many", bytes.len());
    (name.into(), data)
}

fn leader_change(bytes: &mut bytes::Bytes, version: i16) -> Value {
    let message = LeaderChangeMessage::decode(bytes, version).unwrap();
    let voters = |list: &[Voter]| -> Value {
        let one = |voter: &Voter| {
            let mut data = json!({"voterId": voter.voter_id});
            let directory = format_uuid(voter.voter_directory_id);
            add(&mut data, version >= 1, "voterDirectoryId", json!(directory));
            data
        };
        list.iter().map(one).collect()
    };
    json!({
        "version": message.version, "leaderId": message.leader_id.0, "voters": voters(&message.voters),
        "grantingVoters": voters(&message.granting_voters),
    })
}

fn voters(bytes: &mut bytes::Bytes, version: i16) -> Value {
    let record = VotersRecord::decode(bytes, version).unwrap();
    let voter = |voter: &voters_record::Voter| {
        let end_point = |e: &voters_record::Endpoint| json!({"name": e.name.as_str(), "host": e.host.as_str(), "port": e.port});
        let range = &voter.k_raft_version_feature;
        json!({
            "voterId": voter.voter_id.0, "voterDirectoryId": format_uuid(voter.voter_directory_id),
            "endpoints": voter.endpoints.iter().map(end_point).collect::<Value>(),
            "kRaftVersionFeature": {
                "minSupportedVersion": range.min_supported_version,
                "maxSupportedVersion": range.max_supported_version,
            },
        })
    };
    json!({"version": record.version, "voters": record.voters.iter().map(voter).collect::<Value>()})
}
