//! BeginQuorumEpoch (53): a leader announces itself, and from version 1 on says where it is.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{
    BeginQuorumEpochRequest, BeginQuorumEpochResponse, BrokerId, begin_quorum_epoch_request,
    begin_quorum_epoch_response,
};
use raft::{Body, ReadRange, ReplicaKey, Response};

use super::{
    Located, Own, Read, Refused, broker, directory, error_of, heard, is_of_partition, node, only, text,
};

/// The version in which this node asks.
pub const VERSION: i16 = 1;

/// A request to send.
pub fn request(own: &Own, to: ReplicaKey, ask: raft::BeginQuorumEpoch) -> BeginQuorumEpochRequest {
    let partition = begin_quorum_epoch_request::PartitionData::default()
        .with_voter_directory_id(directory(to))
        .with_leader_id(BrokerId(ask.leader.0))
        .with_leader_epoch(ask.epoch);
    let topic = begin_quorum_epoch_request::TopicData::default()
        .with_topic_name(super::topic_name())
        .with_partitions(vec![partition]);
    let endpoint = begin_quorum_epoch_request::LeaderEndpoint::default()
        .with_name(text(&own.listener))
        .with_host(text(&own.place.host))
        .with_port(own.place.port);
    BeginQuorumEpochRequest::default()
        .with_cluster_id(own.cluster())
        .with_voter_id(BrokerId(to.id.0))
        .with_topics(vec![topic])
        .with_leader_endpoints(vec![endpoint])
}

/// A request that arrived, and where the leader says it is.
pub fn read_request(
    own: &Own,
    request: BeginQuorumEpochRequest,
) -> Result<(raft::BeginQuorumEpoch, Option<Located>), Refused> {
    own.check_cluster(request.cluster_id.as_ref())?;
    let partition = only(
        request.topics,
        |topic| &topic.topic_name,
        |topic| topic.partitions,
    )?;
    own.check_voter(request.voter_id, partition.voter_directory_id)?;
    let listeners = request.leader_endpoints.into_iter();
    let listeners = listeners.map(|endpoint| (endpoint.name, endpoint.host, endpoint.port));
    let ask = raft::BeginQuorumEpoch {
        epoch: partition.leader_epoch,
        leader: node(partition.leader_id).ok_or(ResponseError::InvalidRequest)?,
    };
    Ok((ask, own.located(partition.leader_id, listeners)))
}

/// The answer.
pub fn answer(response: &Response<ReadRange>, leader: Option<&Located>) -> BeginQuorumEpochResponse {
    telling(response, error_of(&response.body), leader)
}

/// The answer to a request that never reached the machine.
pub fn refused(
    error: Refused,
    standing: &Response<ReadRange>,
    leader: Option<&Located>,
) -> BeginQuorumEpochResponse {
    if is_of_partition(error) {
        telling(standing, error.code(), leader)
    } else {
        BeginQuorumEpochResponse::default().with_error_code(error.code())
    }
}

fn telling(standing: &Response<ReadRange>, error: i16, leader: Option<&Located>) -> BeginQuorumEpochResponse {
    let partition = begin_quorum_epoch_response::PartitionData::default()
        .with_error_code(error)
        .with_leader_id(broker(standing.leader))
        .with_leader_epoch(standing.epoch);
    let topic = begin_quorum_epoch_response::TopicData::default()
        .with_topic_name(super::topic_name())
        .with_partitions(vec![partition]);
    let endpoint = |at: &Located| {
        begin_quorum_epoch_response::NodeEndpoint::default()
            .with_node_id(BrokerId(at.id))
            .with_host(text(&at.host))
            .with_port(at.port)
    };
    BeginQuorumEpochResponse::default()
        .with_topics(vec![topic])
        .with_node_endpoints(leader.map(endpoint).into_iter().collect())
}

/// Reads an answer.
pub fn read_answer(answer: BeginQuorumEpochResponse) -> Read {
    let partition = answer.topics.into_iter().next()?.partitions.into_iter().next()?;
    let nodes = answer.node_endpoints.into_iter();
    heard(
        partition.error_code,
        partition.leader_id,
        partition.leader_epoch,
        Body::BeginQuorumEpoch,
        nodes.map(|node| (node.node_id, node.host, Some(node.port))),
    )
}
