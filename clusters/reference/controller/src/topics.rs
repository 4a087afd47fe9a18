//! Topics: creation.

use crate::error_code::ErrorCode;
use crate::{Controller, MIN_INSYNC_REPLICAS, Outcome, UNCLEAN_LEADER_ELECTION};
use records::{Config, Partition, Record, Topic};
use std::collections::BTreeMap;
use uuid::Uuid;

/// The longest name: it must fit a folder's name with the partition's number behind it.
const NAME_LIMIT: usize = 249;
/// Partitions of one topic at most: one batch must hold their records.
const PARTITION_LIMIT: i32 = 10_000;
/// A topic's resource type in configurations.
const TOPIC_RESOURCE: i8 = 2;

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

/// Why a topic was not created: the error, and a sentence.
type Refused = (ErrorCode, String);

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
        check_configs(&request.configs)?;
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
        for (partition_id, replicas) in (0..).zip(assignment) {
            let isr: Vec<i32> = replicas
                .iter()
                .copied()
                .filter(|id| self.image.is_active(*id))
                .collect();
            let leader = *isr.first().ok_or_else(|| {
                let why = format!("all replicas {replicas:?} of partition {partition_id} are fenced");
                (ErrorCode::InvalidReplicaAssignment, why)
            })?;
            records.push(Record::Partition(Partition {
                partition_id,
                topic_id: request.topic_id,
                replicas,
                isr,
                leader,
                ..Partition::default()
            }));
        }
        Ok((records, created))
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

fn check_assignment(assignment: &[Vec<i32>], known: impl Fn(i32) -> bool) -> Result<(), Refused> {
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

/// The topic configurations that mean something here; others would be promises not kept.
fn check_configs(configs: &BTreeMap<String, String>) -> Result<(), Refused> {
    for (name, value) in configs {
        let valid = match name.as_str() {
            MIN_INSYNC_REPLICAS => value.parse::<i32>().is_ok_and(|n| n >= 1),
            UNCLEAN_LEADER_ELECTION => matches!(value.as_str(), "true" | "false"),
            _ => {
                let known = format!("{MIN_INSYNC_REPLICAS}, {UNCLEAN_LEADER_ELECTION}");
                return Err((
                    ErrorCode::InvalidConfig,
                    format!("there is no configuration {name:?}; there are {known}"),
                ));
            }
        };
        if !valid {
            return Err((ErrorCode::InvalidConfig, format!("{name} cannot be {value:?}")));
        }
    }
    Ok(())
}
