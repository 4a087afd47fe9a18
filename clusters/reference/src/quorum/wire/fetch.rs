//! Fetch (1) of the metadata log.

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ReplicaState};
use kafka_protocol::messages::fetch_response::{
    EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint, PartitionData, SnapshotId,
};
use kafka_protocol::messages::{BrokerId, FetchRequest, FetchResponse};
use raft::{Batch, Body, EpochEnd, FetchAnswer, Fetched, ReadRange, Response};
use storage::BatchHeader;
use uuid::Uuid;

use super::{
    Heard, Located, MAX_FETCH_BYTES, METADATA_TOPIC, METADATA_TOPIC_ID, NANOS_PER_MS, Own, Read, Refused,
    broker, error_of, heard, known, text,
};
use crate::quorum::control;

/// The version in which this node asks: the first in which a fetch tells the high watermark that is known.
pub const VERSION: i16 = 18;
/// The first version in which a fetch tells the replica's state.
const FIRST_WITH_REPLICA_STATE: i16 = 15;
/// The first version that names topics by their ids.
const FIRST_WITH_TOPIC_IDS: i16 = 13;
/// A fetcher that does not want to be told of the high watermark at once.
const HIGH_WATERMARK_UNSUPPORTED: i64 = i64::MAX;

/// A request to send. `broker_epoch` is that of an observer that is a registered broker.
pub fn request(own: &Own, broker_epoch: i64, ask: &raft::FetchRequest) -> FetchRequest {
    let partition = FetchPartition::default()
        .with_current_leader_epoch(ask.epoch.unwrap_or(-1))
        .with_fetch_offset(ask.fetch_offset)
        .with_last_fetched_epoch(ask.last_fetched_epoch.unwrap_or(-1))
        .with_partition_max_bytes(MAX_FETCH_BYTES)
        .with_replica_directory_id(own.directory_id)
        .with_high_watermark(ask.high_watermark.unwrap_or(-1));
    let topic = FetchTopic::default()
        .with_topic_id(METADATA_TOPIC_ID)
        .with_partitions(vec![partition]);
    let state = ReplicaState::default()
        .with_replica_id(broker(ask.replica.map(|key| key.id)))
        .with_replica_epoch(broker_epoch);
    FetchRequest::default()
        .with_cluster_id(own.cluster())
        .with_replica_state(state)
        .with_max_wait_ms(i32::try_from(ask.max_wait / NANOS_PER_MS).unwrap_or(i32::MAX))
        .with_max_bytes(MAX_FETCH_BYTES)
        .with_session_epoch(-1)
        .with_topics(vec![topic])
}

/// A request that arrived, and how many bytes it wants.
pub fn read_request(
    own: &Own,
    request: FetchRequest,
    version: i16,
) -> Result<(raft::FetchRequest, usize), Refused> {
    own.check_cluster(request.cluster_id.as_ref())?;
    let (max_wait_ms, max_bytes) = (request.max_wait_ms, request.max_bytes);
    let replica = if version >= FIRST_WITH_REPLICA_STATE {
        request.replica_state.replica_id
    } else {
        request.replica_id
    };
    let mut topics = request.topics.into_iter();
    let (Some(topic), None) = (topics.next(), topics.next()) else {
        return Err(ResponseError::InvalidRequest);
    };
    let by_id = version >= FIRST_WITH_TOPIC_IDS;
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
    let high_watermark = if version >= VERSION {
        partition.high_watermark
    } else {
        HIGH_WATERMARK_UNSUPPORTED
    };
    let ask = raft::FetchRequest {
        replica: own.key(replica, partition.replica_directory_id),
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

/// The answer, with the records that were read for it.
pub fn answer(response: &Response<ReadRange>, records: Bytes, leader: Option<&Located>) -> FetchResponse {
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
        match &answer.fetched {
            Fetched::Diverging(end) => {
                data.diverging_epoch = EpochEndOffset::default()
                    .with_epoch(end.epoch)
                    .with_end_offset(end.end_offset);
            }
            Fetched::Snapshot(id) => {
                data.snapshot_id = SnapshotId::default()
                    .with_end_offset(id.end_offset)
                    .with_epoch(id.epoch);
            }
            Fetched::Records(_) => {}
        }
    }
    let endpoint = |at: &Located| {
        NodeEndpoint::default()
            .with_node_id(BrokerId(at.id))
            .with_host(text(&at.host))
            .with_port(i32::from(at.port))
    };
    of_partition(data).with_node_endpoints(leader.map(endpoint).into_iter().collect())
}

/// The answer to a request that never reached the machine.
pub fn refused(error: Refused) -> FetchResponse {
    if error == ResponseError::InconsistentClusterId {
        return FetchResponse::default().with_error_code(error.code());
    }
    of_partition(
        PartitionData::default()
            .with_error_code(error.code())
            .with_high_watermark(-1)
            .with_records(Some(Bytes::new())),
    )
}

fn of_partition(data: PartitionData) -> FetchResponse {
    let topic = FetchableTopicResponse::default()
        .with_topic(super::topic_name())
        .with_topic_id(METADATA_TOPIC_ID)
        .with_partitions(vec![data]);
    FetchResponse::default().with_responses(vec![topic])
}

/// The folder that a request is from; nil where it does not say.
pub fn folder_of(request: &FetchRequest) -> Uuid {
    let partition = request.topics.first().and_then(|topic| topic.partitions.first());
    partition.map_or(Uuid::nil(), |partition| partition.replica_directory_id)
}

/// Whether an answer says that another folder has the asking node's id.
pub fn knows_a_twin(answer: &FetchResponse) -> bool {
    let partition = answer
        .responses
        .first()
        .and_then(|topic| topic.partitions.first());
    partition.is_some_and(|partition| partition.error_code == ResponseError::InvalidVoterKey.code())
}

/// Reads an answer: what the machine wants to know, and the records.
pub fn read_answer(answer: FetchResponse) -> Read {
    if answer.error_code != 0 {
        return None;
    }
    let data = answer
        .responses
        .into_iter()
        .next()?
        .partitions
        .into_iter()
        .next()?;
    let records = data.records.unwrap_or_default();
    let fetched = if data.diverging_epoch.epoch >= 0 {
        Fetched::Diverging(EpochEnd {
            epoch: data.diverging_epoch.epoch,
            end_offset: data.diverging_epoch.end_offset,
        })
    } else if data.snapshot_id.epoch >= 0 && data.snapshot_id.end_offset >= 0 {
        Fetched::Snapshot(raft::SnapshotId {
            end_offset: data.snapshot_id.end_offset,
            epoch: data.snapshot_id.epoch,
        })
    } else {
        let batches = whole_batches(&records).map_while(|(header, bytes)| batch(&header, bytes));
        Fetched::Records(batches.collect())
    };
    let body = Body::Fetch(FetchAnswer {
        high_watermark: (data.high_watermark >= 0).then_some(data.high_watermark),
        fetched,
    });
    let nodes = answer.node_endpoints.into_iter();
    let heard = heard(
        data.error_code,
        data.current_leader.leader_id,
        data.current_leader.leader_epoch,
        body,
        nodes.map(|node| (node.node_id, node.host, u16::try_from(node.port).ok())),
    )?;
    Some(Heard {
        bytes: records,
        ..heard
    })
}

/// A batch, as the machine knows it; none where it names voters that cannot be read.
fn batch(header: &BatchHeader, bytes: &[u8]) -> Option<Batch> {
    let voters = if header.attributes.is_control() {
        control::voters_in(bytes)
            .map_err(|why| crate::diary::warning!("a control batch is not taken: {why}"))
            .ok()?
    } else {
        None
    };
    Some(Batch {
        base_offset: header.base_offset,
        end_offset: header.next_offset(),
        epoch: header.leader_epoch,
        voters,
    })
}

/// The whole, undamaged batches that records begin with.
pub fn whole_batches(records: &[u8]) -> impl Iterator<Item = (BatchHeader, &[u8])> {
    storage::Batches::new(records).map_while(Result::ok)
}
