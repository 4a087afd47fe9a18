//! AddRaftVoter (80): somebody is to vote (KIP-853).

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{AddRaftVoterRequest, AddRaftVoterResponse, BrokerId};
use raft::{AddVoter, Endpoint, Voter};

use super::{NANOS_PER_MS, Own, Refused, text};
use crate::features::KRAFT_VERSION;

/// The versions of the quorum's protocol that a node of this kind supports; one that is to vote is asked for
/// its own.
pub const KRAFT_VERSIONS: (i16, i16) = (KRAFT_VERSION.least, KRAFT_VERSION.most);

/// A request that arrived.
pub fn read_request(own: &Own, request: AddRaftVoterRequest) -> Result<AddVoter, Refused> {
    own.check_cluster(request.cluster_id.as_ref())?;
    let endpoint = |listener: kafka_protocol::messages::add_raft_voter_request::Listener| Endpoint {
        name: listener.name.to_string(),
        host: listener.host.to_string(),
        port: listener.port,
    };
    let endpoints: Vec<Endpoint> = request.listeners.into_iter().map(endpoint).collect();
    let reachable = endpoints.iter().any(|endpoint| endpoint.name == own.listener);
    let key = own
        .key(BrokerId(request.voter_id), request.voter_directory_id)
        .filter(|_| reachable && !request.voter_directory_id.is_nil())
        .ok_or(ResponseError::InvalidRequest)?;
    Ok(AddVoter {
        voter: Voter {
            key,
            endpoints,
            kraft_versions: KRAFT_VERSIONS,
        },
        timeout: u64::try_from(request.timeout_ms).unwrap_or(0) * NANOS_PER_MS,
        // Version 1 lets the asker choose; version 0 always waits.
        ack_when_committed: true,
    })
}

/// The answer.
pub fn answer(error: i16, why: Option<&str>) -> AddRaftVoterResponse {
    AddRaftVoterResponse::default()
        .with_error_code(error)
        .with_error_message(why.map(text))
}
