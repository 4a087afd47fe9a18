//! FetchSnapshot (59): a piece of a snapshot (KIP-630).

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::fetch_snapshot_request::{self, PartitionSnapshot};
use kafka_protocol::messages::fetch_snapshot_response::{self, LeaderIdAndEpoch, NodeEndpoint};
use kafka_protocol::messages::{BrokerId, FetchSnapshotRequest, FetchSnapshotResponse};
use raft::{Body, FilledSlice, ReadRange, Response, SnapshotId, SnapshotSlice};

use super::{
    Heard, Located, MAX_FETCH_BYTES, Own, Read, Refused, broker, error_of, heard, known, only, text,
};

/// The version in which this node asks.
pub const VERSION: i16 = 1;

/// A request to send.
pub fn request(own: &Own, ask: &raft::FetchSnapshotRequest) -> FetchSnapshotRequest {
    let id = fetch_snapshot_request::SnapshotId::default()
        .with_end_offset(ask.snapshot.end_offset)
        .with_epoch(ask.snapshot.epoch);
    let partition = PartitionSnapshot::default()
        .with_current_leader_epoch(ask.epoch.unwrap_or(-1))
        .with_snapshot_id(id)
        .with_position(i64::try_from(ask.position).unwrap_or(i64::MAX))
        .with_replica_directory_id(own.directory_id);
    let topic = fetch_snapshot_request::TopicSnapshot::default()
        .with_name(super::topic_name())
        .with_partitions(vec![partition]);
    FetchSnapshotRequest::default()
        .with_cluster_id(own.cluster())
        .with_replica_id(broker(ask.replica.map(|key| key.id)))
        .with_max_bytes(MAX_FETCH_BYTES)
        .with_topics(vec![topic])
}

/// A request that arrived, and how many bytes it wants.
pub fn read_request(
    own: &Own,
    request: FetchSnapshotRequest,
) -> Result<(raft::FetchSnapshotRequest, usize), Refused> {
    own.check_cluster(request.cluster_id.as_ref())?;
    let partition = only(request.topics, |topic| &topic.name, |topic| topic.partitions)?;
    let ask = raft::FetchSnapshotRequest {
        replica: own.key(request.replica_id, partition.replica_directory_id),
        epoch: known(partition.current_leader_epoch),
        snapshot: SnapshotId {
            end_offset: partition.snapshot_id.end_offset,
            epoch: partition.snapshot_id.epoch,
        },
        position: u64::try_from(partition.position).map_err(|_| ResponseError::PositionOutOfRange)?,
    };
    let bytes = request.max_bytes.clamp(1, MAX_FETCH_BYTES);
    Ok((ask, usize::try_from(bytes).unwrap_or(1)))
}

/// The answer; the machine's, with the piece filled in.
pub fn answer(
    response: &Response<ReadRange>,
    piece: Bytes,
    leader: Option<&Located>,
) -> FetchSnapshotResponse {
    let current = LeaderIdAndEpoch::default()
        .with_leader_id(broker(response.leader))
        .with_leader_epoch(response.epoch);
    let mut partition = fetch_snapshot_response::PartitionSnapshot::default()
        .with_error_code(error_of(&response.body))
        .with_current_leader(current);
    if let Body::FetchSnapshot(slice) = &response.body {
        partition.snapshot_id = fetch_snapshot_response::SnapshotId::default()
            .with_end_offset(slice.snapshot.end_offset)
            .with_epoch(slice.snapshot.epoch);
        partition.size = slice.filled.map_or(0, |filled| signed(filled.size));
        partition.position = signed(slice.position);
        partition.unaligned_records = piece;
    }
    let topic = fetch_snapshot_response::TopicSnapshot::default()
        .with_name(super::topic_name())
        .with_partitions(vec![partition]);
    let endpoint = |at: &Located| {
        NodeEndpoint::default()
            .with_node_id(BrokerId(at.id))
            .with_host(text(&at.host))
            .with_port(at.port)
    };
    FetchSnapshotResponse::default()
        .with_topics(vec![topic])
        .with_node_endpoints(leader.map(endpoint).into_iter().collect())
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The answer to a request that never reached the machine.
pub fn refused(error: Refused) -> FetchSnapshotResponse {
    if error == ResponseError::PositionOutOfRange {
        let partition = fetch_snapshot_response::PartitionSnapshot::default().with_error_code(error.code());
        let topic = fetch_snapshot_response::TopicSnapshot::default()
            .with_name(super::topic_name())
            .with_partitions(vec![partition]);
        return FetchSnapshotResponse::default().with_topics(vec![topic]);
    }
    FetchSnapshotResponse::default().with_error_code(error.code())
}

/// Reads an answer: what the machine wants to know, and the piece.
pub fn read_answer(answer: FetchSnapshotResponse) -> Read {
    if answer.error_code != 0 {
        return None;
    }
    let partition = answer.topics.into_iter().next()?.partitions.into_iter().next()?;
    let piece = partition.unaligned_records;
    let body = Body::FetchSnapshot(SnapshotSlice {
        snapshot: SnapshotId {
            end_offset: partition.snapshot_id.end_offset,
            epoch: partition.snapshot_id.epoch,
        },
        position: u64::try_from(partition.position).ok()?,
        filled: Some(FilledSlice {
            size: u64::try_from(partition.size).ok()?,
            length: piece.len() as u64,
        }),
    });
    let nodes = answer.node_endpoints.into_iter();
    let heard = heard(
        partition.error_code,
        partition.current_leader.leader_id,
        partition.current_leader.leader_epoch,
        body,
        nodes.map(|node| (node.node_id, node.host, Some(node.port))),
    )?;
    Some(Heard {
        bytes: piece,
        ..heard
    })
}
