//! Reading metadata records, as far as the observer tells of them.
//!
//! A type of which nothing is told is let pass, so that a newer cluster's are no error; a newer version of a type of
//! which something is told is one, for it would be told wrong.

use super::change::{Change, NewPartition, PartitionChange};
use records::Record;

/// LeaderRecoveryState: the leader was elected uncleanly and has yet to recover.
const RECOVERING: i8 = 1;
/// The types of which something is told.
const TOLD: [u32; 15] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 17, 23, 24, 25, 28];

/// Reads one record.
pub(super) fn decode(record: &[u8]) -> Result<Change, String> {
    Ok(match Record::decode(record).map_err(|why| why.to_string())? {
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
        Record::Unknown { id, version, .. } if TOLD.contains(&id) => {
            return Err(format!("type {id} version {version} is newer than what is known"));
        }
        Record::NoOp | Record::RegisterController(_) | Record::ProducerIds(_) | Record::Unknown { .. } => {
            Change::Other
        }
    })
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
    fn unknown_types_are_let_pass_and_unknown_versions_are_not() {
        assert_eq!(decode(&[1, 99, 0, 42]), Ok(Change::Other));
        assert!(
            decode(&record(5, 3, &[]))
                .unwrap_err()
                .contains("type 5 version 3")
        );
        assert!(decode(&[0, 5, 2]).unwrap_err().contains("frame version"));
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
