//! What members of the quorum say to each other, as Kafka's messages: a file a message.
//!
//! A replica is named by its id and its directory's (KIP-853). Where the voters are fixed
//! (`kraft.version` 0) directories are told all the same, and not listened to: only ids count there.

pub mod add_voter;
pub mod begin;
pub mod end;
pub mod fetch;
pub mod fetch_snapshot;
pub mod remove_voter;
pub mod update_voter;
pub mod vote;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::error::ParseResponseErrorCode;
use kafka_protocol::messages::{BrokerId, TopicName};
use kafka_protocol::protocol::StrBytes;
use raft::{Batch, Body, DirectoryId, NodeId, Refusal, ReplicaKey, Response};
use uuid::Uuid;

use super::addresses::Located;

/// The metadata log's topic.
pub const METADATA_TOPIC: &str = "__cluster_metadata";
/// Its id, the same in every cluster.
pub const METADATA_TOPIC_ID: Uuid = Uuid::from_u128(1);
/// Bytes of records, or of a snapshot, that one answer may hold.
pub const MAX_FETCH_BYTES: i32 = 1 << 20;
const NANOS_PER_MS: u64 = 1_000_000;

/// Who this node is to the others.
#[derive(Debug, Clone)]
pub struct Own {
    /// The cluster.
    pub cluster_id: String,
    /// The node.
    pub node_id: i32,
    /// Its directory.
    pub directory_id: Uuid,
    /// Whether voters are named in the log, so that directories count.
    pub dynamic: bool,
    /// The name of the controllers' listener.
    pub listener: String,
    /// Where the others reach this node.
    pub place: Located,
}

impl Own {
    fn cluster(&self) -> Option<StrBytes> {
        Some(text(&self.cluster_id))
    }

    /// The replica that a message names; none where it names nobody.
    pub fn key(&self, id: BrokerId, directory: Uuid) -> Option<ReplicaKey> {
        let id = node(id)?;
        let directory = Some(DirectoryId(directory.as_u128()));
        let known = directory.filter(|named| self.dynamic && named.0 != 0);
        Some(ReplicaKey { id, directory: known })
    }

    /// Another cluster's request is refused; one that names none is taken for this cluster's.
    fn check_cluster(&self, named: Option<&StrBytes>) -> Result<(), Refused> {
        match named {
            Some(id) if id.as_str() != self.cluster_id => Err(ResponseError::InconsistentClusterId),
            _ => Ok(()),
        }
    }

    /// A request is for this node where it names no voter (the earlier versions), or this node, in this
    /// directory or without one (KIP-853, "INVALID_VOTER_KEY"): what is meant for a former disk of this node
    /// is not for this one.
    fn check_voter(&self, named: BrokerId, directory: Uuid) -> Result<(), Refused> {
        let id_fits = named.0 < 0 || named.0 == self.node_id;
        let directory_fits = directory.is_nil() || directory == self.directory_id;
        if id_fits && directory_fits {
            Ok(())
        } else {
            Err(ResponseError::InvalidVoterKey)
        }
    }

    /// Of a node's listeners the one that controllers serve; the first, where none has that name.
    fn controllers_listener(&self, listeners: impl Iterator<Item = Named>) -> Option<(StrBytes, u16)> {
        let mut listeners: Vec<Named> = listeners.collect();
        let fitting = listeners
            .iter()
            .position(|named| named.0.as_str() == self.listener);
        (!listeners.is_empty()).then(|| {
            let (_, host, port) = listeners.swap_remove(fitting.unwrap_or(0));
            (host, port)
        })
    }

    /// Where a node is, by its listeners.
    fn located(&self, id: BrokerId, listeners: impl Iterator<Item = Named>) -> Option<Located> {
        let (host, port) = self.controllers_listener(listeners)?;
        Some(Located {
            id: node(id)?.0,
            host: host.to_string(),
            port,
        })
    }
}

/// A listener's name, host and port.
type Named = (StrBytes, StrBytes, u16);

/// The topic's name, as the protocol has it.
pub fn topic_name() -> TopicName {
    TopicName(StrBytes::from_static_str(METADATA_TOPIC))
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn broker(id: Option<NodeId>) -> BrokerId {
    BrokerId(id.map_or(-1, |id| id.0))
}

fn node(id: BrokerId) -> Option<NodeId> {
    (id.0 >= 0).then_some(NodeId(id.0))
}

/// A replica's directory as messages have it: the zero id where none is known.
pub fn directory(key: ReplicaKey) -> Uuid {
    Uuid::from_u128(key.directory.map_or(0, |directory| directory.0))
}

fn known(epoch: i32) -> Option<i32> {
    (epoch >= 0).then_some(epoch)
}

/// Why a request of a peer never reaches the machine.
pub type Refused = ResponseError;

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

/// Whether a refusal is told of the partition, with the leader that is known, and not of the whole request.
fn is_of_partition(error: Refused) -> bool {
    error == ResponseError::InvalidVoterKey
}

/// The protocol's number of a refusal.
pub fn refusal_code(refusal: Refusal) -> i16 {
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
        ResponseError::VoterNotFound => Some(Refusal::VoterNotFound),
        ResponseError::RequestTimedOut => Some(Refusal::RequestTimedOut),
        ResponseError::UnsupportedVersion => Some(Refusal::UnsupportedVersion),
        _ => None,
    }
}

fn error_of<R>(body: &Body<R>) -> i16 {
    match body {
        Body::Refused(refusal) => refusal_code(*refusal),
        _ => 0,
    }
}

/// An answer of a peer.
#[derive(Debug)]
pub struct Heard {
    /// What the machine is told.
    pub response: Response<Vec<Batch>>,
    /// Where nodes are, of which the answer tells.
    pub nodes: Vec<Located>,
    /// Its records, or its piece of a snapshot.
    pub bytes: Bytes,
}

/// An answer of a peer; none where it is no better than a failed call.
pub type Read = Option<Heard>;

fn heard(
    error: i16,
    leader: BrokerId,
    epoch: i32,
    body: Body<Vec<Batch>>,
    nodes: impl Iterator<Item = (BrokerId, StrBytes, Option<u16>)>,
) -> Read {
    let body = match error {
        0 => body,
        code => Body::Refused(refusal(code)?),
    };
    let located = |(id, host, port): (BrokerId, StrBytes, Option<u16>)| {
        Some(Located {
            id: node(id)?.0,
            host: host.to_string(),
            port: port?,
        })
    };
    Some(Heard {
        response: Response {
            epoch,
            leader: node(leader),
            body,
        },
        nodes: nodes.filter_map(located).collect(),
        bytes: Bytes::new(),
    })
}

#[cfg(test)]
mod tests;
