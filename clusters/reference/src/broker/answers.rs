//! What clients ask about the cluster: answered from the applied metadata, or by the active controller.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_topics_response::CreatableTopicResult;
use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
use kafka_protocol::messages::describe_topic_partitions_response::{
    Cursor, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::{
    AddRaftVoterRequest, AddRaftVoterResponse, AlterPartitionReassignmentsRequest, ApiKey,
    ApiVersionsRequest, BrokerId, CreatePartitionsRequest, CreateTopicsRequest, CreateTopicsResponse,
    DeleteTopicsRequest, DescribeClusterRequest, DescribeClusterResponse, DescribeConfigsRequest,
    DescribeQuorumRequest, DescribeQuorumResponse, DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse, ElectLeadersRequest, IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest, MetadataRequest, MetadataResponse, RemoveRaftVoterRequest,
    RemoveRaftVoterResponse, TopicName, UnregisterBrokerRequest, UpdateFeaturesRequest,
};
use kafka_protocol::protocol::{Request, StrBytes};

use super::Broker;
use super::image::{PartitionState, Topic};
use crate::admin::Administrative;
use crate::api;
use crate::net::frame::FrameError;
use crate::net::server::{Incoming, Reply};

/// "Not asked for", of authorised operations.
const NO_OPERATIONS: i32 = i32::MIN;
/// The endpoints that DescribeCluster can be asked about here: brokers.
const BROKER_ENDPOINTS: i8 = 1;
/// "Nobody", of leaders.
const NO_LEADER: i32 = -1;
/// From this version of Metadata on a leader that has no such listener has an error of its own.
const SAYS_LISTENER_NOT_FOUND: i16 = 6;

/// How a question came in.
struct By<'a> {
    /// By this listener.
    listener: &'a str,
    /// What is said of a leader that has none of that name.
    missing: ResponseError,
}
/// How long a change of voters may take: a majority must have it, and the new voter be reached.
const VOTERS_CHANGE_WITHIN: std::time::Duration = std::time::Duration::from_secs(5);
/// Partitions in one answer of DescribeTopicPartitions, at most.
const MAX_PARTITIONS: usize = 2_000;

impl Broker {
    /// Answers what needs no partition's log.
    pub fn answer(&mut self, incoming: Incoming) -> Result<(), FrameError> {
        match incoming.key {
            ApiKey::ApiVersions => {
                let (_, reply) = incoming.decode::<ApiVersionsRequest>()?;
                let levels = self.image.features();
                let version = reply.version();
                let epoch = self.quorum.last_handed_out();
                reply.send(&api::BROKER.answer(version, epoch, levels, self.quorum.kraft_version()));
            }
            ApiKey::Metadata => {
                let listener = incoming.listener.clone();
                let (request, reply) = incoming.decode::<MetadataRequest>()?;
                let answer = self.metadata_answer(request, reply.version(), &listener);
                reply.send(&answer);
            }
            ApiKey::DescribeQuorum => {
                let (request, reply) = incoming.decode::<DescribeQuorumRequest>()?;
                self.describe_quorum(request, reply);
            }
            ApiKey::DescribeCluster => {
                let listener = incoming.listener.clone();
                let (request, reply) = incoming.decode::<DescribeClusterRequest>()?;
                reply.send(&self.cluster_answer(&request, &listener));
            }
            ApiKey::DescribeTopicPartitions => {
                let listener = incoming.listener.clone();
                let (request, reply) = incoming.decode::<DescribeTopicPartitionsRequest>()?;
                reply.send(&self.describe_topics(&request, &listener));
            }
            ApiKey::AddRaftVoter => {
                let (request, reply) = incoming.decode::<AddRaftVoterRequest>()?;
                let failed =
                    |error: ResponseError| AddRaftVoterResponse::default().with_error_code(error.code());
                self.forward_change_of_voters(request, reply, failed);
            }
            ApiKey::RemoveRaftVoter => {
                let (request, reply) = incoming.decode::<RemoveRaftVoterRequest>()?;
                let failed =
                    |error: ResponseError| RemoveRaftVoterResponse::default().with_error_code(error.code());
                self.forward_change_of_voters(request, reply, failed);
            }
            ApiKey::DescribeConfigs => {
                let (request, reply) = incoming.decode::<DescribeConfigsRequest>()?;
                reply.send(&self.describe_configs(&request));
            }
            ApiKey::DeleteTopics => self.pass_on::<DeleteTopicsRequest>(incoming)?,
            ApiKey::CreatePartitions => self.pass_on::<CreatePartitionsRequest>(incoming)?,
            ApiKey::IncrementalAlterConfigs => self.pass_on::<IncrementalAlterConfigsRequest>(incoming)?,
            ApiKey::ElectLeaders => self.pass_on::<ElectLeadersRequest>(incoming)?,
            ApiKey::AlterPartitionReassignments => {
                self.pass_on::<AlterPartitionReassignmentsRequest>(incoming)?;
            }
            ApiKey::ListPartitionReassignments => {
                self.pass_on::<ListPartitionReassignmentsRequest>(incoming)?;
            }
            ApiKey::UnregisterBroker => self.pass_on::<UnregisterBrokerRequest>(incoming)?,
            ApiKey::UpdateFeatures => self.pass_on::<UpdateFeaturesRequest>(incoming)?,
            ApiKey::CreateTopics => {
                let (request, reply) = incoming.decode::<CreateTopicsRequest>()?;
                self.create_topics(request, reply);
            }
            // The catalogue lists nothing else; dropping the reply closes the connection.
            _ => {}
        }
        Ok(())
    }

    /// Only the active controller does what administrators ask for; a broker passes it on, as Kafka's do.
    fn pass_on<R: Administrative>(&self, incoming: Incoming) -> Result<(), FrameError>
    where
        R::Response: Send + Sync,
    {
        let (request, reply) = incoming.decode::<R>()?;
        match self.quorum.leader_address() {
            Some(controller) => {
                let late = request.all_failed(ResponseError::RequestTimedOut.code());
                self.forward(controller, request, reply, late);
            }
            None => reply.send(&request.all_failed(ResponseError::NotController.code())),
        }
        Ok(())
    }

    fn create_topics(&self, request: CreateTopicsRequest, reply: Reply) {
        let failed = |error: ResponseError| {
            let result = |topic: &kafka_protocol::messages::create_topics_request::CreatableTopic| {
                CreatableTopicResult::default()
                    .with_name(topic.name.clone())
                    .with_error_code(error.code())
            };
            CreateTopicsResponse::default().with_topics(request.topics.iter().map(result).collect())
        };
        match self.quorum.leader_address() {
            Some(controller) => {
                let late = failed(ResponseError::RequestTimedOut);
                self.forward(controller, request, reply, late);
            }
            None => reply.send(&failed(ResponseError::NotController)),
        }
    }

    /// Only the active controller changes the voters; a broker passes the wish on, as Kafka's do.
    fn forward_change_of_voters<R>(
        &self,
        request: R,
        reply: Reply,
        failed: impl Fn(ResponseError) -> R::Response,
    ) where
        R: Request + Send + Sync + 'static,
        R::Response: Send + Sync,
    {
        let Some(controller) = self.quorum.leader_address() else {
            reply.send(&failed(ResponseError::NotLeaderOrFollower));
            return;
        };
        let (peers, late) = (
            self.peers.within(VOTERS_CHANGE_WITHIN),
            failed(ResponseError::RequestTimedOut),
        );
        tokio::spawn(async move {
            match peers.call(controller, reply.version(), &request).await {
                Ok(answer) => reply.send(&answer),
                Err(_) => reply.send(&late),
            }
        });
    }

    /// Only the active controller knows; a broker passes the question on, as Kafka's do.
    fn describe_quorum(&self, request: DescribeQuorumRequest, reply: Reply) {
        let failed = |error: ResponseError| DescribeQuorumResponse::default().with_error_code(error.code());
        match self.quorum.leader_address() {
            Some(controller) => {
                self.forward(controller, request, reply, failed(ResponseError::RequestTimedOut));
            }
            None => reply.send(&failed(ResponseError::NotLeaderOrFollower)),
        }
    }

    /// Addresses are those of the listener that the question came in by: others may not be reached from there.
    fn metadata_answer(&self, request: MetadataRequest, version: i16, listener: &str) -> MetadataResponse {
        let missing = if version >= SAYS_LISTENER_NOT_FOUND {
            ResponseError::ListenerNotFound
        } else {
            ResponseError::LeaderNotAvailable
        };
        let by = By { listener, missing };
        let topics = match request.topics {
            // Before version 1 an empty list meant all.
            Some(asked) if version > 0 || !asked.is_empty() => asked
                .into_iter()
                .map(|asked| match (asked.name, asked.topic_id) {
                    (Some(name), _) => match self.image.topic_named(name.as_str()) {
                        Some(topic) => self.topic_metadata(topic, &by),
                        None => unknown_topic(
                            Some(name),
                            uuid::Uuid::nil(),
                            ResponseError::UnknownTopicOrPartition,
                        ),
                    },
                    (None, id) => match self.image.topic(id) {
                        Some(topic) => self.topic_metadata(topic, &by),
                        None => unknown_topic(version_needs_name(version), id, ResponseError::UnknownTopicId),
                    },
                })
                .collect(),
            _ => self
                .image
                .topics()
                .map(|topic| self.topic_metadata(topic, &by))
                .collect(),
        };
        let brokers = self.image.unfenced_brokers().filter_map(|(id, broker)| {
            let endpoint = broker.endpoints.get(listener)?;
            Some(
                MetadataResponseBroker::default()
                    .with_node_id(BrokerId(id))
                    .with_host(text(&endpoint.host))
                    .with_port(i32::from(endpoint.port)),
            )
        });
        MetadataResponse::default()
            .with_brokers(brokers.collect())
            .with_cluster_id(Some(text(&self.cluster_id)))
            // Clients send to any broker what it forwards: there is always one that serves.
            .with_controller_id(BrokerId(self.config.node_id))
            .with_topics(topics)
    }

    /// The leader as a client can be told it, or why there is none for it.
    fn leader_for(&self, state: &PartitionState, by: &By<'_>) -> (BrokerId, i16) {
        let error = match state.leader {
            Some(leader) => match self.image.broker(leader) {
                Some(broker) if broker.endpoints.contains_key(by.listener) => return (BrokerId(leader), 0),
                Some(_) => by.missing,
                None => ResponseError::LeaderNotAvailable,
            },
            None => ResponseError::LeaderNotAvailable,
        };
        (BrokerId(NO_LEADER), error.code())
    }

    fn topic_metadata(&self, topic: &Topic, by: &By<'_>) -> MetadataResponseTopic {
        let partitions = topic.partitions.iter().map(|(index, state)| {
            let (leader, error) = self.leader_for(state, by);
            MetadataResponsePartition::default()
                .with_error_code(error)
                .with_partition_index(*index)
                .with_leader_id(leader)
                .with_leader_epoch(state.leader_epoch)
                .with_replica_nodes(ids(&state.replicas))
                .with_isr_nodes(ids(&state.isr))
                .with_offline_replicas(self.offline(state))
        });
        MetadataResponseTopic::default()
            .with_name(Some(topic_name(&topic.name)))
            .with_topic_id(topic.id)
            .with_partitions(partitions.collect())
            .with_topic_authorized_operations(NO_OPERATIONS)
    }

    fn offline(&self, state: &PartitionState) -> Vec<BrokerId> {
        let fenced = |id: &&i32| self.image.broker(**id).is_none_or(|broker| broker.fenced);
        state
            .replicas
            .iter()
            .filter(fenced)
            .copied()
            .map(BrokerId)
            .collect()
    }

    fn cluster_answer(&self, request: &DescribeClusterRequest, listener: &str) -> DescribeClusterResponse {
        if request.endpoint_type != BROKER_ENDPOINTS {
            return DescribeClusterResponse::default()
                .with_error_code(ResponseError::MismatchedEndpointType.code())
                .with_cluster_id(text(&self.cluster_id))
                .with_endpoint_type(BROKER_ENDPOINTS);
        }
        let brokers = self.image.brokers().filter_map(|(id, broker)| {
            let endpoint = broker.endpoints.get(listener)?;
            (request.include_fenced_brokers || !broker.fenced).then(|| {
                DescribeClusterBroker::default()
                    .with_broker_id(BrokerId(id))
                    .with_host(text(&endpoint.host))
                    .with_port(i32::from(endpoint.port))
                    .with_is_fenced(broker.fenced)
            })
        });
        DescribeClusterResponse::default()
            .with_cluster_id(text(&self.cluster_id))
            .with_endpoint_type(BROKER_ENDPOINTS)
            .with_controller_id(BrokerId(self.config.node_id))
            .with_brokers(brokers.collect())
            .with_cluster_authorized_operations(NO_OPERATIONS)
    }

    /// Topics in the order of their names, from the cursor on, as many partitions as may be.
    fn describe_topics(
        &self,
        request: &DescribeTopicPartitionsRequest,
        listener: &str,
    ) -> DescribeTopicPartitionsResponse {
        let by = By {
            listener,
            missing: ResponseError::ListenerNotFound,
        };
        let limit = usize::try_from(request.response_partition_limit)
            .unwrap_or(0)
            .clamp(1, MAX_PARTITIONS);
        let mut names: Vec<String> = if request.topics.is_empty() {
            self.image.topics().map(|topic| topic.name.clone()).collect()
        } else {
            request
                .topics
                .iter()
                .map(|topic| topic.name.to_string())
                .collect()
        };
        names.sort();
        names.dedup();
        let (from_topic, from_partition) = match &request.cursor {
            Some(cursor) => (cursor.topic_name.to_string(), cursor.partition_index),
            None => (String::new(), 0),
        };
        let mut answer = DescribeTopicPartitionsResponse::default();
        let mut room = limit;
        for name in names.into_iter().filter(|name| *name >= from_topic) {
            let first = if name == from_topic { from_partition } else { 0 };
            let Some(topic) = self.image.topic_named(&name) else {
                answer.topics.push(
                    DescribeTopicPartitionsResponseTopic::default()
                        .with_name(Some(topic_name(&name)))
                        .with_error_code(ResponseError::UnknownTopicOrPartition.code())
                        .with_topic_authorized_operations(NO_OPERATIONS),
                );
                continue;
            };
            let mut rest = topic.partitions.range(first..);
            let partitions: Vec<_> = rest
                .by_ref()
                .take(room)
                .map(|(index, state)| self.describe(*index, state, &by))
                .collect();
            room -= partitions.len();
            if !partitions.is_empty() || topic.partitions.is_empty() {
                answer.topics.push(
                    DescribeTopicPartitionsResponseTopic::default()
                        .with_name(Some(topic_name(&name)))
                        .with_topic_id(topic.id)
                        .with_partitions(partitions)
                        .with_topic_authorized_operations(NO_OPERATIONS),
                );
            }
            if let Some((next, _)) = rest.next() {
                answer.next_cursor = Some(
                    Cursor::default()
                        .with_topic_name(topic_name(&name))
                        .with_partition_index(*next),
                );
                break;
            }
        }
        answer
    }

    fn describe(
        &self,
        index: i32,
        state: &PartitionState,
        by: &By<'_>,
    ) -> DescribeTopicPartitionsResponsePartition {
        let (leader, error) = self.leader_for(state, by);
        DescribeTopicPartitionsResponsePartition::default()
            .with_error_code(error)
            .with_partition_index(index)
            .with_leader_id(leader)
            .with_leader_epoch(state.leader_epoch)
            .with_replica_nodes(ids(&state.replicas))
            .with_isr_nodes(ids(&state.isr))
            .with_eligible_leader_replicas(Some(ids(&state.elr)))
            .with_last_known_elr(Some(ids(&state.last_known_elr)))
            .with_offline_replicas(self.offline(state))
    }
}

/// Before version 12 an answer cannot leave the name out.
fn version_needs_name(version: i16) -> Option<TopicName> {
    (version < 12).then(TopicName::default)
}

fn unknown_topic(name: Option<TopicName>, id: uuid::Uuid, error: ResponseError) -> MetadataResponseTopic {
    MetadataResponseTopic::default()
        .with_name(name)
        .with_topic_id(id)
        .with_error_code(error.code())
        .with_topic_authorized_operations(NO_OPERATIONS)
}

fn ids(ids: &[i32]) -> Vec<BrokerId> {
    ids.iter().copied().map(BrokerId).collect()
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn topic_name(name: &str) -> TopicName {
    TopicName(text(name))
}
