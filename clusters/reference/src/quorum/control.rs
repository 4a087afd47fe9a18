//! The quorum's own records: leader changes, and who votes (KIP-853).

use bytes::BytesMut;
use kafka_protocol::messages::leader_change_message::{self, LeaderChangeMessage};
use kafka_protocol::messages::voters_record::{self, KRaftVersionFeature, VotersRecord};
use kafka_protocol::messages::{BrokerId, KRaftVersionRecord};
use kafka_protocol::protocol::{Decodable, Encodable};
use raft::{DirectoryId, Endpoint, LeaderChange, NodeId, ReplicaKey, Voter, VoterSet, VotersAt};
use storage::control::{ControlRecord, ControlType};
use storage::snapshot::SnapshotHeader;
use storage::{BatchBuilder, Records};
use uuid::Uuid;

use super::wire;

/// The body of a leader change. There is a version 1, with the voters' directories, but Kafka neither writes it,
/// whatever the level of `kraft.version`, nor looks at the version when it reads one: version 0 is all it can take.
const LEADER_CHANGE_VERSION: i16 = 0;
/// The body of a KRaftVersionRecord and of a VotersRecord.
const VERSION: i16 = 0;
/// The level of `kraft.version` at which voters are named in the log.
const WITH_VOTERS_IN_THE_LOG: i16 = 1;

/// The batch of a leader change.
///
/// # Errors
/// Never, for what a machine says; the codecs do not know that.
pub fn leader_change(change: &LeaderChange, timestamp: i64) -> Result<BatchBuilder, String> {
    let voters = |keys: &[ReplicaKey]| {
        let voter = |key: &ReplicaKey| leader_change_message::Voter::default().with_voter_id(key.id.0);
        keys.iter().map(voter).collect::<Vec<_>>()
    };
    let message = LeaderChangeMessage::default()
        .with_version(LEADER_CHANGE_VERSION)
        .with_leader_id(BrokerId(change.leader.0))
        .with_voters(voters(&change.voters))
        .with_granting_voters(voters(&change.granting_voters));
    let mut batch = BatchBuilder::new(timestamp).control();
    push(
        &mut batch,
        ControlType::LeaderChange,
        &encoded(&message, LEADER_CHANGE_VERSION)?,
    )?;
    if let Some(set) = &change.voter_set {
        push(&mut batch, ControlType::KRaftVersion, &kraft_version()?)?;
        push(&mut batch, ControlType::KRaftVoters, &voters_record(set)?)?;
    }
    Ok(batch)
}

/// The batch that puts voters in force.
///
/// # Errors
/// See [`leader_change`].
pub fn voters(set: &VoterSet, timestamp: i64) -> Result<BatchBuilder, String> {
    let mut batch = BatchBuilder::new(timestamp).control();
    push(&mut batch, ControlType::KRaftVoters, &voters_record(set)?)?;
    Ok(batch)
}

fn push(batch: &mut BatchBuilder, control_type: ControlType, value: &[u8]) -> Result<(), String> {
    batch
        .push(Some(&control_type.key()), Some(value), &[])
        .map_err(|error| error.to_string())
}

fn encoded(message: &impl Encodable, version: i16) -> Result<Vec<u8>, String> {
    let mut bytes = BytesMut::new();
    message
        .encode(&mut bytes, version)
        .map_err(|error| error.to_string())?;
    Ok(bytes.to_vec())
}

fn kraft_version() -> Result<Vec<u8>, String> {
    let message = KRaftVersionRecord::default()
        .with_version(VERSION)
        .with_k_raft_version(WITH_VOTERS_IN_THE_LOG);
    encoded(&message, VERSION)
}

fn voters_record(set: &VoterSet) -> Result<Vec<u8>, String> {
    let endpoint = |endpoint: &Endpoint| {
        voters_record::Endpoint::default()
            .with_name(endpoint.name.clone().into())
            .with_host(endpoint.host.clone().into())
            .with_port(endpoint.port)
    };
    let voter = |voter: &Voter| {
        let (least, most) = voter.kraft_versions;
        voters_record::Voter::default()
            .with_voter_id(BrokerId(voter.key.id.0))
            .with_voter_directory_id(wire::directory(voter.key))
            .with_endpoints(voter.endpoints.iter().map(endpoint).collect())
            .with_k_raft_version_feature(
                KRaftVersionFeature::default()
                    .with_min_supported_version(least)
                    .with_max_supported_version(most),
            )
    };
    let message = VotersRecord::default()
        .with_version(VERSION)
        .with_voters(set.iter().map(voter).collect());
    encoded(&message, VERSION)
}

/// What a snapshot's header says of the quorum, where voters are named in the log.
///
/// # Errors
/// See [`leader_change`].
pub fn header_records(set: &VoterSet) -> Result<Vec<ControlRecord>, String> {
    let record = |control_type, value: Vec<u8>| ControlRecord {
        control_type,
        value: value.into(),
    };
    Ok(vec![
        record(ControlType::KRaftVersion, kraft_version()?),
        record(ControlType::KRaftVoters, voters_record(set)?),
    ])
}

/// Reads the body of a VotersRecord.
fn read_voters(mut body: &[u8]) -> Result<VoterSet, String> {
    let record = VotersRecord::decode(&mut body, VERSION)
        .map_err(|error| format!("a VotersRecord cannot be read: {error}"))?;
    let endpoint = |endpoint: voters_record::Endpoint| Endpoint {
        name: endpoint.name.to_string(),
        host: endpoint.host.to_string(),
        port: endpoint.port,
    };
    let voter = |voter: voters_record::Voter| Voter {
        key: ReplicaKey {
            id: NodeId(voter.voter_id.0),
            directory: directory(voter.voter_directory_id),
        },
        endpoints: voter.endpoints.into_iter().map(endpoint).collect(),
        kraft_versions: (
            voter.k_raft_version_feature.min_supported_version,
            voter.k_raft_version_feature.max_supported_version,
        ),
    };
    VoterSet::new(record.voters.into_iter().map(voter).collect())
        .map_err(|id| format!("a VotersRecord names node {id} twice"))
}

fn directory(id: Uuid) -> Option<DirectoryId> {
    Some(DirectoryId(id.as_u128())).filter(|directory| directory.0 != 0)
}

/// The control records of a batch that are understood.
///
/// # Errors
/// When the batch cannot be read.
pub fn records_in(batch: &[u8]) -> Result<Vec<(i64, ControlRecord)>, String> {
    let mut found = Vec::new();
    for record in Records::of(batch).map_err(|error| error.to_string())? {
        let record = record.map_err(|error| error.to_string())?;
        if let Some(control_type) = record.key.and_then(ControlType::of_key) {
            let value = record.value.unwrap_or_default().to_vec().into();
            found.push((record.offset, ControlRecord { control_type, value }));
        }
    }
    Ok(found)
}

/// The voters that a control batch puts in force, if it does.
///
/// # Errors
/// When it cannot be read.
pub fn voters_in(batch: &[u8]) -> Result<Option<VotersAt>, String> {
    let mut found = None;
    for (offset, record) in records_in(batch)? {
        if record.control_type == ControlType::KRaftVoters {
            let voters = read_voters(&record.value)?;
            found = Some(VotersAt { offset, voters });
        }
    }
    Ok(found)
}

/// The voters that a snapshot names, if it does.
///
/// # Errors
/// When it cannot be read.
pub fn voters_of(header: &SnapshotHeader) -> Result<Option<VoterSet>, String> {
    let mut records = header.quorum.iter();
    records
        .rfind(|record| record.control_type == ControlType::KRaftVoters)
        .map(|record| read_voters(&record.value))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> VoterSet {
        let voter = |id: i32| Voter {
            key: ReplicaKey {
                id: NodeId(id),
                directory: Some(DirectoryId(7 + id as u128)),
            },
            endpoints: vec![Endpoint {
                name: "CONTROLLER".to_owned(),
                host: "h".to_owned(),
                port: 9093,
            }],
            kraft_versions: (0, 1),
        };
        VoterSet::new(vec![voter(1), voter(2)]).unwrap()
    }

    fn change(voter_set: Option<VoterSet>) -> LeaderChange {
        LeaderChange {
            base_offset: 4,
            epoch: 3,
            leader: NodeId(1),
            voters: set().keys().collect(),
            granting_voters: set().keys().collect(),
            voter_set,
        }
    }

    #[test]
    fn voters_are_read_as_they_were_written_wherever_they_stand() {
        let batch = voters(&set(), 5).unwrap().build(9, 3).unwrap();
        let found = voters_in(&batch).unwrap().unwrap();
        assert_eq!((found.offset, &found.voters), (9, &set()));
        let batch = leader_change(&change(Some(set())), 5)
            .unwrap()
            .build(4, 3)
            .unwrap();
        let kinds: Vec<_> = records_in(&batch)
            .unwrap()
            .into_iter()
            .map(|(offset, record)| (offset, record.control_type.code()))
            .collect();
        assert_eq!(kinds, [(4, 2), (5, 5), (6, 6)]);
        assert_eq!(voters_in(&batch).unwrap().unwrap().offset, 6);
        let batch = leader_change(&change(None), 5).unwrap().build(4, 3).unwrap();
        assert_eq!(voters_in(&batch).unwrap(), None);
    }

    #[test]
    fn a_snapshot_names_its_voters() {
        let header = SnapshotHeader {
            last_contained_log_timestamp: 0,
            quorum: header_records(&set()).unwrap(),
        };
        assert_eq!(voters_of(&header).unwrap(), Some(set()));
        assert_eq!(voters_of(&SnapshotHeader::default()).unwrap(), None);
    }

    #[test]
    fn bytes_that_are_no_voters_are_an_error() {
        for body in [&b""[..], b"\0\0\x05", b"\0\x09\x02\0\0\0\0"] {
            assert!(read_voters(body).is_err(), "{body:?}");
        }
    }

    #[test]
    fn a_leader_change_is_kafkas_to_the_byte_though_its_voters_have_directories() {
        let batch = leader_change(&change(None), 5).unwrap().build(4, 3).unwrap();
        let record = Records::of(&batch).unwrap().next().unwrap().unwrap();
        // Version 0, leader 1, then voters and granting voters: two each, an id and no tagged fields.
        let ids = [3, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0];
        let expected = [&[0, 0, 0, 0, 0, 1][..], &ids, &ids, &[0]].concat();
        assert_eq!(record.value.unwrap(), expected);
    }

    #[test]
    fn a_voters_record_is_kafkas_to_the_byte() {
        let mut expected = vec![0, 0, 3]; // version 0, two voters
        for id in [1u8, 2] {
            expected.extend([0, 0, 0, id]);
            expected.extend(u128::from(7 + id).to_be_bytes());
            expected.extend([2, 11]); // one endpoint; a name of ten letters
            expected.extend(b"CONTROLLER");
            expected.extend([2, b'h', 0x23, 0x85, 0]); // the host, port 9093, no tagged fields
            expected.extend([0, 0, 0, 1, 0]); // kraft.version 0 to 1
            expected.push(0);
        }
        expected.push(0);
        assert_eq!(voters_record(&set()).unwrap(), expected);
    }
}
