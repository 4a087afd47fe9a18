//! AlterPartition: a leader proposes an ISR (KIP-497; KIP-903 for the broker epochs).

use crate::change::Change;
use crate::error_code::ErrorCode;
use crate::image::{Partition, Topic};
use crate::{Controller, Outcome};
use records::Record;
use std::collections::BTreeSet;
use uuid::Uuid;

/// A leader's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterPartition {
    /// Who asks.
    pub broker_id: i32,
    /// Its epoch.
    pub broker_epoch: i64,
    /// What it proposes.
    pub partitions: Vec<PartitionToAlter>,
}

/// One partition of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionToAlter {
    /// The topic.
    pub topic_id: Uuid,
    /// The partition.
    pub partition_id: i32,
    /// The leader epoch that the leader is in.
    pub leader_epoch: i32,
    /// The partition epoch that it knows.
    pub partition_epoch: i32,
    /// The ISR, each member with its broker epoch; −1 is any.
    pub new_isr: Vec<(i32, i64)>,
    /// Whether the leader still recovers from an unclean election.
    pub recovering: bool,
}

/// The answer for one partition: the state that holds once the batch is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlteredPartition {
    /// The leader; −1 is none.
    pub leader: i32,
    /// Its epoch.
    pub leader_epoch: i32,
    /// The ISR.
    pub isr: Vec<i32>,
    /// Whether it recovers.
    pub recovering: bool,
    /// The partition's epoch.
    pub partition_epoch: i32,
}

/// The answer: an error for all, or one for each partition, in the request's order.
pub type AlterPartitionAnswer = Result<Vec<Result<AlteredPartition, ErrorCode>>, ErrorCode>;

impl Controller {
    /// A leader proposes ISRs.
    pub fn alter_partition(&self, request: &AlterPartition) -> Outcome<AlterPartitionAnswer> {
        let epoch = self
            .image
            .brokers()
            .get(&request.broker_id)
            .map(|broker| broker.epoch);
        if epoch != Some(request.broker_epoch) {
            return Outcome::reply(Err(ErrorCode::StaleBrokerEpoch));
        }
        let mut records = Vec::new();
        let mut seen = BTreeSet::new();
        let answers = request.partitions.iter().map(|wanted| {
            let (topic, partition) = self.check(request.broker_id, wanted)?;
            // A second proposal would be built from the state before the first.
            if !seen.insert((wanted.topic_id, wanted.partition_id)) {
                return Err(ErrorCode::InvalidRequest);
            }
            self.alter(topic, partition, wanted, &mut records)
        });
        let answers = answers.collect();
        Outcome {
            records,
            reply: Ok(answers),
        }
    }

    /// Every reason to refuse, in the order in which Kafka looks for them.
    fn check(&self, broker: i32, wanted: &PartitionToAlter) -> Result<(&Topic, &Partition), ErrorCode> {
        let topic = self
            .image
            .topics()
            .get(&wanted.topic_id)
            .ok_or(ErrorCode::UnknownTopicId)?;
        let partition = topic
            .partitions
            .get(&wanted.partition_id)
            .ok_or(ErrorCode::UnknownTopicOrPartition)?;
        if wanted.leader_epoch > partition.leader_epoch || wanted.partition_epoch > partition.partition_epoch
        {
            return Err(ErrorCode::NotController);
        }
        if wanted.leader_epoch < partition.leader_epoch {
            return Err(ErrorCode::FencedLeaderEpoch);
        }
        if partition.leader != broker {
            return Err(ErrorCode::InvalidRequest);
        }
        if wanted.partition_epoch < partition.partition_epoch {
            return Err(ErrorCode::InvalidUpdateVersion);
        }
        let isr: Vec<i32> = wanted.new_isr.iter().map(|(id, _)| *id).collect();
        let twice = (1..isr.len()).any(|i| isr[..i].contains(&isr[i]));
        let strange = isr.iter().any(|id| !partition.replicas.contains(id));
        let recovery = wanted.recovering && (isr.len() > 1 || !partition.recovering);
        if twice || strange || !isr.contains(&broker) || recovery {
            return Err(ErrorCode::InvalidRequest);
        }
        if wanted
            .new_isr
            .iter()
            .any(|(id, epoch)| !self.may_join(*id, *epoch))
        {
            return Err(ErrorCode::IneligibleReplica);
        }
        Ok((topic, partition))
    }

    fn may_join(&self, id: i32, epoch: i64) -> bool {
        let Some(broker) = self.image.brokers().get(&id) else {
            return false;
        };
        broker.is_active() && (epoch == -1 || epoch == broker.epoch)
    }

    fn alter(
        &self,
        topic: &Topic,
        partition: &Partition,
        wanted: &PartitionToAlter,
        records: &mut Vec<Record>,
    ) -> Result<AlteredPartition, ErrorCode> {
        let change = Change {
            target_isr: wanted.new_isr.iter().map(|(id, _)| *id).collect(),
            recovered: !wanted.recovering,
            ..self.change(wanted.topic_id, topic, wanted.partition_id, partition)
        };
        let record = change.build(|id| self.image.is_active(id));
        let mut altered = AlteredPartition {
            leader: partition.leader,
            leader_epoch: partition.leader_epoch,
            isr: partition.isr.clone(),
            recovering: partition.recovering,
            partition_epoch: partition.partition_epoch,
        };
        if let Some(record) = record {
            altered.partition_epoch += 1;
            if let Some(leader) = record.leader {
                altered.leader = leader;
                altered.leader_epoch += 1;
            }
            if let Some(isr) = &record.isr {
                altered.isr.clone_from(isr);
            }
            if let Some(state) = record.leader_recovery_state {
                altered.recovering = state == 1;
            }
            records.push(Record::PartitionChange(record));
        }
        // A reassignment that ends may take the leadership from who asks; the metadata tells it the rest.
        match altered.leader == partition.leader {
            true => Ok(altered),
            false => Err(ErrorCode::NewLeaderElected),
        }
    }
}
