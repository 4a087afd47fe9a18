//! Fetch, for one partition, as a consumer (replica id −1, read_uncommitted, no session).

use super::{ANY_VERSION, NodeEndpoint, TopicRef, only};
use crate::batch::{self, Batch};
use crate::connection::Connection;
use crate::error::{Cause, Error, SentBytes};
use crate::error_code::ErrorCode;
use bytes::Bytes;
use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use std::time::Duration;

const CALL: &str = "Fetch";
/// The last version that names topics; from the next one on they go by id.
const BY_NAME: i16 = 12;
/// The first version in which a fetch tells the high watermark it knows, and is answered when it has risen.
const WITH_HIGH_WATERMARK: i16 = 18;

/// One fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The topic.
    pub topic: TopicRef,
    /// The partition.
    pub partition: i32,
    /// The first offset wanted.
    pub offset: i64,
    /// The leader epoch that the client knows; −1 is none.
    pub current_leader_epoch: i32,
    /// The epoch of the last record before `offset`, for the leader to compare histories by; −1 for clients
    /// that do not care (the metadata log wants it).
    pub last_fetched_epoch: i32,
    /// The high watermark that the client knows, so that a rise of it alone is an answer too.
    pub known_high_watermark: Option<i64>,
    /// How long the server may wait for a first byte.
    pub max_wait: Duration,
    /// About how much to send at most.
    pub max_bytes: i32,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// NONE where the rest counts.
    pub error: ErrorCode,
    /// The high watermark; −1 where not known.
    pub high_watermark: i64,
    /// The log start; −1 where not known.
    pub log_start: i64,
    /// What was read. The first batch may begin before the offset asked for.
    pub batches: Vec<Batch>,
    /// The leader, where the server says that it is not the one asked (version 12 and later).
    pub current_leader: Option<CurrentLeader>,
    /// Where the client's history leaves the leader's, if it does.
    pub diverging: Option<Diverging>,
    /// The snapshot to read instead, where the log no longer goes back so far.
    pub snapshot: Option<SnapshotId>,
    /// Where leaders that the answer names listen (version 16 and later).
    pub endpoints: Vec<NodeEndpoint>,
}

/// Who leads, by an answer of one that does not, or that refuses an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurrentLeader {
    /// The leader; −1 is none.
    pub node: i32,
    /// Its epoch.
    pub epoch: i32,
}

impl CurrentLeader {
    /// What an answer says; left out by a server, the epoch holds −1.
    pub(super) fn told(node: i32, epoch: i32) -> Option<CurrentLeader> {
        (epoch >= 0).then_some(CurrentLeader { node, epoch })
    }
}

/// The largest epoch and its end up to which the leader's history may agree with the client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diverging {
    /// The epoch.
    pub epoch: i32,
    /// Its end on the leader.
    pub end_offset: i64,
}

/// A snapshot of the metadata log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotId {
    /// Records below this offset are in it.
    pub end_offset: i64,
    /// The epoch of the last of them.
    pub epoch: i32,
}

impl Connection {
    /// Fetches from one partition.
    ///
    /// # Errors
    /// Where there is no answer, or its records are no batches; the server's own error is in the answer.
    pub async fn fetch(&mut self, fetch: &Fetch) -> Result<Fetched, Error> {
        let at_most = if fetch.topic.id.is_nil() {
            BY_NAME
        } else {
            ANY_VERSION
        };
        let version = self.version::<FetchRequest>(CALL, at_most)?;
        let limit = fetch.max_wait + self.limit();
        let answer = self.call(CALL, version, &request(fetch, version), limit).await?;
        if let Some(error) = ErrorCode(answer.error_code).error() {
            return Ok(Fetched::failed(error));
        }
        let partition = only(answer.responses)
            .and_then(|topic| only(topic.partitions))
            .filter(|found| found.partition_index == fetch.partition)
            .ok_or_else(|| self.lacks(CALL, &format!("{}-{}", fetch.topic.name, fetch.partition)))?;
        let endpoints = answer.node_endpoints.into_iter().map(|node| NodeEndpoint {
            node: node.node_id.0,
            host: node.host.to_string(),
            port: node.port,
        });
        fetched(partition, endpoints.collect())
            .map_err(|why| self.failed(CALL, SentBytes::Yes, Cause::Malformed(why)))
    }
}

fn request(fetch: &Fetch, version: i16) -> FetchRequest {
    let mut partition = FetchPartition::default()
        .with_partition(fetch.partition)
        .with_current_leader_epoch(fetch.current_leader_epoch)
        .with_fetch_offset(fetch.offset)
        .with_last_fetched_epoch(fetch.last_fetched_epoch)
        .with_partition_max_bytes(fetch.max_bytes);
    if let Some(known) = fetch
        .known_high_watermark
        .filter(|_| version >= WITH_HIGH_WATERMARK)
    {
        partition = partition.with_high_watermark(known);
    }
    let mut topic = FetchTopic::default().with_partitions(vec![partition]);
    if version > BY_NAME {
        topic = topic.with_topic_id(fetch.topic.id);
    } else {
        topic = topic.with_topic(fetch.topic.topic_name());
    }
    FetchRequest::default()
        .with_max_wait_ms(i32::try_from(fetch.max_wait.as_millis()).unwrap_or(i32::MAX))
        .with_min_bytes(1)
        .with_max_bytes(fetch.max_bytes)
        .with_topics(vec![topic])
}

fn fetched(partition: PartitionData, endpoints: Vec<NodeEndpoint>) -> Result<Fetched, String> {
    let records: Bytes = partition.records.unwrap_or_default();
    let leader = partition.current_leader;
    let diverging = partition.diverging_epoch;
    let snapshot = partition.snapshot_id;
    Ok(Fetched {
        error: ErrorCode(partition.error_code),
        high_watermark: partition.high_watermark,
        log_start: partition.log_start_offset,
        batches: batch::decode_all(records)?,
        current_leader: CurrentLeader::told(leader.leader_id.0, leader.leader_epoch),
        // Left out by a server, these hold −1.
        diverging: (diverging.end_offset >= 0).then_some(Diverging {
            epoch: diverging.epoch,
            end_offset: diverging.end_offset,
        }),
        snapshot: (snapshot.end_offset >= 0).then_some(SnapshotId {
            end_offset: snapshot.end_offset,
            epoch: snapshot.epoch,
        }),
        endpoints,
    })
}

impl Fetched {
    fn failed(error: ErrorCode) -> Fetched {
        Fetched {
            error,
            high_watermark: -1,
            log_start: -1,
            batches: Vec::new(),
            current_leader: None,
            diverging: None,
            snapshot: None,
            endpoints: Vec::new(),
        }
    }
}
