//! Changes of the ISR, proposed to the active controller: one AlterPartition at a time, for all partitions
//! that have something to propose.

use std::collections::BTreeMap;

use kafka_protocol::ResponseError;
use kafka_protocol::error::ParseResponseErrorCode;
use kafka_protocol::messages::alter_partition_request::{BrokerState, PartitionData, TopicData};
use kafka_protocol::messages::{AlterPartitionRequest, AlterPartitionResponse, BrokerId};
use replication::{AlterIsr, AlterIsrError, AlteredIsr};
use uuid::Uuid;

use super::partition::Key;
use super::{Broker, Event};

/// The version in which proposals name the members' broker epochs.
const VERSION: i16 = 3;
/// The pause before a proposal that got no answer is sent again.
const RETRY_MS: u64 = 50;
/// A leader that proposes an ISR has recovered.
const RECOVERED: i8 = 0;

/// Proposals by partition.
pub type Proposals = BTreeMap<Key, AlterIsr>;

/// Proposals, waiting and under way.
#[derive(Debug, Default)]
pub struct IsrSender {
    queue: Proposals,
    in_flight: bool,
    not_before: u64,
}

impl IsrSender {
    /// Takes a proposal; it replaces an older one for the same partition.
    pub fn push(&mut self, key: Key, proposal: AlterIsr) {
        self.queue.insert(key, proposal);
    }

    /// When the next request may be sent, if there is anything to send.
    pub fn next_deadline(&self) -> Option<u64> {
        (!self.queue.is_empty() && !self.in_flight).then_some(self.not_before)
    }
}

impl Broker {
    /// Sends what is to be proposed.
    pub fn propose_isrs(&mut self) {
        let now = self.clock.ms();
        if self.isr_sender.next_deadline().is_none_or(|at| at > now) {
            return;
        }
        let Some(controller) = self.quorum.leader_address() else {
            self.isr_sender.not_before = now + RETRY_MS;
            return;
        };
        let proposals = std::mem::take(&mut self.isr_sender.queue);
        self.isr_sender.in_flight = true;
        let request = self.alter_partition(&proposals);
        self.ask(controller, VERSION, request, move |answer| Event::IsrAnswered {
            proposals,
            answer,
        });
    }

    fn alter_partition(&self, proposals: &Proposals) -> AlterPartitionRequest {
        let mut topics: BTreeMap<Uuid, TopicData> = BTreeMap::new();
        for ((topic, index), proposal) in proposals {
            let member = |member: &replication::IsrMember| {
                BrokerState::default()
                    .with_broker_id(BrokerId(member.broker))
                    .with_broker_epoch(member.broker_epoch)
            };
            let partition = PartitionData::default()
                .with_partition_index(*index)
                .with_leader_epoch(proposal.leader_epoch)
                .with_partition_epoch(proposal.partition_epoch)
                .with_leader_recovery_state(RECOVERED)
                .with_new_isr_with_epochs(proposal.isr.iter().map(member).collect());
            topics
                .entry(*topic)
                .or_insert_with(|| TopicData::default().with_topic_id(*topic))
                .partitions
                .push(partition);
        }
        AlterPartitionRequest::default()
            .with_broker_id(BrokerId(self.config.node_id))
            .with_broker_epoch(self.registration.epoch.unwrap_or(-1))
            .with_topics(topics.into_values().collect())
    }

    /// The active controller answered, or did not.
    pub fn isr_answered(&mut self, proposals: Proposals, answer: Option<AlterPartitionResponse>) {
        self.isr_sender.in_flight = false;
        let mut answers = by_partition(answer);
        let mut retried = false;
        for (key, proposal) in proposals {
            let answer = answers.remove(&key).unwrap_or(Err(AlterIsrError::Retriable));
            retried |= answer == Err(AlterIsrError::Retriable);
            let now = self.clock.ms();
            if let Some(partition) = self.partitions.get_mut(&key) {
                let effects = partition.isr_answer(&proposal, answer, now, &self.image.brokers_view());
                self.effects(key, effects);
            }
        }
        self.isr_sender.not_before = if retried { self.clock.ms() + RETRY_MS } else { 0 };
    }
}

type Answer = Result<AlteredIsr, AlterIsrError>;

/// The answer for each partition; none where the request as a whole failed, which is tried again.
fn by_partition(answer: Option<AlterPartitionResponse>) -> BTreeMap<Key, Answer> {
    let mut answers = BTreeMap::new();
    let topics = answer
        .filter(|answer| answer.error_code == 0)
        .map(|answer| answer.topics);
    for topic in topics.into_iter().flatten() {
        for partition in topic.partitions {
            let answer = match partition.error_code.err() {
                Some(error) => Err(alter_error(error)),
                None => Ok(AlteredIsr {
                    leader_epoch: partition.leader_epoch,
                    partition_epoch: partition.partition_epoch,
                    isr: partition.isr.iter().map(|broker| broker.0).collect(),
                }),
            };
            answers.insert((topic.topic_id, partition.partition_index), answer);
        }
    }
    answers
}

fn alter_error(error: ResponseError) -> AlterIsrError {
    match error {
        ResponseError::OperationNotAttempted | ResponseError::IneligibleReplica => AlterIsrError::Rejected,
        ResponseError::UnknownTopicOrPartition
        | ResponseError::UnknownTopicId
        | ResponseError::FencedLeaderEpoch
        | ResponseError::InvalidUpdateVersion
        | ResponseError::InvalidRequest
        | ResponseError::NewLeaderElected => AlterIsrError::Outdated,
        _ => AlterIsrError::Retriable,
    }
}
