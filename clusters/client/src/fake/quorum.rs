//! What a fake answers about the quorum of the metadata log.

use super::answers::{not_here, scripted, text};
use super::{Log, Reaction, State};
use crate::error_code::ErrorCode;
use crate::observer::METADATA_TOPIC;
use kafka_protocol::messages::describe_quorum_response as quorum;
use kafka_protocol::messages::fetch_snapshot_response::{
    LeaderIdAndEpoch, PartitionSnapshot, SnapshotId, TopicSnapshot,
};
use kafka_protocol::messages::{
    AddRaftVoterRequest, AddRaftVoterResponse, BrokerId, DescribeQuorumResponse, FetchSnapshotRequest,
    FetchSnapshotResponse, RemoveRaftVoterRequest, RemoveRaftVoterResponse, TopicName,
};
use std::net::SocketAddr;

fn metadata_log(state: &State) -> Option<&Log> {
    state.logs.get(&(METADATA_TOPIC.to_owned(), 0))
}

pub(super) fn describe_quorum(state: &State, version: i16) -> DescribeQuorumResponse {
    let (leader, epoch) = state.quorum;
    let log = metadata_log(state);
    let mut partition = quorum::PartitionData::default();
    if leader == state.node {
        let voters = state.voters.iter().map(|(node, (directory, _))| {
            let voter = quorum::ReplicaState::default()
                .with_replica_id(BrokerId(*node))
                .with_log_end_offset(log.map_or(0, Log::end));
            match version {
                ..2 => voter,
                _ => voter.with_replica_directory_id(*directory),
            }
        });
        partition = partition
            .with_leader_id(BrokerId(leader))
            .with_leader_epoch(epoch)
            .with_high_watermark(log.map_or(0, Log::committed))
            .with_current_voters(voters.collect());
    } else {
        partition.error_code = ErrorCode::NOT_LEADER_OR_FOLLOWER.0;
    }
    let topic = quorum::TopicData::default()
        .with_topic_name(TopicName(text(METADATA_TOPIC)))
        .with_partitions(vec![partition]);
    let answer = DescribeQuorumResponse::default().with_topics(vec![topic]);
    if version < 2 {
        return answer;
    }
    let nodes = state.voters.iter().map(|(node, (_, address))| {
        let listener = quorum::Listener::default()
            .with_name(text("CONTROLLER"))
            .with_host(text(&address.ip().to_string()))
            .with_port(address.port());
        quorum::Node::default()
            .with_node_id(BrokerId(*node))
            .with_listeners(vec![listener])
    });
    answer.with_nodes(nodes.collect())
}

pub(super) fn fetch_snapshot(
    state: &State,
    request: &FetchSnapshotRequest,
    reaction: Option<Reaction>,
) -> FetchSnapshotResponse {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let log = metadata_log(state);
            let refused = scripted(reaction).or_else(|| not_here(state, log, asked.current_leader_epoch));
            let id = (asked.snapshot_id.end_offset, asked.snapshot_id.epoch);
            let bytes = log.and_then(|log| log.snapshots.get(&id));
            let mut answer = PartitionSnapshot::default()
                .with_index(asked.partition)
                .with_snapshot_id(SnapshotId::default().with_end_offset(id.0).with_epoch(id.1));
            match (refused, bytes, usize::try_from(asked.position)) {
                (Some(code), _, _) => {
                    answer.error_code = code;
                    answer.current_leader = LeaderIdAndEpoch::default()
                        .with_leader_id(BrokerId(log.map_or(-1, |log| log.leader)))
                        .with_leader_epoch(log.map_or(-1, |log| log.leader_epoch));
                }
                (None, None, _) => answer.error_code = ErrorCode::SNAPSHOT_NOT_FOUND.0,
                (None, Some(bytes), Ok(position)) if position < bytes.len() => {
                    let most = usize::try_from(asked_bytes(request, state)).unwrap_or(0);
                    let end = bytes.len().min(position.saturating_add(most));
                    answer.size = bytes.len() as i64;
                    answer.position = asked.position;
                    answer.unaligned_records = bytes.slice(position..end);
                }
                (None, Some(_), _) => answer.error_code = ErrorCode::POSITION_OUT_OF_RANGE.0,
            }
            match reaction {
                Some(Reaction::OtherPosition) => answer.position += 1,
                Some(Reaction::OtherSnapshot) => answer.snapshot_id.epoch += 1,
                _ => {}
            }
            answer
        });
        TopicSnapshot::default()
            .with_name(topic.name.clone())
            .with_partitions(partitions.collect())
    });
    FetchSnapshotResponse::default().with_topics(topics.collect())
}

fn asked_bytes(request: &FetchSnapshotRequest, state: &State) -> i64 {
    match state.snapshot_part {
        0 => request.max_bytes.into(),
        part => part as i64,
    }
}

pub(super) fn add_raft_voter(
    state: &mut State,
    request: &AddRaftVoterRequest,
    reaction: Option<Reaction>,
) -> AddRaftVoterResponse {
    let address = request.listeners.first().and_then(|listener| {
        let host = listener.host.parse().ok()?;
        Some(SocketAddr::new(host, listener.port))
    });
    let answer = AddRaftVoterResponse::default();
    match (scripted(reaction), address) {
        (Some(code), _) => answer
            .with_error_code(code)
            .with_error_message(Some(text("as scripted"))),
        (None, None) => answer.with_error_code(ErrorCode::INVALID_REQUEST.0),
        (None, Some(address)) => {
            state
                .voters
                .insert(request.voter_id, (request.voter_directory_id, address));
            answer
        }
    }
}

pub(super) fn remove_raft_voter(
    state: &mut State,
    request: &RemoveRaftVoterRequest,
    reaction: Option<Reaction>,
) -> RemoveRaftVoterResponse {
    let answer = RemoveRaftVoterResponse::default();
    let known = state.voters.get(&request.voter_id);
    let code = match known {
        Some((directory, _)) if *directory == request.voter_directory_id => scripted(reaction),
        _ => Some(ErrorCode::VOTER_NOT_FOUND.0),
    };
    if code.is_none() {
        state.voters.remove(&request.voter_id);
    }
    answer.with_error_code(code.unwrap_or(0))
}
