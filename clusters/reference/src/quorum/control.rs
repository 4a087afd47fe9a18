//! The quorum's own records in the metadata log.

use bytes::BytesMut;
use kafka_protocol::messages::BrokerId;
use kafka_protocol::messages::leader_change_message::{LeaderChangeMessage, Voter};
use kafka_protocol::protocol::Encodable;
use raft::LeaderChange;

/// The key of a leader change: version 0, type 2.
pub const LEADER_CHANGE_KEY: [u8; 4] = [0, 0, 0, 2];
/// The version of the record's body.
const VERSION: i16 = 0;

/// The value of a leader change.
///
/// # Errors
/// Never, for what a machine says; the codec does not know that.
pub fn leader_change(change: &LeaderChange) -> Result<Vec<u8>, String> {
    let voters = |keys: &[raft::ReplicaKey]| {
        keys.iter()
            .map(|key| Voter::default().with_voter_id(key.id.0))
            .collect::<Vec<_>>()
    };
    let message = LeaderChangeMessage::default()
        .with_version(VERSION)
        .with_leader_id(BrokerId(change.leader.0))
        .with_voters(voters(&change.voters))
        .with_granting_voters(voters(&change.granting_voters));
    let mut bytes = BytesMut::new();
    message
        .encode(&mut bytes, VERSION)
        .map_err(|error| error.to_string())?;
    Ok(bytes.to_vec())
}
