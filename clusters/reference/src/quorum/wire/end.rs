//! EndQuorumEpoch (54): a leader resigns, and names its successors in the order in which they are to stand.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{
    BrokerId, EndQuorumEpochRequest, EndQuorumEpochResponse, end_quorum_epoch_request,
    end_quorum_epoch_response,
};
use raft::{Body, ReadRange, Response};
use uuid::Uuid;

use super::{Located, Own, Read, Refused, broker, directory, error_of, heard, node, only, text};

/// The version in which this node asks.
pub const VERSION: i16 = 1;

/// A request to send.
pub fn request(own: &Own, ask: &raft::EndQuorumEpoch) -> EndQuorumEpochRequest {
    let candidate = |key: &raft::ReplicaKey| {
        end_quorum_epoch_request::ReplicaInfo::default()
            .with_candidate_id(BrokerId(key.id.0))
            .with_candidate_directory_id(directory(*key))
    };
    let partition = end_quorum_epoch_request::PartitionData::default()
        .with_leader_id(BrokerId(ask.leader.0))
        .with_leader_epoch(ask.epoch)
        .with_preferred_candidates(ask.preferred_successors.iter().map(candidate).collect());
    let topic = end_quorum_epoch_request::TopicData::default()
        .with_topic_name(super::topic_name())
        .with_partitions(vec![partition]);
    let endpoint = end_quorum_epoch_request::LeaderEndpoint::default()
        .with_name(text(&own.listener))
        .with_host(text(&own.place.host))
        .with_port(own.place.port);
    EndQuorumEpochRequest::default()
        .with_cluster_id(own.cluster())
        .with_topics(vec![topic])
        .with_leader_endpoints(vec![endpoint])
}

/// A request that arrived, and where the leader says it is. Version 0 names successors by their ids alone.
pub fn read_request(
    own: &Own,
    request: EndQuorumEpochRequest,
) -> Result<(raft::EndQuorumEpoch, Option<Located>), Refused> {
    own.check_cluster(request.cluster_id.as_ref())?;
    let partition = only(
        request.topics,
        |topic| &topic.topic_name,
        |topic| topic.partitions,
    )?;
    let candidates = partition.preferred_candidates.iter();
    let candidates = candidates.map(|info| (info.candidate_id, info.candidate_directory_id));
    let successors = partition.preferred_successors.iter();
    let successors = successors.map(|id| (BrokerId(*id), Uuid::nil()));
    let listeners = request.leader_endpoints.into_iter();
    let listeners = listeners.map(|endpoint| (endpoint.name, endpoint.host, endpoint.port));
    let ask = raft::EndQuorumEpoch {
        epoch: partition.leader_epoch,
        leader: node(partition.leader_id).ok_or(ResponseError::InvalidRequest)?,
        preferred_successors: candidates
            .chain(successors)
            .filter_map(|(id, directory)| own.key(id, directory))
            .collect(),
    };
    Ok((ask, own.located(partition.leader_id, listeners)))
}

/// The answer.
pub fn answer(response: &Response<ReadRange>, leader: Option<&Located>) -> EndQuorumEpochResponse {
    let partition = end_quorum_epoch_response::PartitionData::default()
        .with_error_code(error_of(&response.body))
        .with_leader_id(broker(response.leader))
        .with_leader_epoch(response.epoch);
    let topic = end_quorum_epoch_response::TopicData::default()
        .with_topic_name(super::topic_name())
        .with_partitions(vec![partition]);
    let endpoint = |at: &Located| {
        end_quorum_epoch_response::NodeEndpoint::default()
            .with_node_id(BrokerId(at.id))
            .with_host(text(&at.host))
            .with_port(at.port)
    };
    EndQuorumEpochResponse::default()
        .with_topics(vec![topic])
        .with_node_endpoints(leader.map(endpoint).into_iter().collect())
}

/// The answer to a request that never reached the machine.
pub fn refused(error: Refused) -> EndQuorumEpochResponse {
    EndQuorumEpochResponse::default().with_error_code(error.code())
}

/// Reads an answer.
pub fn read_answer(answer: EndQuorumEpochResponse) -> Read {
    let partition = answer.topics.into_iter().next()?.partitions.into_iter().next()?;
    let nodes = answer.node_endpoints.into_iter();
    heard(
        partition.error_code,
        partition.leader_id,
        partition.leader_epoch,
        Body::EndQuorumEpoch,
        nodes.map(|node| (node.node_id, node.host, Some(node.port))),
    )
}
