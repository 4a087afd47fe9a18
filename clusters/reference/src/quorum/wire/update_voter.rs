//! UpdateRaftVoter (82): a voter says where it is now (KIP-853).

use kafka_protocol::ResponseError;
use kafka_protocol::messages::update_raft_voter_request::{KRaftVersionFeature, Listener};
use kafka_protocol::messages::update_raft_voter_response::CurrentLeader;
use kafka_protocol::messages::{BrokerId, UpdateRaftVoterRequest, UpdateRaftVoterResponse};
use raft::{Body, Endpoint, ReadRange, Response, UpdateVoter, Voter};

use super::{Located, Own, Read, Refused, broker, directory, error_of, heard, text};

/// The version in which this node asks.
pub const VERSION: i16 = 0;

/// A request to send.
pub fn request(own: &Own, ask: &UpdateVoter) -> UpdateRaftVoterRequest {
    let listener = |endpoint: &Endpoint| {
        Listener::default()
            .with_name(text(&endpoint.name))
            .with_host(text(&endpoint.host))
            .with_port(endpoint.port)
    };
    let (least, most) = ask.voter.kraft_versions;
    let feature = KRaftVersionFeature::default()
        .with_min_supported_version(least)
        .with_max_supported_version(most);
    UpdateRaftVoterRequest::default()
        .with_cluster_id(own.cluster())
        .with_current_leader_epoch(ask.epoch)
        .with_voter_id(BrokerId(ask.voter.key.id.0).0)
        .with_voter_directory_id(directory(ask.voter.key))
        .with_listeners(ask.voter.endpoints.iter().map(listener).collect())
        .with_k_raft_version_feature(feature)
}

/// A request that arrived.
pub fn read_request(own: &Own, request: UpdateRaftVoterRequest) -> Result<UpdateVoter, Refused> {
    own.check_cluster(request.cluster_id.as_ref())?;
    let endpoint = |listener: Listener| Endpoint {
        name: listener.name.to_string(),
        host: listener.host.to_string(),
        port: listener.port,
    };
    let endpoints: Vec<Endpoint> = request.listeners.into_iter().map(endpoint).collect();
    let reachable = endpoints.iter().any(|endpoint| endpoint.name == own.listener);
    let key = own
        .key(BrokerId(request.voter_id), request.voter_directory_id)
        .filter(|_| reachable)
        .ok_or(ResponseError::InvalidRequest)?;
    let feature = &request.k_raft_version_feature;
    Ok(UpdateVoter {
        epoch: request.current_leader_epoch,
        voter: Voter {
            key,
            endpoints,
            kraft_versions: (feature.min_supported_version, feature.max_supported_version),
        },
    })
}

/// The answer.
pub fn answer(response: &Response<ReadRange>, leader: Option<&Located>) -> UpdateRaftVoterResponse {
    let mut current = CurrentLeader::default()
        .with_leader_id(broker(response.leader))
        .with_leader_epoch(response.epoch);
    if let Some(at) = leader {
        current = current.with_host(text(&at.host)).with_port(i32::from(at.port));
    }
    UpdateRaftVoterResponse::default()
        .with_error_code(error_of(&response.body))
        .with_current_leader(current)
}

/// The answer to a request that never reached the machine.
pub fn refused(error: Refused) -> UpdateRaftVoterResponse {
    UpdateRaftVoterResponse::default().with_error_code(error.code())
}

/// Reads an answer.
pub fn read_answer(answer: UpdateRaftVoterResponse) -> Read {
    let leader = answer.current_leader;
    let node = (leader.leader_id, leader.host, u16::try_from(leader.port).ok());
    let told = !node.1.is_empty();
    heard(
        answer.error_code,
        leader.leader_id,
        leader.leader_epoch,
        Body::VotersChanged,
        Some(node).filter(|_| told).into_iter(),
    )
}
