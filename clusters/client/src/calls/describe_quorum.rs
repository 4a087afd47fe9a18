//! DescribeQuorum: who leads the metadata log, and how far its replicas are.

use super::{ANY_VERSION, Listener, only, topic_name};
use crate::connection::Connection;
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::ids::TopicId;
use kafka_protocol::messages::DescribeQuorumRequest;
use kafka_protocol::messages::describe_quorum_request::{PartitionData, TopicData};
use kafka_protocol::messages::describe_quorum_response::{Node, ReplicaState};

const CALL: &str = "DescribeQuorum";

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumDescription {
    /// NONE where the rest counts; NOT_LEADER_OR_FOLLOWER from a controller that does not lead, which still
    /// says whom it takes for the leader.
    pub error: ErrorCode,
    /// What the server adds to the error (version 2 and later).
    pub message: Option<String>,
    /// The active controller; −1 is none.
    pub leader: i32,
    /// The quorum's epoch.
    pub epoch: i32,
    /// The high watermark of the metadata log.
    pub high_watermark: i64,
    /// The voters.
    pub voters: Vec<QuorumReplica>,
    /// Those that follow without a vote.
    pub observers: Vec<QuorumReplica>,
    /// Where the voters listen (version 2 and later).
    pub nodes: Vec<QuorumNode>,
}

/// A replica of the metadata log, as the leader knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuorumReplica {
    /// Its node.
    pub node: i32,
    /// Its directory's id (version 2 and later); nil where not known.
    pub directory: TopicId,
    /// Its log's end; −1 where not known.
    pub log_end_offset: i64,
    /// When it last fetched, milliseconds since 1970 on the leader's clock (version 1 and later); −1 where not known.
    pub last_fetch_ms: i64,
    /// When it last had all of the leader's log; −1 where not known.
    pub last_caught_up_ms: i64,
}

/// A voter's addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumNode {
    /// Its id.
    pub node: i32,
    /// Where it listens.
    pub listeners: Vec<Listener>,
}

impl Connection {
    /// Asks who leads the metadata log.
    ///
    /// # Errors
    /// Where there is no answer; the server's own error is in the answer.
    pub async fn describe_quorum(&mut self) -> Result<QuorumDescription, Error> {
        let version = self.version::<DescribeQuorumRequest>(CALL, ANY_VERSION)?;
        let topic = TopicData::default()
            .with_topic_name(topic_name(crate::observer::METADATA_TOPIC))
            .with_partitions(vec![PartitionData::default()]);
        let request = DescribeQuorumRequest::default().with_topics(vec![topic]);
        let answer = self.call(CALL, version, &request, self.limit()).await?;
        let top_level = ErrorCode(answer.error_code);
        let message = answer.error_message.map(|message| message.to_string());
        let nodes = answer.nodes.into_iter().map(node).collect();
        let partition = only(answer.topics).and_then(|topic| only(topic.partitions));
        match (top_level.error(), partition) {
            (Some(error), _) => Ok(QuorumDescription::failed(error, message)),
            (None, None) => Err(self.lacks(CALL, crate::observer::METADATA_TOPIC)),
            (None, Some(partition)) => Ok(QuorumDescription {
                error: ErrorCode(partition.error_code),
                message: partition
                    .error_message
                    .map(|message| message.to_string())
                    .or(message),
                leader: partition.leader_id.0,
                epoch: partition.leader_epoch,
                high_watermark: partition.high_watermark,
                voters: replicas(&partition.current_voters),
                observers: replicas(&partition.observers),
                nodes,
            }),
        }
    }
}

impl QuorumDescription {
    fn failed(error: ErrorCode, message: Option<String>) -> QuorumDescription {
        QuorumDescription {
            error,
            message,
            leader: -1,
            epoch: -1,
            high_watermark: -1,
            voters: Vec::new(),
            observers: Vec::new(),
            nodes: Vec::new(),
        }
    }
}

fn replicas(states: &[ReplicaState]) -> Vec<QuorumReplica> {
    let replica = |state: &ReplicaState| QuorumReplica {
        node: state.replica_id.0,
        directory: state.replica_directory_id,
        log_end_offset: state.log_end_offset,
        last_fetch_ms: state.last_fetch_timestamp,
        last_caught_up_ms: state.last_caught_up_timestamp,
    };
    states.iter().map(replica).collect()
}

fn node(node: Node) -> QuorumNode {
    let listener = node.listeners.into_iter().map(|listener| Listener {
        name: listener.name.to_string(),
        host: listener.host.to_string(),
        port: listener.port,
    });
    QuorumNode {
        node: node.node_id.0,
        listeners: listener.collect(),
    }
}
