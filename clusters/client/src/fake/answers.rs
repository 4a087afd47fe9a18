//! What a fake answers.

use super::{Log, Reaction, State};
use crate::error_code::ErrorCode;
use crate::ids::TopicId;
use bytes::{BufMut, BytesMut};
use kafka_protocol::messages::api_versions_response::{ApiVersion, FinalizedFeatureKey};
use kafka_protocol::messages::create_topics_response::CreatableTopicResult;
use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
use kafka_protocol::messages::describe_topic_partitions_response as described;
use kafka_protocol::messages::fetch_response::{
    EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint, PartitionData, SnapshotId,
};
use kafka_protocol::messages::list_offsets_response as listed;
use kafka_protocol::messages::metadata_response as metadata;
use kafka_protocol::messages::produce_response as produced;
use kafka_protocol::messages::{
    ApiKey, ApiVersionsResponse, BrokerId, CreateTopicsRequest, CreateTopicsResponse,
    DescribeClusterResponse, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, FetchRequest,
    FetchResponse, ListOffsetsRequest, ListOffsetsResponse, MetadataRequest, MetadataResponse,
    ProduceRequest, ProduceResponse, TopicName,
};
use kafka_protocol::protocol::StrBytes;

const CALLS: &[ApiKey] = &[
    ApiKey::Produce,
    ApiKey::Fetch,
    ApiKey::ListOffsets,
    ApiKey::Metadata,
    ApiKey::ApiVersions,
    ApiKey::CreateTopics,
    ApiKey::DescribeQuorum,
    ApiKey::DescribeCluster,
    ApiKey::DescribeTopicPartitions,
    ApiKey::FetchSnapshot,
    ApiKey::AddRaftVoter,
    ApiKey::RemoveRaftVoter,
];

pub(super) fn text(value: &str) -> StrBytes {
    StrBytes::from_string(value.to_owned())
}

fn ids(nodes: &[i32]) -> Vec<BrokerId> {
    nodes.iter().copied().map(BrokerId).collect()
}

/// The error that a script wants in an answer.
pub(super) fn scripted(reaction: Option<Reaction>) -> Option<i16> {
    match reaction {
        Some(Reaction::Refuse(code) | Reaction::DoThenRefuse(code)) => Some(code),
        _ => None,
    }
}

pub(super) fn api_versions(state: &State) -> ApiVersionsResponse {
    let offered = CALLS.iter().map(|call| {
        let range = call.valid_versions();
        let max = state.at_most.get(&(*call as i16)).copied().unwrap_or(range.max);
        ApiVersion::default()
            .with_api_key(*call as i16)
            .with_min_version(range.min)
            .with_max_version(max)
    });
    let features = state.features.iter().map(|(name, level)| {
        FinalizedFeatureKey::default()
            .with_name(text(name))
            .with_max_version_level(*level)
    });
    ApiVersionsResponse::default()
        .with_api_keys(offered.collect())
        .with_finalized_features(features.collect())
}

/// The log that a name, or where it is set an id, stands for.
fn find<'a>(
    state: &'a State,
    name: &TopicName,
    id: TopicId,
    partition: i32,
) -> Option<((String, i32), &'a Log)> {
    let mut logs = state.logs.iter();
    let (key, log) = logs.find(|((topic, number), log)| {
        *number == partition
            && if id.is_nil() {
                topic == name.as_str()
            } else {
                log.id == id
            }
    })?;
    Some((key.clone(), log))
}

/// What a leader refuses before it looks at anything else.
pub(super) fn not_here(state: &State, log: Option<&Log>, epoch: i32) -> Option<i16> {
    let Some(log) = log else {
        return Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0);
    };
    if log.leader != state.node {
        Some(ErrorCode::NOT_LEADER_OR_FOLLOWER.0)
    } else if epoch >= 0 && epoch < log.leader_epoch {
        Some(ErrorCode::FENCED_LEADER_EPOCH.0)
    } else if epoch > log.leader_epoch {
        Some(ErrorCode::UNKNOWN_LEADER_EPOCH.0)
    } else {
        None
    }
}

pub(super) fn produce(
    state: &mut State,
    request: &ProduceRequest,
    reaction: Option<Reaction>,
) -> ProduceResponse {
    let topics = request.topic_data.iter().map(|topic| {
        let partitions = topic.partition_data.iter().map(|partition| {
            let mut answer = produced::PartitionProduceResponse::default()
                .with_index(partition.index)
                .with_base_offset(-1);
            let found = find(state, &topic.name, topic.topic_id, partition.index);
            let refused = not_here(state, found.as_ref().map(|(_, log)| *log), -1);
            let key = found.map(|(key, _)| key);
            match (refused, key, reaction) {
                (Some(code), _, _) | (None, _, Some(Reaction::Refuse(code))) => answer.error_code = code,
                (None, Some(key), _) => {
                    let batch = partition.records.clone().unwrap_or_default();
                    let offset = state.logs.entry(key).or_default().append(&batch, 1);
                    answer.error_code = scripted(reaction).unwrap_or(0);
                    if answer.error_code == 0 && reaction != Some(Reaction::WithoutOffset) {
                        answer.base_offset = offset;
                    }
                }
                (None, None, _) => {}
            }
            answer
        });
        produced::TopicProduceResponse::default()
            .with_name(topic.name.clone())
            .with_topic_id(topic.topic_id)
            .with_partition_responses(partitions.collect())
    });
    let topics = topics.collect();
    ProduceResponse::default().with_responses(topics)
}

/// The answer to a fetch, and whether it says anything that is worth not waiting.
pub(super) fn fetch(
    state: &State,
    request: &FetchRequest,
    version: i16,
    reaction: Option<Reaction>,
) -> (bool, FetchResponse) {
    let mut ready = false;
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let found = find(state, &topic.topic, topic.topic_id, asked.partition).map(|(_, log)| log);
            let refused = scripted(reaction).or_else(|| not_here(state, found, asked.current_leader_epoch));
            let mut answer = PartitionData::default()
                .with_partition_index(asked.partition)
                .with_high_watermark(-1);
            match (refused, found) {
                (None, Some(log)) => {
                    let known = (version >= 18).then_some(asked.high_watermark);
                    let more = partition(log, asked.fetch_offset, asked.last_fetched_epoch, &mut answer);
                    ready |= more || known.is_some_and(|known| known < log.committed());
                }
                (code, found) => {
                    answer.error_code = code.unwrap_or(0);
                    answer.current_leader = leader(found, version);
                    ready = true;
                }
            }
            answer
        });
        FetchableTopicResponse::default()
            .with_topic(topic.topic.clone())
            .with_topic_id(topic.topic_id)
            .with_partitions(partitions.collect())
    });
    let mut answer = FetchResponse::default().with_responses(topics.collect());
    if version >= 16 && state.voters.contains_key(&state.quorum.0) {
        answer.node_endpoints = endpoint(state).into_iter().collect();
    }
    (ready, answer)
}

/// Where the quorum's leader listens.
fn endpoint(state: &State) -> Option<NodeEndpoint> {
    let (_, address) = state.voters.get(&state.quorum.0)?;
    let node = NodeEndpoint::default()
        .with_node_id(BrokerId(state.quorum.0))
        .with_host(text(&address.ip().to_string()))
        .with_port(address.port().into());
    Some(node)
}

fn leader(log: Option<&Log>, version: i16) -> LeaderIdAndEpoch {
    match log {
        Some(log) if version >= 12 => LeaderIdAndEpoch::default()
            .with_leader_id(BrokerId(log.leader))
            .with_leader_epoch(log.leader_epoch),
        _ => LeaderIdAndEpoch::default(),
    }
}

/// What a metadata log answers to an offset and the epoch before it, in place of records (KIP-595, KIP-630).
fn instead(log: &Log, from: i64, epoch: i32) -> Option<Instead> {
    if let Some((epoch, end_offset)) = log.diverging {
        return Some(Instead::Diverging(epoch, end_offset));
    }
    if !log.is_metadata {
        return None;
    }
    if let Some((end_offset, last)) = log.snapshot {
        let too_early = from < log.start || from == 0 || (from == log.start && epoch != last);
        if log.insists || too_early {
            return Some(Instead::Snapshot(end_offset, last));
        }
        if from == log.start {
            return None;
        }
    }
    let (greatest, end) = log.end_of(epoch);
    (from > 0 && (greatest, from.max(end)) != (epoch, end)).then_some(Instead::Diverging(greatest, end))
}

enum Instead {
    Diverging(i32, i64),
    Snapshot(i64, i32),
}

/// Fills in what a log has from an offset on; true where that is something.
fn partition(log: &Log, from: i64, epoch: i32, answer: &mut PartitionData) -> bool {
    answer.high_watermark = log.committed();
    answer.log_start_offset = log.start;
    match instead(log, from, epoch) {
        Some(Instead::Diverging(epoch, end_offset)) => {
            answer.diverging_epoch = EpochEndOffset::default()
                .with_epoch(epoch)
                .with_end_offset(end_offset);
            return true;
        }
        Some(Instead::Snapshot(end_offset, epoch)) => {
            answer.snapshot_id = SnapshotId::default()
                .with_end_offset(end_offset)
                .with_epoch(epoch);
            return true;
        }
        None => {}
    }
    if from < log.start || from > log.end() {
        answer.error_code = ErrorCode::OFFSET_OUT_OF_RANGE.0;
        return true;
    }
    let shown = if log.is_metadata {
        log.end()
    } else {
        log.committed()
    };
    let mut records = BytesMut::new();
    for (_, _, batch) in log
        .batches
        .iter()
        .filter(|(_, end, _)| from < *end && *end <= shown)
    {
        records.put_slice(batch);
    }
    let more = !records.is_empty();
    answer.records = Some(records.freeze());
    more
}

pub(super) fn list_offsets(
    state: &State,
    request: &ListOffsetsRequest,
    reaction: Option<Reaction>,
) -> ListOffsetsResponse {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let found = find(state, &topic.name, TopicId::nil(), asked.partition_index).map(|(_, log)| log);
            let refused = scripted(reaction).or_else(|| not_here(state, found, asked.current_leader_epoch));
            let offset = match (found, asked.timestamp) {
                (Some(log), -2) => log.start,
                (Some(log), _) => log.committed(),
                (None, _) => -1,
            };
            listed::ListOffsetsPartitionResponse::default()
                .with_partition_index(asked.partition_index)
                .with_error_code(refused.unwrap_or(0))
                .with_offset(if refused.is_some() { -1 } else { offset })
        });
        listed::ListOffsetsTopicResponse::default()
            .with_name(topic.name.clone())
            .with_partitions(partitions.collect())
    });
    ListOffsetsResponse::default().with_topics(topics.collect())
}

pub(super) fn metadata(state: &State, request: &MetadataRequest) -> MetadataResponse {
    let brokers = state.brokers.iter().map(|(node, address)| {
        metadata::MetadataResponseBroker::default()
            .with_node_id(BrokerId(*node))
            .with_host(text(&address.ip().to_string()))
            .with_port(address.port().into())
    });
    let names = request
        .topics
        .iter()
        .flatten()
        .filter_map(|topic| topic.name.clone());
    let topics = names.map(|name| {
        let logs: Vec<_> = state
            .logs
            .iter()
            .filter(|((topic, _), _)| *topic == name.as_str())
            .collect();
        let partitions = logs.iter().map(|((_, partition), log)| {
            metadata::MetadataResponsePartition::default()
                .with_partition_index(*partition)
                .with_leader_id(BrokerId(log.leader))
                .with_leader_epoch(log.leader_epoch)
                .with_replica_nodes(ids(&log.isr))
                .with_isr_nodes(ids(&log.isr))
        });
        let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0;
        metadata::MetadataResponseTopic::default()
            .with_error_code(if logs.is_empty() { unknown } else { 0 })
            .with_topic_id(logs.first().map_or(TopicId::nil(), |(_, log)| log.id))
            .with_partitions(partitions.collect())
            .with_name(Some(name))
    });
    MetadataResponse::default()
        .with_brokers(brokers.collect())
        .with_topics(topics.collect())
}

pub(super) fn describe_topic_partitions(
    state: &State,
    request: &DescribeTopicPartitionsRequest,
) -> DescribeTopicPartitionsResponse {
    // One partition a page, so that paging is walked through.
    let next = request.cursor.as_ref().map_or(0, |cursor| cursor.partition_index);
    let topics = request.topics.iter().map(|asked| {
        let log = state.logs.get(&(asked.name.to_string(), next));
        let partition = log.map(|log| {
            described::DescribeTopicPartitionsResponsePartition::default()
                .with_partition_index(next)
                .with_leader_id(BrokerId(log.leader))
                .with_leader_epoch(log.leader_epoch)
                .with_isr_nodes(ids(&log.isr))
                .with_eligible_leader_replicas(Some(Vec::new()))
        });
        described::DescribeTopicPartitionsResponseTopic::default()
            .with_name(Some(asked.name.clone()))
            .with_topic_id(log.map_or(TopicId::nil(), |log| log.id))
            .with_partitions(partition.into_iter().collect())
    });
    let further = request
        .topics
        .first()
        .filter(|asked| state.logs.contains_key(&(asked.name.to_string(), next + 1)));
    let cursor = further.map(|asked| {
        described::Cursor::default()
            .with_topic_name(asked.name.clone())
            .with_partition_index(next + 1)
    });
    DescribeTopicPartitionsResponse::default()
        .with_topics(topics.collect())
        .with_next_cursor(cursor)
}

pub(super) fn describe_cluster(state: &State) -> DescribeClusterResponse {
    let brokers = state.brokers.iter().map(|(node, address)| {
        DescribeClusterBroker::default()
            .with_broker_id(BrokerId(*node))
            .with_host(text(&address.ip().to_string()))
            .with_port(address.port().into())
    });
    DescribeClusterResponse::default()
        .with_cluster_id(text("fake"))
        .with_controller_id(BrokerId(state.quorum.0))
        .with_brokers(brokers.collect())
}

pub(super) fn create_topics(
    state: &mut State,
    request: &CreateTopicsRequest,
    reaction: Option<Reaction>,
) -> CreateTopicsResponse {
    let topics = request.topics.iter().map(|topic| {
        let mut answer = CreatableTopicResult::default().with_name(topic.name.clone());
        if let Some(code) = scripted(reaction) {
            return answer
                .with_error_code(code)
                .with_error_message(Some(text("as scripted")));
        }
        let id = TopicId::from_u128(1000 + state.logs.len() as u128);
        let partitions = topic.num_partitions.max(topic.assignments.len() as i32);
        for partition in 0..partitions {
            let replicas = topic
                .assignments
                .iter()
                .find(|assigned| assigned.partition_index == partition);
            let isr: Vec<i32> = replicas.map_or(vec![state.node], |assigned| {
                assigned.broker_ids.iter().map(|id| id.0).collect()
            });
            let log = state.log(topic.name.as_str(), partition);
            (log.id, log.leader) = (id, isr.first().copied().unwrap_or(-1));
            log.isr = isr;
        }
        answer.topic_id = id;
        answer
    });
    let topics = topics.collect();
    CreateTopicsResponse::default().with_topics(topics)
}
