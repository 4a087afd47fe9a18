//! What members of the quorum say to each other, as Kafka's messages.

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::error::ParseResponseErrorCode;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ReplicaState};
use kafka_protocol::messages::fetch_response::{
    EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, PartitionData,
};
use kafka_protocol::messages::{
    BeginQuorumEpochRequest, BeginQuorumEpochResponse, BrokerId, EndQuorumEpochRequest,
    EndQuorumEpochResponse, FetchRequest, FetchResponse, TopicName, VoteRequest, VoteResponse,
    begin_quorum_epoch_request, begin_quorum_epoch_response, end_quorum_epoch_request,
    end_quorum_epoch_response, vote_request, vote_response,
};
use kafka_protocol::protocol::StrBytes;
use raft::{Batch, Body, EpochEnd, FetchAnswer, Fetched, NodeId, ReadRange, Refusal, ReplicaKey, Response};
use storage::BatchHeader;
use uuid::Uuid;

/// The metadata log's topic.
pub const METADATA_TOPIC: &str = "__cluster_metadata";
/// Its id, the same in every cluster.
pub const METADATA_TOPIC_ID: Uuid = Uuid::from_u128(1);
/// Bytes of records that one answer may hold.
pub const MAX_FETCH_BYTES: i32 = 1 << 20;

/// The versions in which this node asks.
pub const VOTE_VERSION: i16 = 2;
/// See [`VOTE_VERSION`].
pub const BEGIN_QUORUM_EPOCH_VERSION: i16 = 1;
/// See [`VOTE_VERSION`].
pub const END_QUORUM_EPOCH_VERSION: i16 = 1;
/// The version in which a fetch tells the high watermark that is known.
pub const FETCH_VERSION: i16 = 18;
/// The first version in which a fetch tells the replica's state.
const FETCH_WITH_REPLICA_STATE: i16 = 15;
/// A fetcher that does not want to be told of the high watermark at once.
const HIGH_WATERMARK_UNSUPPORTED: i64 = i64::MAX;

/// Who asks.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The cluster.
    pub cluster_id: String,
    /// The node.
    pub node_id: i32,
    /// Its directory.
    pub directory_id: Uuid,
}

impl Identity {
    fn cluster(&self) -> Option<StrBytes> {
        Some(StrBytes::from_string(self.cluster_id.clone()))
    }
}

/// The topic's name, as the protocol has it.
pub fn topic_name() -> TopicName {
    TopicName(StrBytes::from_static_str(METADATA_TOPIC))
}

fn broker(id: Option<NodeId>) -> BrokerId {
    BrokerId(id.map_or(-1, |id| id.0))
}

fn node(id: BrokerId) -> Option<NodeId> {
    (id.0 >= 0).then_some(NodeId(id.0))
}

/// A Vote to send.
pub fn vote(from: &Identity, to: NodeId, ask: &raft::VoteRequest) -> VoteRequest {
    let partition = vote_request::PartitionData::default()
        .with_replica_epoch(ask.epoch)
        .with_replica_id(BrokerId(ask.candidate.id.0))
        .with_replica_directory_id(from.directory_id)
        .with_last_offset_epoch(ask.last_epoch)
        .with_last_offset(ask.last_offset)
        .with_pre_vote(ask.pre_vote);
    let topic = vote_request::TopicData::default()
        .with_topic_name(topic_name())
        .with_partitions(vec![partition]);
    VoteRequest::default()
        .with_cluster_id(from.cluster())
        .with_voter_id(BrokerId(to.0))
        .with_topics(vec![topic])
}

/// A BeginQuorumEpoch to send.
pub fn begin(from: &Identity, to: NodeId, ask: raft::BeginQuorumEpoch) -> BeginQuorumEpochRequest {
    let partition = begin_quorum_epoch_request::PartitionData::default()
        .with_leader_id(BrokerId(ask.leader.0))
        .with_leader_epoch(ask.epoch);
    let topic = begin_quorum_epoch_request::TopicData::default()
        .with_topic_name(topic_name())
        .with_partitions(vec![partition]);
    BeginQuorumEpochRequest::default()
        .with_cluster_id(from.cluster())
        .with_voter_id(BrokerId(to.0))
        .with_topics(vec![topic])
}

/// An EndQuorumEpoch to send.
pub fn end(from: &Identity, ask: &raft::EndQuorumEpoch) -> EndQuorumEpochRequest {
    let candidates = ask
        .preferred_successors
        .iter()
        .map(|key| end_quorum_epoch_request::ReplicaInfo::default().with_candidate_id(BrokerId(key.id.0)));
    let partition = end_quorum_epoch_request::PartitionData::default()
        .with_leader_id(BrokerId(ask.leader.0))
        .with_leader_epoch(ask.epoch)
        .with_preferred_candidates(candidates.collect());
    let topic = end_quorum_epoch_request::TopicData::default()
        .with_topic_name(topic_name())
        .with_partitions(vec![partition]);
    EndQuorumEpochRequest::default()
        .with_cluster_id(from.cluster())
        .with_topics(vec![topic])
}

/// A Fetch to send. `broker_epoch` is that of an observer that is a registered broker.
pub fn fetch(from: &Identity, broker_epoch: i64, ask: &raft::FetchRequest) -> FetchRequest {
    let partition = FetchPartition::default()
        .with_current_leader_epoch(ask.epoch.unwrap_or(-1))
        .with_fetch_offset(ask.fetch_offset)
        .with_last_fetched_epoch(ask.last_fetched_epoch.unwrap_or(-1))
        .with_partition_max_bytes(MAX_FETCH_BYTES)
        .with_replica_directory_id(from.directory_id)
        .with_high_watermark(ask.high_watermark.unwrap_or(-1));
    let topic = FetchTopic::default()
        .with_topic_id(METADATA_TOPIC_ID)
        .with_partitions(vec![partition]);
    let state = ReplicaState::default()
        .with_replica_id(broker(ask.replica.map(|key| key.id)))
        .with_replica_epoch(broker_epoch);
    FetchRequest::default()
        .with_cluster_id(from.cluster())
        .with_replica_state(state)
        .with_max_wait_ms(i32::try_from(ask.max_wait / NANOS_PER_MS).unwrap_or(i32::MAX))
        .with_max_bytes(MAX_FETCH_BYTES)
        .with_session_epoch(-1)
        .with_topics(vec![topic])
}

const NANOS_PER_MS: u64 = 1_000_000;

/// Why a request of a peer never reaches the machine.
pub type Refused = ResponseError;

fn check_cluster(own: &Identity, named: Option<&StrBytes>) -> Result<(), Refused> {
    match named {
        Some(id) if id.as_str() != own.cluster_id => Err(ResponseError::InconsistentClusterId),
        _ => Ok(()),
    }
}

/// The only partition of the only topic, if the request is about the metadata log.
fn only<T, P>(
    topics: Vec<T>,
    name: impl Fn(&T) -> &TopicName,
    partitions: impl Fn(T) -> Vec<P>,
) -> Result<P, Refused> {
    let mut topics = topics.into_iter();
    match (topics.next(), topics.next()) {
        (Some(topic), None) if name(&topic).as_str() == METADATA_TOPIC => {
            let mut partitions = partitions(topic).into_iter();
            match (partitions.next(), partitions.next()) {
                (Some(partition), None) => Ok(partition),
                _ => Err(ResponseError::InvalidRequest),
            }
        }
        _ => Err(ResponseError::UnknownTopicOrPartition),
    }
}

/// A Vote that arrived.
pub fn read_vote(own: &Identity, request: VoteRequest) -> Result<raft::VoteRequest, Refused> {
    check_cluster(own, request.cluster_id.as_ref())?;
    check_voter(own, request.voter_id)?;
    let partition = only(
        request.topics,
        |topic| &topic.topic_name,
        |topic| topic.partitions,
    )?;
    Ok(raft::VoteRequest {
        pre_vote: partition.pre_vote,
        epoch: partition.replica_epoch,
        candidate: node(partition.replica_id)
            .map(ReplicaKey::of)
            .ok_or(ResponseError::InvalidRequest)?,
        last_epoch: partition.last_offset_epoch,
        last_offset: partition.last_offset,
    })
}

/// A BeginQuorumEpoch that arrived.
pub fn read_begin(
    own: &Identity,
    request: BeginQuorumEpochRequest,
) -> Result<raft::BeginQuorumEpoch, Refused> {
    check_cluster(own, request.cluster_id.as_ref())?;
    check_voter(own, request.voter_id)?;
    let partition = only(
        request.topics,
        |topic| &topic.topic_name,
        |topic| topic.partitions,
    )?;
    Ok(raft::BeginQuorumEpoch {
        epoch: partition.leader_epoch,
        leader: node(partition.leader_id).ok_or(ResponseError::InvalidRequest)?,
    })
}

/// An EndQuorumEpoch that arrived. Version 0 names successors by their ids alone.
pub fn read_end(own: &Identity, request: EndQuorumEpochRequest) -> Result<raft::EndQuorumEpoch, Refused> {
    check_cluster(own, request.cluster_id.as_ref())?;
    let partition = only(
        request.topics,
        |topic| &topic.topic_name,
        |topic| topic.partitions,
    )?;
    let candidates = partition
        .preferred_candidates
        .iter()
        .map(|info| info.candidate_id.0);
    let successors = partition.preferred_successors.iter().copied();
    Ok(raft::EndQuorumEpoch {
        epoch: partition.leader_epoch,
        leader: node(partition.leader_id).ok_or(ResponseError::InvalidRequest)?,
        preferred_successors: candidates
            .chain(successors)
            .map(|id| ReplicaKey::of(NodeId(id)))
            .collect(),
    })
}

/// A request that names no voter (version 0), or this one.
fn check_voter(own: &Identity, named: BrokerId) -> Result<(), Refused> {
    if named.0 < 0 || named.0 == own.node_id {
        Ok(())
    } else {
        Err(ResponseError::InvalidVoterKey)
    }
}

/// A Fetch that arrived, and how many bytes it wants.
pub fn read_fetch(
    own: &Identity,
    request: FetchRequest,
    version: i16,
) -> Result<(raft::FetchRequest, usize), Refused> {
    check_cluster(own, request.cluster_id.as_ref())?;
    let (max_wait_ms, max_bytes) = (request.max_wait_ms, request.max_bytes);
    let replica = if version >= FETCH_WITH_REPLICA_STATE {
        request.replica_state.replica_id
    } else {
        request.replica_id
    };
    let mut topics = request.topics.into_iter();
    let (Some(topic), None) = (topics.next(), topics.next()) else {
        return Err(ResponseError::InvalidRequest);
    };
    let by_id = version >= 13;
    if by_id && topic.topic_id != METADATA_TOPIC_ID {
        return Err(ResponseError::UnknownTopicId);
    }
    if !by_id && topic.topic.as_str() != METADATA_TOPIC {
        return Err(ResponseError::UnknownTopicOrPartition);
    }
    let mut partitions = topic.partitions.into_iter();
    let (Some(partition), None) = (partitions.next(), partitions.next()) else {
        return Err(ResponseError::InvalidRequest);
    };
    if partition.partition != 0 {
        return Err(ResponseError::UnknownTopicOrPartition);
    }
    let high_watermark = if version >= FETCH_VERSION {
        partition.high_watermark
    } else {
        HIGH_WATERMARK_UNSUPPORTED
    };
    let ask = raft::FetchRequest {
        replica: node(replica).map(ReplicaKey::of),
        epoch: known(partition.current_leader_epoch),
        fetch_offset: partition.fetch_offset,
        last_fetched_epoch: known(partition.last_fetched_epoch),
        high_watermark: (high_watermark >= 0).then_some(high_watermark),
        max_wait: u64::try_from(max_wait_ms).unwrap_or(0) * NANOS_PER_MS,
    };
    let bytes = max_bytes
        .min(partition.partition_max_bytes)
        .clamp(0, MAX_FETCH_BYTES);
    Ok((ask, usize::try_from(bytes).unwrap_or(0)))
}

fn known(epoch: i32) -> Option<i32> {
    (epoch >= 0).then_some(epoch)
}

fn refusal_code(refusal: Refusal) -> i16 {
    match refusal {
        Refusal::FencedLeaderEpoch => ResponseError::FencedLeaderEpoch,
        Refusal::UnknownLeaderEpoch => ResponseError::UnknownLeaderEpoch,
        Refusal::NotLeaderOrFollower => ResponseError::NotLeaderOrFollower,
        Refusal::InvalidRequest => ResponseError::InvalidRequest,
        Refusal::InconsistentVoterSet => ResponseError::InconsistentVoterSet,
        Refusal::OffsetOutOfRange => ResponseError::OffsetOutOfRange,
        Refusal::SnapshotNotFound => ResponseError::SnapshotNotFound,
        Refusal::PositionOutOfRange => ResponseError::PositionOutOfRange,
        Refusal::DuplicateVoter => ResponseError::DuplicateVoter,
        Refusal::VoterNotFound => ResponseError::VoterNotFound,
        Refusal::RequestTimedOut => ResponseError::RequestTimedOut,
        Refusal::UnsupportedVersion => ResponseError::UnsupportedVersion,
    }
    .code()
}

/// What an error of a peer means to the machine; none where it means no more than a failed call.
fn refusal(code: i16) -> Option<Refusal> {
    match code.err()? {
        ResponseError::FencedLeaderEpoch => Some(Refusal::FencedLeaderEpoch),
        ResponseError::UnknownLeaderEpoch => Some(Refusal::UnknownLeaderEpoch),
        ResponseError::NotLeaderOrFollower => Some(Refusal::NotLeaderOrFollower),
        ResponseError::InvalidRequest => Some(Refusal::InvalidRequest),
        ResponseError::InconsistentVoterSet => Some(Refusal::InconsistentVoterSet),
        ResponseError::OffsetOutOfRange => Some(Refusal::OffsetOutOfRange),
        ResponseError::SnapshotNotFound => Some(Refusal::SnapshotNotFound),
        ResponseError::PositionOutOfRange => Some(Refusal::PositionOutOfRange),
        _ => None,
    }
}

fn error_of<R>(body: &Body<R>) -> i16 {
    match body {
        Body::Refused(refusal) => refusal_code(*refusal),
        _ => 0,
    }
}

/// The answer to a Vote.
pub fn vote_answer(response: &Response<ReadRange>) -> VoteResponse {
    let partition = vote_response::PartitionData::default()
        .with_error_code(error_of(&response.body))
        .with_leader_id(broker(response.leader))
        .with_leader_epoch(response.epoch)
        .with_vote_granted(matches!(response.body, Body::Vote { granted: true }));
    let topic = vote_response::TopicData::default()
        .with_topic_name(topic_name())
        .with_partitions(vec![partition]);
    VoteResponse::default().with_topics(vec![topic])
}

/// The answer to a BeginQuorumEpoch.
pub fn begin_answer(response: &Response<ReadRange>) -> BeginQuorumEpochResponse {
    let partition = begin_quorum_epoch_response::PartitionData::default()
        .with_error_code(error_of(&response.body))
        .with_leader_id(broker(response.leader))
        .with_leader_epoch(response.epoch);
    let topic = begin_quorum_epoch_response::TopicData::default()
        .with_topic_name(topic_name())
        .with_partitions(vec![partition]);
    BeginQuorumEpochResponse::default().with_topics(vec![topic])
}

/// The answer to an EndQuorumEpoch.
pub fn end_answer(response: &Response<ReadRange>) -> EndQuorumEpochResponse {
    let partition = end_quorum_epoch_response::PartitionData::default()
        .with_error_code(error_of(&response.body))
        .with_leader_id(broker(response.leader))
        .with_leader_epoch(response.epoch);
    let topic = end_quorum_epoch_response::TopicData::default()
        .with_topic_name(topic_name())
        .with_partitions(vec![partition]);
    EndQuorumEpochResponse::default().with_topics(vec![topic])
}

/// The answer to a Fetch, with the records that were read for it.
pub fn fetch_answer(response: &Response<ReadRange>, records: Bytes) -> FetchResponse {
    let mut data = PartitionData::default()
        .with_error_code(error_of(&response.body))
        .with_high_watermark(-1)
        .with_current_leader(
            LeaderIdAndEpoch::default()
                .with_leader_id(broker(response.leader))
                .with_leader_epoch(response.epoch),
        )
        .with_records(Some(records));
    if let Body::Fetch(answer) = &response.body {
        data.high_watermark = answer.high_watermark.unwrap_or(-1);
        data.last_stable_offset = data.high_watermark;
        if let Fetched::Diverging(end) = &answer.fetched {
            data.diverging_epoch = EpochEndOffset::default()
                .with_epoch(end.epoch)
                .with_end_offset(end.end_offset);
        }
    }
    fetch_response(data)
}

/// The answer to a Fetch that never reached the machine.
pub fn fetch_refused(error: ResponseError) -> FetchResponse {
    if error == ResponseError::InconsistentClusterId {
        return FetchResponse::default().with_error_code(error.code());
    }
    fetch_response(
        PartitionData::default()
            .with_error_code(error.code())
            .with_high_watermark(-1)
            .with_records(Some(Bytes::new())),
    )
}

fn fetch_response(data: PartitionData) -> FetchResponse {
    let topic = FetchableTopicResponse::default()
        .with_topic(topic_name())
        .with_topic_id(METADATA_TOPIC_ID)
        .with_partitions(vec![data]);
    FetchResponse::default().with_responses(vec![topic])
}

/// An answer of a peer; none where it is no better than a failed call.
pub type Read = Option<Response<Vec<Batch>>>;

fn response(error: i16, leader: BrokerId, epoch: i32, body: Body<Vec<Batch>>) -> Read {
    let body = match error {
        0 => body,
        code => Body::Refused(refusal(code)?),
    };
    Some(Response {
        epoch,
        leader: node(leader),
        body,
    })
}

/// Reads the answer to a Vote.
pub fn read_vote_answer(answer: VoteResponse) -> Read {
    let partition = answer.topics.into_iter().next()?.partitions.into_iter().next()?;
    let body = Body::Vote {
        granted: partition.vote_granted,
    };
    response(
        partition.error_code,
        partition.leader_id,
        partition.leader_epoch,
        body,
    )
}

/// Reads the answer to a BeginQuorumEpoch.
pub fn read_begin_answer(answer: BeginQuorumEpochResponse) -> Read {
    let partition = answer.topics.into_iter().next()?.partitions.into_iter().next()?;
    response(
        partition.error_code,
        partition.leader_id,
        partition.leader_epoch,
        Body::BeginQuorumEpoch,
    )
}

/// Reads the answer to an EndQuorumEpoch.
pub fn read_end_answer(answer: EndQuorumEpochResponse) -> Read {
    let partition = answer.topics.into_iter().next()?.partitions.into_iter().next()?;
    response(
        partition.error_code,
        partition.leader_id,
        partition.leader_epoch,
        Body::EndQuorumEpoch,
    )
}

/// Reads the answer to a Fetch: what the machine wants to know, and the records.
pub fn read_fetch_answer(answer: FetchResponse) -> (Read, Bytes) {
    let data = Some(answer)
        .filter(|answer| answer.error_code == 0)
        .and_then(|answer| answer.responses.into_iter().next())
        .and_then(|topic| topic.partitions.into_iter().next());
    let Some(data) = data else {
        return (None, Bytes::new());
    };
    let records = data.records.unwrap_or_default();
    let fetched = if data.diverging_epoch.epoch >= 0 {
        Fetched::Diverging(EpochEnd {
            epoch: data.diverging_epoch.epoch,
            end_offset: data.diverging_epoch.end_offset,
        })
    } else {
        Fetched::Records(batches(&records).iter().map(batch).collect())
    };
    let body = Body::Fetch(FetchAnswer {
        high_watermark: (data.high_watermark >= 0).then_some(data.high_watermark),
        fetched,
    });
    let leader = &data.current_leader;
    (
        response(data.error_code, leader.leader_id, leader.leader_epoch, body),
        records,
    )
}

fn batch(header: &BatchHeader) -> Batch {
    Batch {
        base_offset: header.base_offset,
        end_offset: header.next_offset(),
        epoch: header.leader_epoch,
        voters: None,
    }
}

/// The headers of the whole, undamaged batches that records begin with.
pub fn batches(records: &[u8]) -> Vec<BatchHeader> {
    storage::Batches::new(records)
        .map_while(Result::ok)
        .map(|(header, _)| header)
        .collect()
}
