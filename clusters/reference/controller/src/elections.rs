//! Elections that an administrator asks for (KIP-460).

use crate::change::Change;
use crate::error_code::{ErrorCode, Refused};
use crate::topics::no_topic;
use crate::{Controller, Outcome};
use records::Record;

/// Who is to be elected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Election {
    /// The first replica, where it may lead.
    Preferred,
    /// Where nobody leads: whoever may lead, and where there is none such, any active replica, though it lacks records.
    Unclean,
}

impl Controller {
    /// Holds an election in one partition.
    pub fn elect_leader(
        &self,
        election: Election,
        topic: &str,
        partition_id: i32,
    ) -> Outcome<Result<(), Refused>> {
        Outcome::of(self.elected(election, topic, partition_id))
    }

    fn elected(&self, election: Election, topic: &str, id: i32) -> Result<Vec<Record>, Refused> {
        let (topic_id, topic) = self.image.topic_named(topic).ok_or_else(|| no_topic(topic))?;
        let partition = topic
            .partitions
            .get(&id)
            .ok_or_else(|| no_partition(&topic.name, id))?;
        let preferred = partition.replicas.first().copied();
        let (leads, not_found) = match election {
            Election::Preferred => (
                preferred == Some(partition.leader),
                ErrorCode::PreferredLeaderNotAvailable,
            ),
            Election::Unclean => (partition.leader >= 0, ErrorCode::EligibleLeadersNotAvailable),
        };
        if leads {
            let why = format!("broker {} leads already", partition.leader);
            return Err((ErrorCode::ElectionNotNeeded, why));
        }
        let change = self.change(topic_id, topic, id, partition);
        let change = Change {
            prefer_first: election == Election::Preferred,
            unclean_allowed: change.unclean_allowed || election == Election::Unclean,
            ..change
        };
        let record = change.build(|id| self.image.is_active(id));
        let found = |leader: &i32| match election {
            Election::Preferred => Some(*leader) == preferred,
            Election::Unclean => *leader >= 0,
        };
        match record {
            Some(record) if record.leader.as_ref().is_some_and(found) => {
                Ok(vec![Record::PartitionChange(record)])
            }
            _ => {
                let why = format!(
                    "none that is asked for may lead: replicas {:?}, ISR {:?}, ELR {:?}",
                    partition.replicas, partition.isr, partition.elr
                );
                Err((not_found, why))
            }
        }
    }
}

/// There is no such partition.
pub(crate) fn no_partition(topic: &str, partition: i32) -> Refused {
    let why = format!("topic {topic:?} has no partition {partition}");
    (ErrorCode::UnknownTopicOrPartition, why)
}
