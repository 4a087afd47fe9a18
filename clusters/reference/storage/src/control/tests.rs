//! Golden bytes written down by hand from Kafka's schemas, against the codec in use where bodies are made
//! by one.

use bytes::BytesMut;
use kafka_protocol::messages::k_raft_version_record::KRaftVersionRecord;
use kafka_protocol::messages::leader_change_message::{LeaderChangeMessage, Voter as Granting};
use kafka_protocol::messages::snapshot_footer_record::SnapshotFooterRecord;
use kafka_protocol::messages::snapshot_header_record::SnapshotHeaderRecord;
use kafka_protocol::messages::voters_record::{Endpoint, KRaftVersionFeature, Voter, VotersRecord};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use uuid::Uuid;

use super::*;

fn encoded(message: &impl Encodable, version: i16) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    message.encode(&mut bytes, version).unwrap();
    bytes.to_vec()
}

#[test]
fn keys_are_a_version_and_a_type() {
    for (control_type, golden) in [
        (ControlType::LeaderChange, [0, 0, 0, 2]),
        (ControlType::SnapshotHeader, [0, 0, 0, 3]),
        (ControlType::SnapshotFooter, [0, 0, 0, 4]),
        (ControlType::KRaftVersion, [0, 0, 0, 5]),
        (ControlType::KRaftVoters, [0, 0, 0, 6]),
    ] {
        assert_eq!(control_type.key(), golden);
        assert_eq!(ControlType::of_key(&golden), Some(control_type));
    }
    // Markers of transactions, a later type, a later version, and no keys.
    for other in [
        &[0, 0, 0, 0][..],
        &[0, 0, 0, 1],
        &[0, 0, 0, 7],
        &[0, 1, 0, 2],
        &[0, 0, 0],
        &[0, 0, 0, 2, 0],
        &[],
    ] {
        assert_eq!(ControlType::of_key(other), None, "{other:?}");
    }
}

#[test]
fn a_snapshots_header_is_kafkas() {
    let golden = [
        0, 0, // version
        0, 0, 1, 2, 3, 4, 5, 6, // last contained log timestamp
        0, // no tagged fields
    ];
    assert_eq!(snapshot_header(0x0102_0304_0506), golden);
    assert_eq!(read_snapshot_header(&golden), Ok(0x0102_0304_0506));
    let message = SnapshotHeaderRecord::default().with_last_contained_log_timestamp(0x0102_0304_0506);
    assert_eq!(encoded(&message, 0), golden);
}

#[test]
fn a_snapshots_footer_is_kafkas() {
    let golden = [
        0, 0, // version
        0, // no tagged fields
    ];
    assert_eq!(snapshot_footer(), golden);
    assert_eq!(read_snapshot_footer(&golden), Ok(()));
    assert_eq!(encoded(&SnapshotFooterRecord::default(), 0), golden);
}

/// A later Kafka may add tagged fields without another version.
#[test]
fn tagged_fields_are_passed_over() {
    let tag = [1, 0, 1, 0xaa];
    let header = [&snapshot_header(7)[..10], &tag].concat();
    assert_eq!(read_snapshot_header(&header), Ok(7));
    let footer = [&snapshot_footer()[..2], &tag].concat();
    assert_eq!(read_snapshot_footer(&footer), Ok(()));
}

#[test]
fn the_version_of_the_quorum_is_kafkas() {
    let golden = [
        0, 0, // version
        0, 1, // kraft.version
        0, // no tagged fields
    ];
    let message = KRaftVersionRecord::default().with_k_raft_version(1);
    assert_eq!(encoded(&message, 0), golden);
    let read = KRaftVersionRecord::decode(&mut &golden[..], 0).unwrap();
    assert_eq!(read, message);
}

#[test]
fn voters_are_kafkas() {
    #[rustfmt::skip]
    let golden = [
        &[0, 0][..],              // version
        &[2],                     // one voter, plus one
        &[0, 0, 0, 101],          // its id
        &[0; 8], &[0, 1, 2, 3, 4, 5, 6, 7], // its directory
        &[2],                     // one endpoint, plus one
        &[11], b"CONTROLLER",     // its name: 10 bytes, plus one
        &[9], b"10.0.0.1",        // its host
        &[0x23, 0x85],            // its port, 9093
        &[0],                     // the endpoint's tagged fields: none
        &[0, 0], &[0, 1],         // kraft.version: supports 0 to 1
        &[0],                     // the range's tagged fields: none
        &[0],                     // the voter's
        &[0],                     // the record's
    ]
    .concat();
    let endpoint = Endpoint::default()
        .with_name(StrBytes::from_static_str("CONTROLLER"))
        .with_host(StrBytes::from_static_str("10.0.0.1"))
        .with_port(9093);
    let versions = KRaftVersionFeature::default()
        .with_min_supported_version(0)
        .with_max_supported_version(1);
    let voter = Voter::default()
        .with_voter_id(101.into())
        .with_voter_directory_id(Uuid::from_u128(0x0001_0203_0405_0607))
        .with_endpoints(vec![endpoint])
        .with_k_raft_version_feature(versions);
    let message = VotersRecord::default().with_voters(vec![voter]);
    assert_eq!(encoded(&message, 0), golden);
    assert_eq!(VotersRecord::decode(&mut &golden[..], 0).unwrap(), message);
}

/// Version 0 names voters by their ids, version 1 (KIP-853) by their directories too.
#[test]
fn a_change_of_leader_is_kafkas_in_both_versions() {
    #[rustfmt::skip]
    let golden = [
        0, 0,          // version
        0, 0, 0, 2,    // the leader
        3,             // two voters, plus one
        0, 0, 0, 1, 0, // id, no tagged fields
        0, 0, 0, 2, 0,
        2,             // one of them granted its vote, plus one
        0, 0, 0, 2, 0,
        0,             // no tagged fields
    ];
    let voter = |id| Granting::default().with_voter_id(id);
    let message = LeaderChangeMessage::default()
        .with_leader_id(2.into())
        .with_voters(vec![voter(1), voter(2)])
        .with_granting_voters(vec![voter(2)]);
    assert_eq!(encoded(&message, 0), golden);

    #[rustfmt::skip]
    let golden = [
        &[0, 1][..],
        &[0, 0, 0, 2],
        &[2],
        &[0, 0, 0, 2], &[0; 15], &[9], &[0],
        &[2],
        &[0, 0, 0, 2], &[0; 15], &[9], &[0],
        &[0],
    ]
    .concat();
    let voter = voter(2).with_voter_directory_id(Uuid::from_u128(9));
    let message = LeaderChangeMessage::default()
        .with_version(1)
        .with_leader_id(2.into())
        .with_voters(vec![voter.clone()])
        .with_granting_voters(vec![voter]);
    assert_eq!(encoded(&message, 1), golden);
}
