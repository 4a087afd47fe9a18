//! RemoveRaftVoter (81): somebody is to vote no more (KIP-853).

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{BrokerId, RemoveRaftVoterRequest, RemoveRaftVoterResponse};
use raft::{Nanos, RemoveVoter};

use super::{Own, Refused, text};

/// A request that arrived. It names no time-out: `timeout` is this node's own.
pub fn read_request(
    own: &Own,
    request: RemoveRaftVoterRequest,
    timeout: Nanos,
) -> Result<RemoveVoter, Refused> {
    own.check_cluster(request.cluster_id.as_ref())?;
    let voter = own
        .key(BrokerId(request.voter_id), request.voter_directory_id)
        .filter(|_| !request.voter_directory_id.is_nil())
        .ok_or(ResponseError::InvalidRequest)?;
    Ok(RemoveVoter { voter, timeout })
}

/// The answer.
pub fn answer(error: i16, why: Option<&str>) -> RemoveRaftVoterResponse {
    RemoveRaftVoterResponse::default()
        .with_error_code(error)
        .with_error_message(why.map(text))
}
