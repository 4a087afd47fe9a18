//! Reading metadata records, as far as the observer tells of them.
//!
//! Nothing in a log makes the observer fail. What cannot be read is passed over and said: whether it may have changed
//! what is told of (a newer version of a type that does, a type that no release had when this was written, bytes that
//! are no record), or never does (Apache Kafka's types for other things).

use super::change::{Change, NewPartition, PartitionChange, Unread};
use records::Record;

/// LeaderRecoveryState: the leader was elected uncleanly and has yet to recover.
const RECOVERING: i8 = 1;
/// The types of which something is told.
const TOLD: [u32; 15] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 17, 23, 24, 25, 28];

/// Types that are there for other things than what is told, by Apache Kafka's names.
const OTHER: [(u32, &str); 12] = [
    (10, "DelegationTokenRecord"),
    (11, "UserScramCredentialRecord"),
    (14, "ClientQuotaRecord"),
    (15, "ProducerIdsRecord"),
    (18, "AccessControlEntryRecord"),
    (19, "RemoveAccessControlEntryRecord"),
    (20, "NoOpRecord"),
    (21, "ZkMigrationRecord"),
    (22, "RemoveUserScramCredentialRecord"),
    (26, "RemoveDelegationTokenRecord"),
    (27, "RegisterControllerRecord"),
    (29, "UnregisterControllerRecord"),
];

/// Reads one record.
pub(super) fn decode(record: &[u8]) -> Result<Change, Unread> {
    let record = Record::decode(record).map_err(|why| no_record(record, &why.to_string()))?;
    Ok(match record {
        Record::RegisterBroker(record) => Change::Register {
            broker: record.broker_id,
            epoch: record.broker_epoch,
            incarnation: record.incarnation_id,
            fenced: record.fenced,
            in_controlled_shutdown: record.in_controlled_shutdown,
        },
        Record::UnregisterBroker(record) => Change::Unregister {
            broker: record.broker_id,
            epoch: record.broker_epoch,
        },
        Record::Topic(record) => Change::Topic {
            id: record.topic_id,
            name: record.name,
        },
        Record::Partition(record) => Change::Partition(partition(record)),
        Record::PartitionChange(record) => Change::PartitionChange(partition_change(record)),
        Record::Config(record) => Change::Config {
            resource_type: record.resource_type,
            resource: record.resource_name,
            name: record.name,
            value: record.value,
        },
        Record::RemoveTopic(id) => Change::RemoveTopic { id },
        Record::FeatureLevel(record) => Change::Feature {
            name: record.name,
            level: record.level,
        },
        Record::BrokerRegistrationChange(record) => Change::Registration {
            broker: record.broker_id,
            epoch: record.broker_epoch,
            fenced: match record.fenced {
                1 => Some(true),
                -1 => Some(false),
                _ => None,
            },
            in_controlled_shutdown: record.in_controlled_shutdown == 1,
        },
        Record::FenceBroker {
            broker_id,
            broker_epoch,
        } => fencing(broker_id, broker_epoch, true),
        Record::UnfenceBroker {
            broker_id,
            broker_epoch,
        } => fencing(broker_id, broker_epoch, false),
        Record::BeginTransaction { .. } => Change::Begin,
        Record::EndTransaction => Change::End,
        Record::AbortTransaction { .. } => Change::Abort,
        Record::ClearElr(topic) => Change::ClearElr { topic },
        Record::Unknown { id, version, .. } => return Err(unknown(id, version)),
        Record::NoOp | Record::RegisterController(_) | Record::ProducerIds(_) => Change::Other,
    })
}

/// A type, or a version of one, that the codec does not know.
fn unknown(id: u32, version: u32) -> Unread {
    let other = OTHER.iter().find(|(other, _)| *other == id);
    let why = match other {
        Some((_, name)) => format!("{name} (type {id}, version {version}): nothing of it is told here"),
        None if TOLD.contains(&id) => format!("type {id} version {version} is newer than what is known"),
        None => format!("type {id} (version {version}) is not known"),
    };
    Unread {
        record_type: Some(id),
        version: Some(version),
        hides: other.is_none(),
        why,
    }
}

/// Bytes that are not what their type says.
fn no_record(record: &[u8], why: &str) -> Unread {
    let mut rest = record;
    let mut number = || uvarint(&mut rest);
    // The frame's version first: of another frame nothing is known.
    let frame = number();
    let (record_type, version) = match frame {
        Some(1) => (number(), number()),
        _ => (None, None),
    };
    Unread {
        record_type,
        version,
        hides: record_type.is_none_or(|id| OTHER.iter().all(|(other, _)| *other != id)),
        why: why.to_owned(),
    }
}

fn uvarint(rest: &mut &[u8]) -> Option<u32> {
    let mut number: u32 = 0;
    for shift in (0..32).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u32::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn fencing(broker: i32, epoch: i64, fenced: bool) -> Change {
    Change::Registration {
        broker,
        epoch,
        fenced: Some(fenced),
        in_controlled_shutdown: false,
    }
}

fn partition(record: records::Partition) -> NewPartition {
    NewPartition {
        topic: record.topic_id,
        partition: record.partition_id,
        replicas: record.replicas,
        isr: record.isr,
        elr: record.eligible_leader_replicas,
        last_known_elr: record.last_known_elr,
        leader: record.leader,
        leader_epoch: record.leader_epoch,
        partition_epoch: record.partition_epoch,
        recovering: record.leader_recovery_state == RECOVERING,
    }
}

fn partition_change(record: records::PartitionChange) -> PartitionChange {
    PartitionChange {
        topic: record.topic_id,
        partition: record.partition_id,
        replicas: record.replicas,
        isr: record.isr,
        elr: record.eligible_leader_replicas,
        last_known_elr: record.last_known_elr,
        leader: record.leader,
        recovering: record.leader_recovery_state == Some(RECOVERING),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TopicId;

    /// A frame: type, version, body.
    fn record(kind: u8, version: u8, body: &[&[u8]]) -> Vec<u8> {
        [&[1, kind, version], body.concat().as_slice()].concat()
    }

    const ID: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5];

    fn change_record() -> Vec<u8> {
        // Partition 1: ISR [2], leader 2, RECOVERING, ELR [], and a tag of a later version.
        record(
            5,
            2,
            &[
                &[0, 0, 0, 1],
                &ID,
                &[5],
                &[0, 5, 2, 0, 0, 0, 2],
                &[1, 4, 0, 0, 0, 2],
                &[5, 1, 1],
                &[6, 1, 1],
                &[9, 2, 7, 7],
            ],
        )
    }

    #[test]
    fn a_change_names_what_it_changes_and_no_more() {
        let expected = PartitionChange {
            topic: TopicId::from_u128(5),
            partition: 1,
            isr: Some(vec![2]),
            leader: Some(2),
            recovering: true,
            elr: Some(vec![]),
            ..PartitionChange::default()
        };
        assert_eq!(decode(&change_record()), Ok(Change::PartitionChange(expected)));
        let nothing = record(5, 2, &[&[0, 0, 0, 1], &ID, &[1], &[1, 4, 0xff, 0xff, 0xff, 0xfe]]);
        let Ok(Change::PartitionChange(change)) = decode(&nothing) else {
            panic!()
        };
        assert_eq!(change.leader, None, "-2 is no change");
    }

    #[test]
    fn a_partition_of_each_version_is_read() {
        let fixed: &[&[u8]] = &[&[0, 0, 0, 3], &ID, &[2, 0, 0, 0, 1], &[2, 0, 0, 0, 1], &[1], &[1]];
        let epochs: &[u8] = &[0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 9];
        let directories: &[u8] = &[&[2], ID.as_slice()].concat();
        let tags: &[u8] = &[2, 1, 5, 2, 0, 0, 0, 7, 2, 5, 2, 0, 0, 0, 8];
        let old = decode(&record(3, 0, &[&fixed.concat(), epochs, &[0]]));
        let new = decode(&record(3, 2, &[&fixed.concat(), epochs, directories, tags]));
        let (Ok(Change::Partition(old)), Ok(Change::Partition(new))) = (old, new) else {
            panic!()
        };
        assert_eq!(
            (old.partition, old.leader, old.leader_epoch, old.partition_epoch),
            (3, 1, 4, 9)
        );
        assert_eq!(
            (new.elr.as_slice(), new.last_known_elr.as_slice()),
            ([7].as_slice(), [8].as_slice())
        );
        assert_eq!(
            NewPartition {
                elr: vec![],
                last_known_elr: vec![],
                ..new
            },
            old
        );
    }

    #[test]
    fn what_is_not_known_is_told_apart_by_whether_it_may_hide_something() {
        for (bytes, record_type, hides, why) in [
            (vec![1, 14, 0, 42], Some(14), false, "ClientQuotaRecord"),
            (vec![1, 29, 0, 42], Some(29), false, "UnregisterControllerRecord"),
            // A newer version of a record of which nothing is told, and one that is broken.
            (vec![1, 27, 9, 42], Some(27), false, "version 9"),
            (vec![1, 20, 0], Some(20), false, "bytes are wanted"),
            (vec![1, 99, 0, 42], Some(99), true, "type 99"),
            (record(5, 3, &[]), Some(5), true, "type 5 version 3"),
            (record(5, 2, &[&[0, 0]]), Some(5), true, "bytes are wanted"),
            (vec![0, 5, 2], None, true, "frame version"),
            (vec![], None, true, "bytes are wanted"),
        ] {
            let unread = decode(&bytes).unwrap_err();
            assert_eq!(
                (unread.record_type, unread.hides),
                (record_type, hides),
                "{unread:?}"
            );
            assert!(unread.why.contains(why), "{unread:?}");
        }
        assert_eq!(
            decode(&[1, 20, 0, 0]),
            Ok(Change::Other),
            "a NoOpRecord is known, and says nothing"
        );
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let whole = change_record();
        for at in 0..whole.len() {
            assert!(decode(&whole[..at]).is_err(), "cut at {at}");
            for flip in [1, 0x7f, 0x80, 0xff] {
                let mut hurt = whole.clone();
                hurt[at] ^= flip;
                let _ = decode(&hurt);
            }
        }
    }
}
