//! Vote (52): a vote, or a pre-vote, is asked for.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{BrokerId, VoteRequest, VoteResponse, vote_request, vote_response};
use raft::{Body, ReadRange, ReplicaKey, Response};
use uuid::Uuid;

use super::{Located, Own, Read, Refused, broker, directory, error_of, heard, is_of_partition, only, text};

/// The version in which this node asks: the first with pre-votes.
pub const VERSION: i16 = 2;

/// A request to send.
pub fn request(own: &Own, to: ReplicaKey, ask: &raft::VoteRequest) -> VoteRequest {
    let partition = vote_request::PartitionData::default()
        .with_replica_epoch(ask.epoch)
        .with_replica_id(BrokerId(ask.candidate.id.0))
        .with_replica_directory_id(own.directory_id)
        .with_voter_directory_id(directory(to))
        .with_last_offset_epoch(ask.last_epoch)
        .with_last_offset(ask.last_offset)
        .with_pre_vote(ask.pre_vote);
    let topic = vote_request::TopicData::default()
        .with_topic_name(super::topic_name())
        .with_partitions(vec![partition]);
    VoteRequest::default()
        .with_cluster_id(own.cluster())
        .with_voter_id(BrokerId(to.id.0))
        .with_topics(vec![topic])
}

/// The folder that a request is from; nil where it does not say.
pub fn folder_of(request: &VoteRequest) -> Uuid {
    let partition = request.topics.first().and_then(|topic| topic.partitions.first());
    partition.map_or(Uuid::nil(), |partition| partition.replica_directory_id)
}

/// A request that arrived.
pub fn read_request(own: &Own, request: VoteRequest) -> Result<raft::VoteRequest, Refused> {
    own.check_cluster(request.cluster_id.as_ref())?;
    let partition = only(
        request.topics,
        |topic| &topic.topic_name,
        |topic| topic.partitions,
    )?;
    own.check_voter(request.voter_id, partition.voter_directory_id)?;
    Ok(raft::VoteRequest {
        pre_vote: partition.pre_vote,
        epoch: partition.replica_epoch,
        candidate: own
            .key(partition.replica_id, partition.replica_directory_id)
            .ok_or(ResponseError::InvalidRequest)?,
        last_epoch: partition.last_offset_epoch,
        last_offset: partition.last_offset,
    })
}

/// The answer.
pub fn answer(response: &Response<ReadRange>, leader: Option<&Located>) -> VoteResponse {
    let granted = matches!(response.body, Body::Vote { granted: true });
    telling(response, error_of(&response.body), granted, leader)
}

/// The answer to a request that never reached the machine.
pub fn refused(error: Refused, standing: &Response<ReadRange>, leader: Option<&Located>) -> VoteResponse {
    if is_of_partition(error) {
        telling(standing, error.code(), false, leader)
    } else {
        VoteResponse::default().with_error_code(error.code())
    }
}

fn telling(
    standing: &Response<ReadRange>,
    error: i16,
    granted: bool,
    leader: Option<&Located>,
) -> VoteResponse {
    let partition = vote_response::PartitionData::default()
        .with_error_code(error)
        .with_leader_id(broker(standing.leader))
        .with_leader_epoch(standing.epoch)
        .with_vote_granted(granted);
    let topic = vote_response::TopicData::default()
        .with_topic_name(super::topic_name())
        .with_partitions(vec![partition]);
    let endpoint = |at: &Located| {
        vote_response::NodeEndpoint::default()
            .with_node_id(BrokerId(at.id))
            .with_host(text(&at.host))
            .with_port(at.port)
    };
    VoteResponse::default()
        .with_topics(vec![topic])
        .with_node_endpoints(leader.map(endpoint).into_iter().collect())
}

/// Reads an answer.
pub fn read_answer(answer: VoteResponse) -> Read {
    let partition = answer.topics.into_iter().next()?.partitions.into_iter().next()?;
    let body = Body::Vote {
        granted: partition.vote_granted,
    };
    let nodes = answer.node_endpoints.into_iter();
    heard(
        partition.error_code,
        partition.leader_id,
        partition.leader_epoch,
        body,
        nodes.map(|node| (node.node_id, node.host, Some(node.port))),
    )
}
