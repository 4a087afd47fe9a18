//! What administrators ask of the active controller. Each part of a request (a topic, a partition, a resource) is a batch
//! of its own, which the next part sees; the answer goes out once all of them are committed.

use std::collections::BTreeMap;

use controller::{
    AlterConfigs, ConfigChange, ConfigResource, Controller, CreatePartitions, Direction, Election, ErrorCode,
    FeatureUpdate, Outcome, Reassign, Refused,
};
use kafka_protocol::messages::alter_partition_reassignments_response::{
    ReassignablePartitionResponse, ReassignableTopicResponse,
};
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::create_partitions_response::CreatePartitionsTopicResult;
use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;
use kafka_protocol::messages::elect_leaders_response::{PartitionResult, ReplicaElectionResult};
use kafka_protocol::messages::incremental_alter_configs_request::AlterConfigsResource;
use kafka_protocol::messages::incremental_alter_configs_response::AlterConfigsResourceResponse;
use kafka_protocol::messages::list_partition_reassignments_response::{
    OngoingPartitionReassignment, OngoingTopicReassignment,
};
use kafka_protocol::messages::update_features_request::FeatureUpdateKey;
use kafka_protocol::messages::update_features_response::UpdatableFeatureResult;
use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, ApiKey, BrokerId,
    CreatePartitionsRequest, CreatePartitionsResponse, DeleteTopicsRequest, DeleteTopicsResponse,
    ElectLeadersRequest, ElectLeadersResponse, IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse, ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse,
    TopicName, UnregisterBrokerRequest, UnregisterBrokerResponse, UpdateFeaturesRequest,
    UpdateFeaturesResponse,
};
use kafka_protocol::protocol::StrBytes;
use records::Feature;
use uuid::Uuid;

use super::requests::Served;
use super::{Fate, Node};
use crate::admin::{Administrative, topics_to_delete};
use crate::features;
use crate::net::server::Incoming;
use crate::quorum::Fatal;

/// A topic among the resources that can be configured.
const TOPIC_RESOURCE: i8 = 2;
/// A broker; the empty name is all brokers.
const BROKER_RESOURCE: i8 = 4;
/// The operations on a configuration that make sense where none is a list: set and delete.
const SET: i8 = 0;
const DELETE: i8 = 1;
/// The kinds of elections.
const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;
/// The first kind of feature update that may lower a level.
const SAFE_DOWNGRADE: i8 = 2;

/// How one part of a request ended.
type Ended = Result<(), Refused>;

impl Node {
    /// Takes a request of an administrator.
    pub(super) fn administer(&mut self, incoming: Incoming) -> Served {
        match incoming.key {
            ApiKey::DeleteTopics => self.act(incoming, Node::delete_topics),
            ApiKey::CreatePartitions => self.act(incoming, Node::create_partitions),
            ApiKey::IncrementalAlterConfigs => self.act(incoming, Node::alter_configs),
            ApiKey::ElectLeaders => self.act(incoming, Node::elect_leaders),
            ApiKey::AlterPartitionReassignments => self.act(incoming, Node::reassign),
            ApiKey::ListPartitionReassignments => self.act(incoming, Node::list_reassignments),
            ApiKey::UnregisterBroker => self.act(incoming, Node::unregister_broker),
            _ => self.act(incoming, Node::update_features),
        }
    }

    fn act<R: Administrative>(
        &mut self,
        incoming: Incoming,
        act: fn(&mut Node, &R) -> Result<R::Response, Fatal>,
    ) -> Served
    where
        R::Response: Send,
    {
        let (request, reply) = incoming.decode::<R>()?;
        let lost = request.all_failed(ErrorCode::NotController.code());
        if self.active.is_none() {
            reply.send(&lost);
            return Ok(Ok(()));
        }
        let answer = match act(self, &request) {
            Ok(answer) => answer,
            Err(fatal) => return Ok(Err(fatal)),
        };
        self.when_committed(Box::new(move |fate| match fate {
            Fate::Committed => reply.send(&answer),
            Fate::Lost => reply.send(&lost),
        }));
        // Without the leadership nothing is ever committed here.
        if self.active.is_none() {
            self.lose_waiting();
        }
        Ok(Ok(()))
    }

    /// Decides one part, and appends it unless it is only to be checked.
    fn part(
        &mut self,
        only_check: bool,
        decide: impl FnOnce(&mut Controller) -> Outcome<Ended>,
    ) -> Result<Ended, Fatal> {
        let not_active = || {
            Ok(Err((
                ErrorCode::NotController,
                "another controller is active".to_owned(),
            )))
        };
        if self.active.is_none() {
            return not_active();
        }
        let outcome = decide(&mut self.state);
        if !only_check && !self.append(&outcome.records)? {
            return not_active();
        }
        Ok(outcome.reply)
    }

    fn delete_topics(&mut self, request: &DeleteTopicsRequest) -> Result<DeleteTopicsResponse, Fatal> {
        let mut results = Vec::new();
        for (name, id) in topics_to_delete(request) {
            let found = match &name {
                Some(name) => self.state.image().topic_id(name.as_str()),
                None => Some(id),
            };
            let ended = match found {
                Some(id) => self.part(false, |state| delete_topic(state, id))?,
                None => Err((
                    ErrorCode::UnknownTopicOrPartition,
                    "there is no such topic".into(),
                )),
            };
            let (error, message) = told(ended);
            results.push(
                DeletableTopicResult::default()
                    .with_name(name)
                    .with_topic_id(found.unwrap_or(id))
                    .with_error_code(error)
                    .with_error_message(message),
            );
        }
        Ok(DeleteTopicsResponse::default().with_responses(results))
    }

    fn create_partitions(
        &mut self,
        request: &CreatePartitionsRequest,
    ) -> Result<CreatePartitionsResponse, Fatal> {
        let mut results = Vec::new();
        for topic in &request.topics {
            let asked = growth(topic, self.quorum.end_offset());
            let ended = self.part(request.validate_only, |state| state.create_partitions(&asked))?;
            let (error, message) = told(ended);
            results.push(
                CreatePartitionsTopicResult::default()
                    .with_name(topic.name.clone())
                    .with_error_code(error)
                    .with_error_message(message),
            );
        }
        Ok(CreatePartitionsResponse::default().with_results(results))
    }

    fn alter_configs(
        &mut self,
        request: &IncrementalAlterConfigsRequest,
    ) -> Result<IncrementalAlterConfigsResponse, Fatal> {
        let mut responses = Vec::new();
        for resource in &request.resources {
            let ended = match configuration(resource) {
                Ok(asked) => self.part(request.validate_only, |state| state.alter_configs(&asked))?,
                Err(refused) => Err(refused),
            };
            let (error, message) = told(ended);
            responses.push(
                AlterConfigsResourceResponse::default()
                    .with_resource_type(resource.resource_type)
                    .with_resource_name(resource.resource_name.clone())
                    .with_error_code(error)
                    .with_error_message(message),
            );
        }
        Ok(IncrementalAlterConfigsResponse::default().with_responses(responses))
    }

    fn elect_leaders(&mut self, request: &ElectLeadersRequest) -> Result<ElectLeadersResponse, Fatal> {
        let election = match request.election_type {
            PREFERRED => Election::Preferred,
            UNCLEAN => Election::Unclean,
            _ => return Ok(request.all_failed(ErrorCode::InvalidRequest.code())),
        };
        let mut results = Vec::new();
        let everywhere = request.topic_partitions.is_none();
        for (topic, partitions) in self.partitions_to_elect(request) {
            let mut of_topic = Vec::new();
            for partition in partitions {
                let decide = |state: &mut Controller| state.elect_leader(election, topic.as_str(), partition);
                let ended = self.part(false, decide)?;
                // Where all were asked for, those that need none are not spoken of.
                if everywhere && matches!(ended, Err((ErrorCode::ElectionNotNeeded, _))) {
                    continue;
                }
                let (error, message) = told(ended);
                of_topic.push(
                    PartitionResult::default()
                        .with_partition_id(partition)
                        .with_error_code(error)
                        .with_error_message(message),
                );
            }
            if !of_topic.is_empty() {
                results.push(
                    ReplicaElectionResult::default()
                        .with_topic(topic)
                        .with_partition_result(of_topic),
                );
            }
        }
        Ok(ElectLeadersResponse::default().with_replica_election_results(results))
    }

    fn partitions_to_elect(&self, request: &ElectLeadersRequest) -> Vec<(TopicName, Vec<i32>)> {
        match &request.topic_partitions {
            Some(topics) => topics
                .iter()
                .map(|topic| (topic.topic.clone(), topic.partitions.clone()))
                .collect(),
            None => {
                let topics = self.state.image().topics().values();
                topics
                    .map(|topic| {
                        (
                            topic_name(&topic.name),
                            topic.partitions.keys().copied().collect(),
                        )
                    })
                    .collect()
            }
        }
    }

    fn reassign(
        &mut self,
        request: &AlterPartitionReassignmentsRequest,
    ) -> Result<AlterPartitionReassignmentsResponse, Fatal> {
        let mut responses = Vec::new();
        for topic in &request.topics {
            let mut of_topic = Vec::new();
            for partition in &topic.partitions {
                let replicas = partition.replicas.as_ref();
                let asked = Reassign {
                    topic: topic.name.to_string(),
                    partition_id: partition.partition_index,
                    replicas: replicas.map(|replicas| replicas.iter().map(|id| id.0).collect()),
                    may_resize: request.allow_replication_factor_change,
                };
                let (error, message) = told(self.part(false, |state| state.reassign(&asked))?);
                of_topic.push(
                    ReassignablePartitionResponse::default()
                        .with_partition_index(partition.partition_index)
                        .with_error_code(error)
                        .with_error_message(message),
                );
            }
            responses.push(
                ReassignableTopicResponse::default()
                    .with_name(topic.name.clone())
                    .with_partitions(of_topic),
            );
        }
        Ok(AlterPartitionReassignmentsResponse::default()
            .with_allow_replication_factor_change(request.allow_replication_factor_change)
            .with_responses(responses))
    }

    fn list_reassignments(
        &mut self,
        request: &ListPartitionReassignmentsRequest,
    ) -> Result<ListPartitionReassignmentsResponse, Fatal> {
        let asked = |topic: &str, partition: i32| match &request.topics {
            None => true,
            Some(topics) => topics
                .iter()
                .any(|it| it.name.as_str() == topic && it.partition_indexes.contains(&partition)),
        };
        let topics = self.state.image().topics().values().filter_map(|topic| {
            let under_way = topic.partitions.iter().filter(|(id, partition)| {
                let moves = !partition.adding_replicas.is_empty() || !partition.removing_replicas.is_empty();
                moves && asked(&topic.name, **id)
            });
            let partitions: Vec<_> = under_way.map(|(id, partition)| ongoing(*id, partition)).collect();
            (!partitions.is_empty()).then(|| {
                OngoingTopicReassignment::default()
                    .with_name(topic_name(&topic.name))
                    .with_partitions(partitions)
            })
        });
        Ok(ListPartitionReassignmentsResponse::default().with_topics(topics.collect()))
    }

    fn unregister_broker(
        &mut self,
        request: &UnregisterBrokerRequest,
    ) -> Result<UnregisterBrokerResponse, Fatal> {
        let id = request.broker_id.0;
        let ended = self.part(false, |state| {
            let outcome = state.unregister_broker(id);
            let why = |error| (error, format!("broker {id} is not registered"));
            Outcome {
                records: outcome.records,
                reply: outcome.reply.map_err(why),
            }
        })?;
        let (error, message) = told(ended);
        Ok(UnregisterBrokerResponse::default()
            .with_error_code(error)
            .with_error_message(message))
    }

    fn update_features(&mut self, request: &UpdateFeaturesRequest) -> Result<UpdateFeaturesResponse, Fatal> {
        let supported: Vec<Feature> = features::SUPPORTED.iter().map(feature).collect();
        let updates: Vec<FeatureUpdate> = request.feature_updates.iter().map(update).collect();
        let ended = self.part(request.validate_only, |state| {
            state.update_features(&supported, &updates)
        })?;
        let (error, message) = told(ended);
        // Versions before 2 say it of each feature too: all or none were changed.
        let results = request.feature_updates.iter().map(|update| {
            UpdatableFeatureResult::default()
                .with_feature(update.feature.clone())
                .with_error_code(error)
                .with_error_message(message.clone())
        });
        Ok(UpdateFeaturesResponse::default()
            .with_error_code(error)
            .with_error_message(message.clone())
            .with_results(results.collect()))
    }
}

/// An error and what is said of it, as answers have them.
fn told(ended: Ended) -> (i16, Option<StrBytes>) {
    match ended {
        Ok(()) => (0, None),
        Err((error, why)) => (error.code(), Some(StrBytes::from_string(why))),
    }
}

fn topic_name(name: &str) -> TopicName {
    TopicName(StrBytes::from_string(name.to_owned()))
}

fn delete_topic(state: &mut Controller, id: Uuid) -> Outcome<Ended> {
    let outcome = state.delete_topic(id);
    Outcome {
        records: outcome.records,
        reply: outcome
            .reply
            .map_err(|error| (error, "there is no such topic".to_owned())),
    }
}

fn growth(topic: &CreatePartitionsTopic, next_offset: i64) -> CreatePartitions {
    let replicas =
        |assigned: &kafka_protocol::messages::create_partitions_request::CreatePartitionsAssignment| {
            assigned.broker_ids.iter().map(|id| id.0).collect()
        };
    let assignment = topic.assignments.as_ref();
    CreatePartitions {
        topic: topic.name.to_string(),
        count: topic.count,
        assignment: assignment.map(|assigned| assigned.iter().map(replicas).collect()),
        // As for new topics: not always the same broker first.
        shift: usize::try_from(next_offset).unwrap_or(0),
    }
}

fn configuration(resource: &AlterConfigsResource) -> Result<AlterConfigs, Refused> {
    let name = resource.resource_name.to_string();
    let of = match (resource.resource_type, name.as_str()) {
        (TOPIC_RESOURCE, _) => ConfigResource::Topic(name),
        (BROKER_RESOURCE, "") => ConfigResource::AllBrokers,
        (kind, _) => {
            let why = format!(
                "resource {name:?} of type {kind}: topics and all brokers together can be configured"
            );
            return Err((ErrorCode::InvalidRequest, why));
        }
    };
    let mut changes = BTreeMap::new();
    for config in &resource.configs {
        let key = config.name.to_string();
        let change = match (config.config_operation, &config.value) {
            (SET, Some(value)) => ConfigChange::Set(value.to_string()),
            (DELETE, _) => ConfigChange::Delete,
            (operation, _) => {
                let why = format!("operation {operation} on {key}: it can be set to a value, and deleted");
                return Err((ErrorCode::InvalidConfig, why));
            }
        };
        if changes.insert(key.clone(), change).is_some() {
            return Err((ErrorCode::InvalidRequest, format!("{key} stands there twice")));
        }
    }
    Ok(AlterConfigs {
        resource: of,
        changes,
    })
}

fn ongoing(index: i32, partition: &controller::Partition) -> OngoingPartitionReassignment {
    let ids = |ids: &[i32]| ids.iter().copied().map(BrokerId).collect();
    OngoingPartitionReassignment::default()
        .with_partition_index(index)
        .with_replicas(ids(&partition.replicas))
        .with_adding_replicas(ids(&partition.adding_replicas))
        .with_removing_replicas(ids(&partition.removing_replicas))
}

fn feature(feature: &features::Feature) -> Feature {
    Feature {
        name: feature.name.to_owned(),
        min: feature.least,
        max: feature.most,
    }
}

fn update(update: &FeatureUpdateKey) -> FeatureUpdate {
    let may_fall = update.allow_downgrade || update.upgrade_type >= SAFE_DOWNGRADE;
    FeatureUpdate {
        name: update.feature.to_string(),
        level: update.max_version_level,
        direction: if may_fall {
            Direction::UpOrDown
        } else {
            Direction::Up
        },
    }
}
