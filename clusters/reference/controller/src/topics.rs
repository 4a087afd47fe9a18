//! Topics: creation, growth, deletion.

use crate::change::without;
use crate::configs::check_config;
use crate::error_code::{ErrorCode, Refused};
use crate::image::TOPIC_RESOURCE;
use crate::{Controller, Outcome};
use records::{Config, Partition, Record, Topic};
use std::collections::BTreeMap;
use uuid::Uuid;

/// The longest name: it must fit a folder's name with the partition's number behind it.
const NAME_LIMIT: usize = 249;
/// Partitions of one topic at most: one batch must hold their records.
const PARTITION_LIMIT: i32 = 10_000;

/// A topic to create. The caller draws the id, and the shift of a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTopic {
    /// Its name.
    pub name: String,
    /// Its id.
    pub topic_id: Uuid,
    /// Who places its replicas.
    pub placement: Placement,
    /// Its configuration.
    pub configs: BTreeMap<String, String>,
}

/// Who places the replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The controller does, round the unfenced brokers, beginning `shift` brokers on.
    Automatic {
        /// How many partitions; −1 is the default.
        partitions: i32,
        /// How many replicas; −1 is the default.
        replication_factor: i16,
        /// Where to begin.
        shift: usize,
    },
    /// The caller does: the replicas of partition 0, 1, and so on.
    Assigned(Vec<Vec<i32>>),
}

/// A topic that was created, once the batch is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedTopic {
    /// Its id.
    pub topic_id: Uuid,
    /// How many partitions it has.
    pub partitions: i32,
    /// How many replicas its first partition has.
    pub replication_factor: i16,
}

/// A topic that is to have more partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatePartitions {
    /// The topic.
    pub topic: String,
    /// How many it is to have, those that it has included.
    pub count: i32,
    /// The replicas of each new one, where the caller places them.
    pub assignment: Option<Vec<Vec<i32>>>,
    /// Where to begin, where the controller does.
    pub shift: usize,
}

impl Controller {
    /// Creates a topic.
    pub fn create_topic(&self, request: &CreateTopic) -> Outcome<Result<CreatedTopic, Refused>> {
        match self.new_topic(request) {
            Ok((records, created)) => Outcome {
                records,
                reply: Ok(created),
            },
            Err(refused) => Outcome::reply(Err(refused)),
        }
    }

    fn new_topic(&self, request: &CreateTopic) -> Result<(Vec<Record>, CreatedTopic), Refused> {
        self.check_name(&request.name)?;
        for (name, value) in &request.configs {
            check_config(name, value)?;
        }
        let assignment = self.assignment(&request.placement)?;
        let topic = Topic {
            name: request.name.clone(),
            topic_id: request.topic_id,
        };
        let mut records = vec![Record::Topic(topic)];
        records.extend(request.configs.iter().map(|(name, value)| {
            Record::Config(Config {
                resource_type: TOPIC_RESOURCE,
                resource_name: request.name.clone(),
                name: name.clone(),
                value: Some(value.clone()),
            })
        }));
        let created = CreatedTopic {
            topic_id: request.topic_id,
            partitions: assignment.len() as i32,
            replication_factor: assignment[0].len() as i16,
        };
        records.extend(self.partitions(request.topic_id, 0, assignment)?);
        Ok((records, created))
    }

    fn partitions(
        &self,
        topic_id: Uuid,
        first: i32,
        assignment: Vec<Vec<i32>>,
    ) -> Result<Vec<Record>, Refused> {
        let partition = |(partition_id, replicas): (i32, Vec<i32>)| {
            let isr = replicas.iter().copied().filter(|id| self.image.is_active(*id));
            let isr: Vec<i32> = isr.collect();
            let leader = *isr.first().ok_or_else(|| {
                let why = format!("all replicas {replicas:?} of partition {partition_id} are fenced");
                (ErrorCode::InvalidReplicaAssignment, why)
            })?;
            Ok(Record::Partition(Partition {
                partition_id,
                topic_id,
                replicas,
                isr,
                leader,
                ..Partition::default()
            }))
        };
        (first..).zip(assignment).map(partition).collect()
    }

    /// Deletes a topic, its configuration with it.
    pub fn delete_topic(&self, topic_id: Uuid) -> Outcome<Result<(), ErrorCode>> {
        match self.image.topics().contains_key(&topic_id) {
            true => Outcome {
                records: vec![Record::RemoveTopic(topic_id)],
                reply: Ok(()),
            },
            false => Outcome::reply(Err(ErrorCode::UnknownTopicId)),
        }
    }

    /// Gives a topic more partitions.
    pub fn create_partitions(&self, request: &CreatePartitions) -> Outcome<Result<(), Refused>> {
        Outcome::of(self.new_partitions(request))
    }

    fn new_partitions(&self, request: &CreatePartitions) -> Result<Vec<Record>, Refused> {
        let Some((topic_id, topic)) = self.image.topic_named(&request.topic) else {
            return Err(no_topic(&request.topic));
        };
        let has = topic.partitions.len() as i32;
        if request.count <= has || request.count > PARTITION_LIMIT {
            let why = format!(
                "topic {:?} has {has} partitions, and cannot have {}: it may grow, to {PARTITION_LIMIT} at most",
                request.topic, request.count
            );
            return Err((ErrorCode::InvalidPartitions, why));
        }
        let new = request.count - has;
        let own = |first: &crate::Partition| without(&first.replicas, &first.adding_replicas).len();
        let factor = topic.partitions.values().next().map_or(1, own);
        let placement = match &request.assignment {
            Some(assigned) if assigned.len() as i32 != new => {
                let why = format!("{} partitions are assigned, {new} are new", assigned.len());
                return Err((ErrorCode::InvalidReplicaAssignment, why));
            }
            Some(assigned) if assigned.iter().any(|replicas| replicas.len() != factor) => {
                let why = format!("each partition of {:?} has {factor} replicas", request.topic);
                return Err((ErrorCode::InvalidReplicaAssignment, why));
            }
            Some(assigned) => Placement::Assigned(assigned.clone()),
            None => Placement::Automatic {
                partitions: new,
                replication_factor: factor as i16,
                shift: request.shift,
            },
        };
        self.partitions(topic_id, has, self.assignment(&placement)?)
    }

    fn check_name(&self, name: &str) -> Result<(), Refused> {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty()
            || name == "."
            || name == ".."
            || name.len() > NAME_LIMIT
            || !name.chars().all(legal)
        {
            let why =
                format!("{name:?} is no topic's name: letters, digits, '.', '_', '-', {NAME_LIMIT} at most");
            return Err((ErrorCode::InvalidTopic, why));
        }
        if self.image.topic_id(name).is_some() {
            return Err((
                ErrorCode::TopicAlreadyExists,
                format!("topic {name:?} exists already"),
            ));
        }
        Ok(())
    }

    fn assignment(&self, placement: &Placement) -> Result<Vec<Vec<i32>>, Refused> {
        let (partitions, factor, shift) = match placement {
            Placement::Assigned(assignment) => {
                check_assignment(assignment, |id| self.image.brokers().contains_key(&id))?;
                return Ok(assignment.clone());
            }
            Placement::Automatic {
                partitions,
                replication_factor,
                shift,
            } => (*partitions, *replication_factor, *shift),
        };
        let partitions = if partitions == -1 {
            self.config.num_partitions
        } else {
            partitions
        };
        let factor = if factor == -1 {
            self.config.default_replication_factor
        } else {
            factor
        };
        if !(1..=PARTITION_LIMIT).contains(&partitions) {
            return Err((
                ErrorCode::InvalidPartitions,
                format!("{partitions} partitions are not 1 to {PARTITION_LIMIT}"),
            ));
        }
        let usable: Vec<i32> = self
            .image
            .brokers()
            .iter()
            .filter(|(_, broker)| broker.is_active())
            .map(|(id, _)| *id)
            .collect();
        let factor = usize::try_from(factor).unwrap_or(0);
        if factor == 0 || factor > usable.len() {
            let why = format!(
                "replication factor {factor}: {} brokers are unfenced",
                usable.len()
            );
            return Err((ErrorCode::InvalidReplicationFactor, why));
        }
        let replica =
            |partition: usize, i: usize| usable[(shift % usable.len() + partition + i) % usable.len()];
        let replicas = |partition| (0..factor).map(|i| replica(partition, i)).collect();
        Ok((0..partitions as usize).map(replicas).collect())
    }
}

/// There is no such topic.
pub(crate) fn no_topic(name: &str) -> Refused {
    let why = format!("there is no topic {name:?}");
    (ErrorCode::UnknownTopicOrPartition, why)
}

pub(crate) fn check_assignment(assignment: &[Vec<i32>], known: impl Fn(i32) -> bool) -> Result<(), Refused> {
    let wrong = |why: String| Err((ErrorCode::InvalidReplicaAssignment, why));
    let Some(first) = assignment.first() else {
        return wrong("no partition is assigned".into());
    };
    if assignment.len() > PARTITION_LIMIT as usize {
        return wrong(format!("more than {PARTITION_LIMIT} partitions"));
    }
    for replicas in assignment {
        if replicas.is_empty() || replicas.len() != first.len() {
            return wrong("each partition has as many replicas as the first, and at least one".into());
        }
        if (1..replicas.len()).any(|i| replicas[..i].contains(&replicas[i])) {
            return wrong(format!("a broker stands twice in {replicas:?}"));
        }
        if let Some(id) = replicas.iter().find(|id| !known(**id)) {
            return wrong(format!("broker {id} is not registered"));
        }
    }
    Ok(())
}
