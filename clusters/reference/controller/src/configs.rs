//! Configurations: set and removed while the cluster runs (KIP-339), and what follows for the ELR (KIP-966).

use crate::change::effective_min_isr;
use crate::error_code::{ErrorCode, Refused};
use crate::image::{BROKER_RESOURCE, Partition, TOPIC_RESOURCE, Topic};
use crate::topics::no_topic;
use crate::{Controller, MIN_INSYNC_REPLICAS, Outcome, UNCLEAN_LEADER_ELECTION};
use records::{Config, PartitionChange, Record};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Whose configuration changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigResource {
    /// A topic's.
    Topic(String),
    /// That of all topics which set none of their own.
    AllBrokers,
}

/// What becomes of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigChange {
    /// It gets this value.
    Set(String),
    /// It is removed: the default counts again.
    Delete,
}

/// Changes of one configuration, all or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterConfigs {
    /// Whose.
    pub resource: ConfigResource,
    /// By key.
    pub changes: BTreeMap<String, ConfigChange>,
}

impl Controller {
    /// Changes a configuration, and with it, in the same batch, the partitions to which it matters.
    pub fn alter_configs(&self, request: &AlterConfigs) -> Outcome<Result<(), Refused>> {
        Outcome::of(self.altered_configs(request))
    }

    fn altered_configs(&self, request: &AlterConfigs) -> Result<Vec<Record>, Refused> {
        let (resource_type, resource_name) = match &request.resource {
            ConfigResource::Topic(name) if self.image.topic_id(name).is_none() => return Err(no_topic(name)),
            ConfigResource::Topic(name) => (TOPIC_RESOURCE, name.as_str()),
            ConfigResource::AllBrokers => (BROKER_RESOURCE, ""),
        };
        let mut records = Vec::new();
        for (name, change) in &request.changes {
            let value = match change {
                ConfigChange::Set(value) => Some(value.clone()),
                ConfigChange::Delete => None,
            };
            match &value {
                Some(value) => check_config(name, value)?,
                None => check_name(name)?,
            }
            let is_cluster_min_isr = resource_type == BROKER_RESOURCE && name == MIN_INSYNC_REPLICAS;
            if value.is_none() && is_cluster_min_isr && self.elr_enabled() {
                let why = format!(
                    "{name} of the cluster cannot be removed while {} is on: controllers and brokers must mean the same by it",
                    crate::ELR_FEATURE
                );
                return Err((ErrorCode::InvalidConfig, why));
            }
            if value.as_deref() != self.image.config(resource_type, resource_name, name) {
                records.push(Record::Config(Config {
                    resource_type,
                    resource_name: resource_name.to_string(),
                    name: name.clone(),
                    value,
                }));
            }
        }
        let after = self.after(&records);
        records.extend(self.what_follows(&after));
        Ok(records)
    }

    /// The partitions to which another min ISR, or another word on unclean elections, matters.
    fn what_follows(&self, after: &Controller) -> Vec<Record> {
        let mut records = Vec::new();
        for (topic_id, topic) in after.image.topics() {
            let min = |of: &Controller| of.min_insync_replicas(&topic.name);
            let unclean = after.unclean_allowed(&topic.name) && !self.unclean_allowed(&topic.name);
            if min(self) == min(after) && !unclean {
                continue;
            }
            for (id, partition) in &topic.partitions {
                let change = self.partition_follows(after, (*topic_id, topic), (*id, partition));
                records.extend(change.map(Record::PartitionChange));
            }
        }
        records
    }

    fn partition_follows(
        &self,
        after: &Controller,
        (topic_id, topic): (Uuid, &Topic),
        (partition_id, partition): (i32, &Partition),
    ) -> Option<PartitionChange> {
        let change = after.change(topic_id, topic, partition_id, partition);
        if let Some(change) = change.build(|id| self.image.is_active(id)) {
            return Some(change);
        }
        let effective = |of: &Controller| {
            effective_min_isr(of.min_insync_replicas(&topic.name), partition.replicas.len())
        };
        // Whoever leads must hear of a raise before it may remove anybody from the ISR: only the epoch can make it.
        (effective(after) > effective(self)).then(|| PartitionChange {
            partition_id,
            topic_id,
            isr: Some(partition.isr.clone()),
            ..PartitionChange::default()
        })
    }
}

/// The configurations that mean something here; others would be promises not kept.
fn check_name(name: &str) -> Result<(), Refused> {
    if matches!(name, MIN_INSYNC_REPLICAS | UNCLEAN_LEADER_ELECTION) {
        return Ok(());
    }
    let known = format!("{MIN_INSYNC_REPLICAS}, {UNCLEAN_LEADER_ELECTION}");
    let why = format!("there is no configuration {name:?}; there are {known}");
    Err((ErrorCode::InvalidConfig, why))
}

/// A value that a configuration may have.
pub(crate) fn check_config(name: &str, value: &str) -> Result<(), Refused> {
    check_name(name)?;
    let valid = match name {
        MIN_INSYNC_REPLICAS => value.parse::<i32>().is_ok_and(|n| n >= 1),
        _ => matches!(value, "true" | "false"),
    };
    match valid {
        true => Ok(()),
        false => Err((ErrorCode::InvalidConfig, format!("{name} cannot be {value:?}"))),
    }
}
