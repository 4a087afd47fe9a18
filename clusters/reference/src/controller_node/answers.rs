//! What anyone may ask a controller: its versions, where the controllers are, and how the quorum stands.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
use kafka_protocol::messages::describe_quorum_response::{
    Listener, Node as QuorumNode, PartitionData, ReplicaState, TopicData,
};
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, BrokerId, DescribeClusterRequest, DescribeClusterResponse,
    DescribeQuorumRequest, DescribeQuorumResponse,
};
use kafka_protocol::protocol::StrBytes;
use raft::ReplicaProgress;

use super::Node;
use crate::api;
use crate::net::frame::FrameError;
use crate::net::server::Incoming;
use crate::quorum::{Located, wire};

/// The endpoints that DescribeCluster can be asked about here: controllers.
const CONTROLLER_ENDPOINTS: i8 = 2;
/// "Not asked for", of authorised operations.
const NO_OPERATIONS: i32 = i32::MIN;

impl Node {
    /// Answers what needs no records.
    pub(super) fn answer(&mut self, incoming: Incoming) -> Result<(), FrameError> {
        match incoming.key {
            ApiKey::ApiVersions => {
                let (_, reply) = incoming.decode::<ApiVersionsRequest>()?;
                let levels = self.state.image().features();
                let version = reply.version();
                let epoch = self.quorum.last_handed_out();
                reply.send(&api::CONTROLLER.answer(version, epoch, levels, self.quorum.kraft_version()));
            }
            ApiKey::DescribeQuorum => {
                let (request, reply) = incoming.decode::<DescribeQuorumRequest>()?;
                let version = reply.version();
                reply.send(&self.describe_quorum(&request, version));
            }
            ApiKey::DescribeCluster => {
                let (request, reply) = incoming.decode::<DescribeClusterRequest>()?;
                reply.send(&self.describe_cluster(&request));
            }
            // The catalogue lists nothing else; dropping the reply closes the connection.
            _ => {}
        }
        Ok(())
    }

    /// The controllers, for who has been given no broker to begin with (KIP-919).
    fn describe_cluster(&self, request: &DescribeClusterRequest) -> DescribeClusterResponse {
        let answer = DescribeClusterResponse::default()
            .with_cluster_id(StrBytes::from_string(self.cluster_id.clone()))
            .with_endpoint_type(CONTROLLER_ENDPOINTS);
        if request.endpoint_type != CONTROLLER_ENDPOINTS {
            return answer.with_error_code(ResponseError::MismatchedEndpointType.code());
        }
        let controllers = self.quorum_nodes().into_iter().filter_map(|node| {
            let listener = node.listeners.into_iter().next()?;
            let controller = DescribeClusterBroker::default()
                .with_broker_id(node.node_id)
                .with_host(listener.host)
                .with_port(listener.port.into());
            Some(controller)
        });
        let leader = self.quorum.standing().leader;
        answer
            .with_controller_id(BrokerId(leader.map_or(-1, |leader| leader.0)))
            .with_brokers(controllers.collect())
            .with_cluster_authorized_operations(NO_OPERATIONS)
    }

    fn describe_quorum(&self, request: &DescribeQuorumRequest, version: i16) -> DescribeQuorumResponse {
        let about_metadata = request
            .topics
            .iter()
            .all(|topic| topic.topic_name.as_str() == wire::METADATA_TOPIC);
        if !about_metadata || request.topics.is_empty() {
            let error = ResponseError::UnknownTopicOrPartition.code();
            return DescribeQuorumResponse::default().with_error_code(error);
        }
        let standing = self.quorum.standing();
        let partition = PartitionData::default()
            .with_leader_id(BrokerId(standing.leader.map_or(-1, |leader| leader.0)))
            .with_leader_epoch(standing.epoch);
        let partition = if standing.role == raft::Role::Leader {
            self.progress(partition, version)
        } else {
            partition
                .with_error_code(ResponseError::NotLeaderOrFollower.code())
                .with_high_watermark(-1)
        };
        let topic = TopicData::default()
            .with_topic_name(wire::topic_name())
            .with_partitions(vec![partition]);
        let answer = DescribeQuorumResponse::default().with_topics(vec![topic]);
        if version >= FIRST_VERSION_WITH_NODES {
            answer.with_nodes(self.quorum_nodes())
        } else {
            answer
        }
    }

    fn progress(&self, partition: PartitionData, version: i16) -> PartitionData {
        let raft = self.quorum.raft();
        let replica = |progress: &ReplicaProgress| {
            let own = progress.key.id.0 == self.config.node_id;
            let state = ReplicaState::default()
                .with_replica_id(BrokerId(progress.key.id.0))
                .with_log_end_offset(progress.end_offset.unwrap_or(-1))
                .with_last_fetch_timestamp(self.wall_time(progress.last_fetch, own))
                .with_last_caught_up_timestamp(self.wall_time(progress.last_caught_up, own));
            match version {
                FIRST_VERSION_WITH_NODES.. => state.with_replica_directory_id(wire::directory(progress.key)),
                1 => state,
                // Before version 1 no time is told.
                _ => state
                    .with_last_fetch_timestamp(-1)
                    .with_last_caught_up_timestamp(-1),
            }
        };
        partition
            .with_high_watermark(raft.high_watermark().unwrap_or(-1))
            .with_current_voters(raft.voters().iter().map(replica).collect())
            .with_observers(raft.observers().iter().map(replica).collect())
    }

    /// A time of the machine's as one of the wall clock; a leader has itself caught up just now.
    fn wall_time(&self, at: Option<raft::Nanos>, now_if_never: bool) -> i64 {
        let now = self.clock.wall_ms();
        match at {
            Some(at) => {
                let ago = self.clock.nanos().saturating_sub(at) / 1_000_000;
                now - i64::try_from(ago).unwrap_or(0)
            }
            None if now_if_never => now,
            None => -1,
        }
    }

    fn quorum_nodes(&self) -> Vec<QuorumNode> {
        let node = |voter: &Located| {
            let listener = Listener::default()
                .with_name(StrBytes::from_string(self.config.controller_listener.clone()))
                .with_host(StrBytes::from_string(voter.host.clone()))
                .with_port(voter.port);
            QuorumNode::default()
                .with_node_id(BrokerId(voter.id))
                .with_listeners(vec![listener])
        };
        self.quorum.members().map(node).collect()
    }
}

/// The first version that says where the voters are, and which directories replicas have.
const FIRST_VERSION_WITH_NODES: i16 = 2;
