//! FetchSnapshot: a part of a snapshot of the metadata log, as an observer reads it (replica id −1).

use super::{ANY_VERSION, CurrentLeader, NodeEndpoint, SnapshotId, only, topic_name};
use crate::connection::Connection;
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::observer::METADATA_TOPIC;
use bytes::Bytes;
use kafka_protocol::messages::FetchSnapshotRequest;
use kafka_protocol::messages::fetch_snapshot_request::{
    PartitionSnapshot, SnapshotId as AskedSnapshot, TopicSnapshot,
};
use kafka_protocol::messages::fetch_snapshot_response::PartitionSnapshot as SnapshotPart;

const CALL: &str = "FetchSnapshot";

/// One question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchSnapshot {
    /// Which snapshot, as a Fetch named it.
    pub id: SnapshotId,
    /// The quorum's epoch that the client knows.
    pub current_leader_epoch: i32,
    /// The first byte wanted.
    pub position: i64,
    /// How much to send at most.
    pub max_bytes: i32,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedSnapshot {
    /// NONE where the rest counts; SNAPSHOT_NOT_FOUND where it was deleted meanwhile.
    pub error: ErrorCode,
    /// Which snapshot it is of.
    pub id: SnapshotId,
    /// How many bytes the snapshot has.
    pub size: i64,
    /// The first byte sent.
    pub position: i64,
    /// Batches, cut off anywhere.
    pub bytes: Bytes,
    /// The leader, where the server says that it is not the one asked.
    pub current_leader: Option<CurrentLeader>,
    /// Where leaders listen (version 1 and later).
    pub endpoints: Vec<NodeEndpoint>,
}

impl Connection {
    /// Asks for a part of a snapshot of the metadata log.
    ///
    /// # Errors
    /// Where there is no answer; the server's own error is in the answer.
    pub async fn fetch_snapshot(&mut self, asked: &FetchSnapshot) -> Result<FetchedSnapshot, Error> {
        let version = self.version::<FetchSnapshotRequest>(CALL, ANY_VERSION)?;
        let id = AskedSnapshot::default()
            .with_end_offset(asked.id.end_offset)
            .with_epoch(asked.id.epoch);
        let partition = PartitionSnapshot::default()
            .with_partition(0)
            .with_current_leader_epoch(asked.current_leader_epoch)
            .with_snapshot_id(id)
            .with_position(asked.position);
        let topic = TopicSnapshot::default()
            .with_name(topic_name(METADATA_TOPIC))
            .with_partitions(vec![partition]);
        let request = FetchSnapshotRequest::default()
            .with_replica_id((-1).into())
            .with_max_bytes(asked.max_bytes)
            .with_topics(vec![topic]);
        let answer = self.call(CALL, version, &request, self.limit()).await?;
        if let Some(error) = ErrorCode(answer.error_code).error() {
            return Ok(FetchedSnapshot::failed(error, asked.id));
        }
        let endpoints = answer.node_endpoints.into_iter().map(|node| NodeEndpoint {
            node: node.node_id.0,
            host: node.host.to_string(),
            port: node.port.into(),
        });
        let endpoints = endpoints.collect();
        only(answer.topics)
            .and_then(|topic| only(topic.partitions))
            .map(|part| fetched(part, endpoints))
            .ok_or_else(|| self.lacks(CALL, METADATA_TOPIC))
    }
}

fn fetched(part: SnapshotPart, endpoints: Vec<NodeEndpoint>) -> FetchedSnapshot {
    FetchedSnapshot {
        error: ErrorCode(part.error_code),
        id: SnapshotId {
            end_offset: part.snapshot_id.end_offset,
            epoch: part.snapshot_id.epoch,
        },
        size: part.size,
        position: part.position,
        bytes: part.unaligned_records,
        current_leader: CurrentLeader::told(
            part.current_leader.leader_id.0,
            part.current_leader.leader_epoch,
        ),
        endpoints,
    }
}

impl FetchedSnapshot {
    fn failed(error: ErrorCode, id: SnapshotId) -> FetchedSnapshot {
        FetchedSnapshot {
            error,
            id,
            size: 0,
            position: 0,
            bytes: Bytes::new(),
            current_leader: None,
            endpoints: Vec::new(),
        }
    }
}
