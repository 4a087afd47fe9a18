//! What administrators ask for, and only the active controller does: brokers pass it on. How each answer says that
//! nothing was done, or that it is not known.

use kafka_protocol::messages::alter_partition_reassignments_response::{
    ReassignablePartitionResponse, ReassignableTopicResponse,
};
use kafka_protocol::messages::create_partitions_response::CreatePartitionsTopicResult;
use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;
use kafka_protocol::messages::elect_leaders_response::{PartitionResult, ReplicaElectionResult};
use kafka_protocol::messages::incremental_alter_configs_response::AlterConfigsResourceResponse;
use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, CreatePartitionsRequest,
    CreatePartitionsResponse, DeleteTopicsRequest, DeleteTopicsResponse, ElectLeadersRequest,
    ElectLeadersResponse, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse, TopicName,
    UnregisterBrokerRequest, UnregisterBrokerResponse, UpdateFeaturesRequest, UpdateFeaturesResponse,
};
use kafka_protocol::protocol::Request;
use uuid::Uuid;

/// A request for the active controller.
pub trait Administrative: Request + Send + Sync + 'static {
    /// The answer that gives all of it the same error.
    fn all_failed(&self, error: i16) -> Self::Response;
}

/// The topics that a deletion names: by name, and from version 6 on by id.
pub fn topics_to_delete(request: &DeleteTopicsRequest) -> Vec<(Option<TopicName>, Uuid)> {
    let named = request.topic_names.iter();
    let named = named.map(|name| (Some(name.clone()), Uuid::nil()));
    let topics = request.topics.iter();
    named
        .chain(topics.map(|topic| (topic.name.clone(), topic.topic_id)))
        .collect()
}

impl Administrative for DeleteTopicsRequest {
    fn all_failed(&self, error: i16) -> DeleteTopicsResponse {
        let failed = |(name, id)| {
            DeletableTopicResult::default()
                .with_name(name)
                .with_topic_id(id)
                .with_error_code(error)
        };
        let topics = topics_to_delete(self).into_iter();
        DeleteTopicsResponse::default().with_responses(topics.map(failed).collect())
    }
}

impl Administrative for CreatePartitionsRequest {
    fn all_failed(&self, error: i16) -> CreatePartitionsResponse {
        let topics = self.topics.iter().map(|topic| {
            CreatePartitionsTopicResult::default()
                .with_name(topic.name.clone())
                .with_error_code(error)
        });
        CreatePartitionsResponse::default().with_results(topics.collect())
    }
}

impl Administrative for IncrementalAlterConfigsRequest {
    fn all_failed(&self, error: i16) -> IncrementalAlterConfigsResponse {
        let resources = self.resources.iter().map(|resource| {
            AlterConfigsResourceResponse::default()
                .with_resource_type(resource.resource_type)
                .with_resource_name(resource.resource_name.clone())
                .with_error_code(error)
        });
        IncrementalAlterConfigsResponse::default().with_responses(resources.collect())
    }
}

impl Administrative for ElectLeadersRequest {
    fn all_failed(&self, error: i16) -> ElectLeadersResponse {
        let topics = self.topic_partitions.iter().flatten().map(|topic| {
            let partitions = topic.partitions.iter().map(|partition| {
                PartitionResult::default()
                    .with_partition_id(*partition)
                    .with_error_code(error)
            });
            ReplicaElectionResult::default()
                .with_topic(topic.topic.clone())
                .with_partition_result(partitions.collect())
        });
        ElectLeadersResponse::default()
            .with_error_code(error)
            .with_replica_election_results(topics.collect())
    }
}

impl Administrative for AlterPartitionReassignmentsRequest {
    fn all_failed(&self, error: i16) -> AlterPartitionReassignmentsResponse {
        let topics = self.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|partition| {
                ReassignablePartitionResponse::default()
                    .with_partition_index(partition.partition_index)
                    .with_error_code(error)
            });
            ReassignableTopicResponse::default()
                .with_name(topic.name.clone())
                .with_partitions(partitions.collect())
        });
        AlterPartitionReassignmentsResponse::default()
            .with_error_code(error)
            .with_responses(topics.collect())
    }
}

impl Administrative for ListPartitionReassignmentsRequest {
    fn all_failed(&self, error: i16) -> ListPartitionReassignmentsResponse {
        ListPartitionReassignmentsResponse::default().with_error_code(error)
    }
}

impl Administrative for UnregisterBrokerRequest {
    fn all_failed(&self, error: i16) -> UnregisterBrokerResponse {
        UnregisterBrokerResponse::default().with_error_code(error)
    }
}

impl Administrative for UpdateFeaturesRequest {
    fn all_failed(&self, error: i16) -> UpdateFeaturesResponse {
        UpdateFeaturesResponse::default().with_error_code(error)
    }
}
