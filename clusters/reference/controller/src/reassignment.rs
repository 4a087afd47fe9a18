//! Reassignments: a partition gets other replicas (KIP-455). Those that come join as followers; once all of them are in
//! the ISR, those that go leave (`change`).

use crate::change::{Assignment, Change, effective_min_isr, without};
use crate::elections::no_partition;
use crate::error_code::{ErrorCode, Refused};
use crate::image::Partition;
use crate::topics::{check_assignment, no_topic};
use crate::{Controller, Outcome};
use records::Record;

/// Another assignment of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reassign {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition_id: i32,
    /// The replicas that it is to have, the preferred leader first; none cancels what is under way.
    pub replicas: Option<Vec<i32>>,
    /// Whether it may have more or fewer replicas than before.
    pub may_resize: bool,
}

impl Controller {
    /// Begins a reassignment, replaces the one under way, or cancels it.
    pub fn reassign(&self, request: &Reassign) -> Outcome<Result<(), Refused>> {
        Outcome::of(self.reassigned(request))
    }

    fn reassigned(&self, request: &Reassign) -> Result<Vec<Record>, Refused> {
        let found = self.image.topic_named(&request.topic);
        let (topic_id, topic) = found.ok_or_else(|| no_topic(&request.topic))?;
        let id = request.partition_id;
        let found = topic.partitions.get(&id);
        let partition = found.ok_or_else(|| no_partition(&topic.name, id))?;
        let assignment = self.wanted(partition, request)?;
        let change = self.change(topic_id, topic, id, partition);
        let stays = |id: &i32| assignment.replicas.contains(id);
        let needed = effective_min_isr(change.min_insync_replicas, assignment.replicas.len()).max(1);
        let eligible = partition.isr.len() + partition.elr.len();
        let left = partition.isr.iter().chain(&partition.elr).copied().filter(stays);
        let left: Vec<i32> = left.collect();
        if left.len() < eligible && left.len() < needed {
            let why = format!(
                "of the ISR {:?} and the ELR {:?} it would leave {left:?}, where {needed} are needed: wait until more have caught up",
                partition.isr, partition.elr
            );
            return Err((ErrorCode::InvalidReplicaAssignment, why));
        }
        let target_isr = partition.isr.iter().copied().filter(stays).collect();
        let change = Change {
            target_isr,
            assignment,
            ..change
        };
        let record = change.build(|id| self.image.is_active(id));
        Ok(record.map(Record::PartitionChange).into_iter().collect())
    }

    /// What the partition's assignment is to be. Replicas that an unfinished reassignment adds are not the partition's
    /// own yet: another one that does not want them drops them at once.
    fn wanted(&self, partition: &Partition, request: &Reassign) -> Result<Assignment, Refused> {
        let own = without(&partition.replicas, &partition.adding_replicas);
        let Some(target) = &request.replicas else {
            if partition.adding_replicas.is_empty() && partition.removing_replicas.is_empty() {
                let why = "nothing is being reassigned there".to_owned();
                return Err((ErrorCode::NoReassignmentInProgress, why));
            }
            return Ok(Assignment::settled(own));
        };
        check_assignment(std::slice::from_ref(target), |id| {
            self.image.brokers().contains_key(&id)
        })?;
        if !request.may_resize && target.len() != own.len() {
            let why = format!("it has {} replicas, and may not have {}", own.len(), target.len());
            return Err((ErrorCode::InvalidReplicationFactor, why));
        }
        let removing = without(&own, target);
        let mut replicas = target.clone();
        replicas.extend(&removing);
        Ok(Assignment {
            adding: without(target, &own),
            removing,
            replicas,
        })
    }
}
