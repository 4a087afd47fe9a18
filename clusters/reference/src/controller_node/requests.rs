//! Requests that the active controller turns into records.

use std::collections::BTreeMap;

use controller::{
    AlterPartition, AlterPartitionAnswer, CreateTopic, CreatedTopic, ErrorCode, Heartbeat, Outcome,
    PartitionToAlter, Placement, RegisterBroker,
};
use kafka_protocol::messages::alter_partition_response::{PartitionData, TopicData};
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::create_topics_response::CreatableTopicResult;
use kafka_protocol::messages::{
    AlterPartitionRequest, AlterPartitionResponse, BrokerHeartbeatRequest, BrokerHeartbeatResponse, BrokerId,
    BrokerRegistrationRequest, BrokerRegistrationResponse, CreateTopicsRequest, CreateTopicsResponse,
};
use kafka_protocol::protocol::StrBytes;
use records::{EndPoint, Feature};
use uuid::Uuid;

use super::{Fate, Node};
use crate::diary::info;
use crate::net::frame::FrameError;
use crate::net::server::Incoming;
use crate::quorum::Fatal;

/// The first version of AlterPartition whose ISR names broker epochs.
const FIRST_VERSION_WITH_EPOCHS: i16 = 3;
/// The first version of CreateTopics whose answer tells a topic's id and size.
const FIRST_VERSION_WITH_DETAILS: i16 = 5;
/// "Any", of a broker epoch.
const ANY_EPOCH: i64 = -1;
/// The recovery state of a leader that still recovers.
const RECOVERING: i8 = 1;
/// "Do as is usual", of a number of partitions and of replicas.
const DEFAULT: i32 = -1;

/// A malformed request closes its connection; otherwise it was dealt with, or the node cannot go on.
pub(super) type Served = Result<Result<(), Fatal>, FrameError>;

impl Node {
    pub(super) fn register_broker(&mut self, incoming: Incoming) -> Served {
        let (request, reply) = incoming.decode::<BrokerRegistrationRequest>()?;
        let answer = |outcome: Result<i64, i16>| match outcome {
            Ok(epoch) => BrokerRegistrationResponse::default().with_broker_epoch(epoch),
            Err(code) => BrokerRegistrationResponse::default()
                .with_error_code(code)
                .with_broker_epoch(-1),
        };
        if self.active.is_none() {
            reply.send(&answer(Err(ErrorCode::NotController.code())));
            return Ok(Ok(()));
        }
        let asked = registration(request);
        let outcome = self
            .state
            .register_broker(self.clock.ms(), self.quorum.end_offset(), &asked);
        if outcome.reply.is_ok() {
            info!(
                "broker {} registers (its last clean shutdown ended epoch {})",
                asked.broker_id, asked.previous_broker_epoch
            );
        }
        Ok(self.decide(outcome, move |decided| {
            let epoch = decided.and_then(|registered| registered);
            reply.send(&answer(epoch.map_err(ErrorCode::code)));
        }))
    }

    pub(super) fn heartbeat(&mut self, incoming: Incoming) -> Served {
        let (request, reply) = incoming.decode::<BrokerHeartbeatRequest>()?;
        if self.active.is_none() {
            reply.send(&BrokerHeartbeatResponse::default().with_error_code(ErrorCode::NotController.code()));
            return Ok(Ok(()));
        }
        let heartbeat = Heartbeat {
            broker_id: request.broker_id.0,
            broker_epoch: request.broker_epoch,
            current_metadata_offset: request.current_metadata_offset,
            want_fence: request.want_fence,
            want_shut_down: request.want_shut_down,
        };
        let outcome = self.state.heartbeat(self.clock.ms(), &heartbeat);
        self.tell_of_fencing(heartbeat.broker_id, &outcome.records);
        Ok(self.decide(outcome, move |decided| {
            let answer = match decided.and_then(|answer| answer) {
                Ok(answer) => BrokerHeartbeatResponse::default()
                    .with_is_caught_up(answer.is_caught_up)
                    .with_is_fenced(answer.is_fenced)
                    .with_should_shut_down(answer.should_shut_down),
                Err(error) => BrokerHeartbeatResponse::default().with_error_code(error.code()),
            };
            reply.send(&answer);
        }))
    }

    fn tell_of_fencing(&self, broker: i32, records: &[records::Record]) {
        for record in records {
            if let records::Record::BrokerRegistrationChange(change) = record {
                match (change.fenced, change.in_controlled_shutdown) {
                    (1, _) => info!("broker {broker} is fenced, as it wishes"),
                    (-1, _) => info!("broker {broker} is unfenced"),
                    (_, 1) => info!("broker {broker} is shutting down"),
                    _ => {}
                }
            }
        }
    }

    pub(super) fn alter_partition(&mut self, incoming: Incoming) -> Served {
        let version = incoming.version;
        let (request, reply) = incoming.decode::<AlterPartitionRequest>()?;
        if self.active.is_none() {
            reply.send(&AlterPartitionResponse::default().with_error_code(ErrorCode::NotController.code()));
            return Ok(Ok(()));
        }
        let asked = alteration(request, version);
        let outcome = self.state.alter_partition(&asked);
        Ok(self.decide(outcome, move |decided| {
            reply.send(&alter_answer(&asked, decided.and_then(|answer| answer)));
        }))
    }

    pub(super) fn create_topics(&mut self, incoming: Incoming) -> Served {
        let (request, reply) = incoming.decode::<CreateTopicsRequest>()?;
        let version = reply.version();
        let mut results = Vec::new();
        for topic in &request.topics {
            let refused = |(error, why): (ErrorCode, String)| {
                CreatableTopicResult::default()
                    .with_name(topic.name.clone())
                    .with_error_code(error.code())
                    .with_error_message(Some(StrBytes::from_string(why)))
            };
            let result = match self.create_topic(topic, request.validate_only) {
                Ok(Ok(created)) => created_answer(topic, &created, version),
                Ok(Err(error)) => refused(error),
                Err(fatal) => return Ok(Err(fatal)),
            };
            results.push(result);
        }
        self.when_committed(Box::new(move |fate| {
            let results = match fate {
                Fate::Committed => results,
                Fate::Lost => results.into_iter().map(lost).collect(),
            };
            reply.send(&CreateTopicsResponse::default().with_topics(results));
        }));
        // Without the leadership nothing is ever committed here.
        if self.active.is_none() {
            self.lose_waiting();
        }
        Ok(Ok(()))
    }

    fn create_topic(
        &mut self,
        topic: &CreatableTopic,
        validate_only: bool,
    ) -> Result<Result<CreatedTopic, (ErrorCode, String)>, Fatal> {
        let not_active = || {
            Ok(Err((
                ErrorCode::NotController,
                "another controller is active".to_owned(),
            )))
        };
        if self.active.is_none() {
            return not_active();
        }
        let asked = match creation(topic, self.quorum.end_offset()) {
            Ok(asked) => asked,
            Err(refused) => return Ok(Err(refused)),
        };
        let outcome = self.state.create_topic(&asked);
        if !validate_only && !self.append(&outcome.records)? {
            return not_active();
        }
        Ok(outcome.reply)
    }

    /// Appends what was decided, and answers once it is committed; with NOT_CONTROLLER where it is not known to
    /// be, or never was appended.
    pub(super) fn decide<T: Send + 'static>(
        &mut self,
        outcome: Outcome<T>,
        answer: impl FnOnce(Result<T, ErrorCode>) + Send + 'static,
    ) -> Result<(), Fatal> {
        let appended = self.append(&outcome.records)?;
        if !appended {
            answer(Err(ErrorCode::NotController));
            return Ok(());
        }
        let reply = outcome.reply;
        self.when_committed(Box::new(move |fate| {
            answer(match fate {
                Fate::Committed => Ok(reply),
                Fate::Lost => Err(ErrorCode::NotController),
            });
        }));
        Ok(())
    }
}

fn registration(request: BrokerRegistrationRequest) -> RegisterBroker {
    let end_point = |listener: kafka_protocol::messages::broker_registration_request::Listener| EndPoint {
        name: listener.name.to_string(),
        host: listener.host.to_string(),
        port: listener.port,
        security_protocol: listener.security_protocol,
    };
    let feature = |feature: kafka_protocol::messages::broker_registration_request::Feature| Feature {
        name: feature.name.to_string(),
        min: feature.min_supported_version,
        max: feature.max_supported_version,
    };
    RegisterBroker {
        broker_id: request.broker_id.0,
        cluster_id: request.cluster_id.to_string(),
        incarnation_id: request.incarnation_id,
        previous_broker_epoch: request.previous_broker_epoch,
        end_points: request.listeners.into_iter().map(end_point).collect(),
        features: request.features.into_iter().map(feature).collect(),
        log_dirs: request.log_dirs,
        rack: request.rack.map(|rack| rack.to_string()),
    }
}

fn alteration(request: AlterPartitionRequest, version: i16) -> AlterPartition {
    let mut partitions = Vec::new();
    for topic in request.topics {
        for partition in topic.partitions {
            let new_isr = if version >= FIRST_VERSION_WITH_EPOCHS {
                let member = |member: &kafka_protocol::messages::alter_partition_request::BrokerState| {
                    (member.broker_id.0, member.broker_epoch)
                };
                partition.new_isr_with_epochs.iter().map(member).collect()
            } else {
                partition.new_isr.iter().map(|id| (id.0, ANY_EPOCH)).collect()
            };
            partitions.push(PartitionToAlter {
                topic_id: topic.topic_id,
                partition_id: partition.partition_index,
                leader_epoch: partition.leader_epoch,
                partition_epoch: partition.partition_epoch,
                new_isr,
                recovering: partition.leader_recovery_state == RECOVERING,
            });
        }
    }
    AlterPartition {
        broker_id: request.broker_id.0,
        broker_epoch: request.broker_epoch,
        partitions,
    }
}

fn alter_answer(asked: &AlterPartition, answer: AlterPartitionAnswer) -> AlterPartitionResponse {
    let answers = match answer {
        Ok(answers) => answers,
        Err(error) => return AlterPartitionResponse::default().with_error_code(error.code()),
    };
    let mut topics: BTreeMap<Uuid, TopicData> = BTreeMap::new();
    for (asked, answer) in asked.partitions.iter().zip(answers) {
        let data = PartitionData::default().with_partition_index(asked.partition_id);
        let data = match answer {
            Err(error) => data.with_error_code(error.code()),
            Ok(altered) => data
                .with_leader_id(BrokerId(altered.leader))
                .with_leader_epoch(altered.leader_epoch)
                .with_isr(altered.isr.into_iter().map(BrokerId).collect())
                .with_leader_recovery_state(i8::from(altered.recovering))
                .with_partition_epoch(altered.partition_epoch),
        };
        topics
            .entry(asked.topic_id)
            .or_insert_with(|| TopicData::default().with_topic_id(asked.topic_id))
            .partitions
            .push(data);
    }
    AlterPartitionResponse::default().with_topics(topics.into_values().collect())
}

/// What a client asks for; an assignment must number its partitions from 0 on, without a gap.
fn creation(topic: &CreatableTopic, next_offset: i64) -> Result<CreateTopic, (ErrorCode, String)> {
    let mut assigned: Vec<(i32, Vec<i32>)> = topic
        .assignments
        .iter()
        .map(|assignment| {
            (
                assignment.partition_index,
                assignment.broker_ids.iter().map(|id| id.0).collect(),
            )
        })
        .collect();
    assigned.sort();
    let placement = if assigned.is_empty() {
        Placement::Automatic {
            partitions: topic.num_partitions,
            replication_factor: topic.replication_factor,
            // Topics created one after the other begin on different brokers.
            shift: usize::try_from(next_offset).unwrap_or(0),
        }
    } else if topic.num_partitions != DEFAULT || i32::from(topic.replication_factor) != DEFAULT {
        let why = "where replicas are assigned, the numbers of partitions and replicas must be -1".to_owned();
        return Err((ErrorCode::InvalidRequest, why));
    } else if (0..)
        .zip(&assigned)
        .any(|(expected, (found, _))| expected != *found)
    {
        let why = "assigned partitions must be numbered from 0 on, without a gap".to_owned();
        return Err((ErrorCode::InvalidReplicaAssignment, why));
    } else {
        Placement::Assigned(assigned.into_iter().map(|(_, replicas)| replicas).collect())
    };
    let config = |config: &kafka_protocol::messages::create_topics_request::CreatableTopicConfig| {
        let value = config.value.as_ref()?;
        Some((config.name.to_string(), value.to_string()))
    };
    Ok(CreateTopic {
        name: topic.name.to_string(),
        topic_id: Uuid::new_v4(),
        placement,
        configs: topic.configs.iter().filter_map(config).collect(),
    })
}

fn created_answer(topic: &CreatableTopic, created: &CreatedTopic, version: i16) -> CreatableTopicResult {
    let answer = CreatableTopicResult::default().with_name(topic.name.clone());
    if version < FIRST_VERSION_WITH_DETAILS {
        return answer;
    }
    answer
        .with_topic_id(if version >= 7 {
            created.topic_id
        } else {
            Uuid::nil()
        })
        .with_num_partitions(created.partitions)
        .with_replication_factor(created.replication_factor)
        .with_configs(Some(Vec::new()))
}

/// A result that may never be committed.
fn lost(result: CreatableTopicResult) -> CreatableTopicResult {
    CreatableTopicResult::default()
        .with_name(result.name)
        .with_error_code(ErrorCode::NotController.code())
}
