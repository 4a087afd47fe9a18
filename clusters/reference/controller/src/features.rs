//! Feature levels, raised and lowered while the cluster runs (KIP-584, KIP-778), and what follows for ISR and ELR where
//! eligible leader replicas are switched on or off (KIP-966).

use crate::change::Change;
use crate::error_code::{ErrorCode, Refused};
use crate::image::{BROKER_RESOURCE, METADATA_VERSION, Partition};
use crate::{Controller, ELR_FEATURE, MIN_INSYNC_REPLICAS, Outcome};
use records::{Config, Feature, FeatureLevel, PartitionChange, Record};
use uuid::Uuid;

/// Which way a level may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Only up.
    Up,
    /// Down too.
    UpOrDown,
}

/// A level that a feature is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureUpdate {
    /// The feature.
    pub name: String,
    /// The level; 0 switches it off.
    pub level: i16,
    /// Which way it may go.
    pub direction: Direction,
}

impl Controller {
    /// Changes levels, all or none. `supported` is what this controller supports.
    pub fn update_features(
        &self,
        supported: &[Feature],
        updates: &[FeatureUpdate],
    ) -> Outcome<Result<(), Refused>> {
        Outcome::of(self.updated_features(supported, updates))
    }

    fn updated_features(
        &self,
        supported: &[Feature],
        updates: &[FeatureUpdate],
    ) -> Result<Vec<Record>, Refused> {
        let mut records = Vec::new();
        for (i, update) in updates.iter().enumerate() {
            if updates[..i].iter().any(|earlier| earlier.name == update.name) {
                let why = format!("{} stands there twice", update.name);
                return Err((ErrorCode::InvalidRequest, why));
            }
            self.check_update(supported, update)?;
            let level = self.image.feature(&update.name);
            if level == update.level {
                continue;
            }
            if update.name == ELR_FEATURE && update.level == 0 {
                records.extend(self.without_elrs());
            }
            records.push(Record::FeatureLevel(FeatureLevel {
                name: update.name.clone(),
                level: update.level,
            }));
            if update.name == ELR_FEATURE && level == 0 {
                records.extend(self.cluster_min_isr());
                let after = self.after(&records);
                records.extend(after.without_fenced_members());
            }
        }
        Ok(records)
    }

    fn check_update(&self, supported: &[Feature], update: &FeatureUpdate) -> Result<(), Refused> {
        let FeatureUpdate { name, level, .. } = update;
        let refused = |why: String| Err((ErrorCode::InvalidUpdateVersion, why));
        if self.image.feature(name) > *level && update.direction == Direction::Up {
            return refused(format!(
                "{name} is at {}, and a downgrade to {level} was not asked for",
                self.image.feature(name)
            ));
        }
        if name == METADATA_VERSION && *level <= 0 {
            return refused(format!("{name} cannot be switched off"));
        }
        if !supports(supported, name, *level) {
            return refused(format!(
                "this controller does not support level {level} of {name}"
            ));
        }
        let brokers = self
            .image
            .brokers()
            .iter()
            .map(|(id, broker)| (id, &broker.features));
        let controllers = self.image.controllers().iter();
        let mut nodes = brokers.chain(controllers.map(|(id, controller)| (id, &controller.features)));
        match nodes.find(|(_, features)| !supports(features, name, *level)) {
            Some((id, _)) => refused(format!("node {id} does not support level {level} of {name}")),
            None => Ok(()),
        }
    }

    /// Where the cluster's min ISR is nowhere set, each node goes by its own file. With ELR they must all mean the same.
    fn cluster_min_isr(&self) -> Option<Record> {
        if self
            .image
            .config(BROKER_RESOURCE, "", MIN_INSYNC_REPLICAS)
            .is_some()
        {
            return None;
        }
        Some(Record::Config(Config {
            resource_type: BROKER_RESOURCE,
            resource_name: String::new(),
            name: MIN_INSYNC_REPLICAS.into(),
            value: Some(self.config.min_insync_replicas.to_string()),
        }))
    }

    /// With ELR no fenced broker is in an ISR: the last replicas that stood there move to the ELR.
    fn without_fenced_members(&self) -> Vec<Record> {
        let active = |id: i32| self.image.is_active(id);
        let change = |(topic_id, topic, id, partition)| {
            let change: Change<'_> = self.change(topic_id, topic, id, partition);
            Change {
                target_isr: partition.isr.iter().copied().filter(|id| active(*id)).collect(),
                ..change
            }
            .build(active)
        };
        self.all_partitions()
            .filter_map(change)
            .map(Record::PartitionChange)
            .collect()
    }

    /// Without ELR no ISR is empty: one that is gets back the member of its ELR that led last.
    fn without_elrs(&self) -> Vec<Record> {
        let change = |(topic_id, _, partition_id, partition): (Uuid, _, i32, &Partition)| {
            let last = partition
                .last_known_elr
                .iter()
                .find(|id| partition.elr.contains(id));
            let last = last
                .or(partition.elr.first())
                .or(partition.last_known_elr.first());
            let last = last.or(partition.replicas.first());
            let emptied = |list: &[i32]| (!list.is_empty()).then(Vec::new);
            PartitionChange {
                partition_id,
                topic_id,
                isr: partition
                    .isr
                    .is_empty()
                    .then(|| last.copied().into_iter().collect()),
                eligible_leader_replicas: emptied(&partition.elr),
                last_known_elr: emptied(&partition.last_known_elr),
                ..PartitionChange::default()
            }
        };
        let changes = self
            .all_partitions()
            .map(change)
            .filter(|change| !change.is_no_op());
        changes.map(Record::PartitionChange).collect()
    }

    fn all_partitions(&self) -> impl Iterator<Item = (Uuid, &crate::Topic, i32, &Partition)> {
        self.image.topics().iter().flat_map(|(topic_id, topic)| {
            let partitions = topic.partitions.iter();
            partitions.map(move |(id, partition)| (*topic_id, topic, *id, partition))
        })
    }
}

/// Whether a node that supports these supports that level; what it does not name it has only switched off.
fn supports(features: &[Feature], name: &str, level: i16) -> bool {
    match features.iter().find(|feature| feature.name == name) {
        Some(feature) => (feature.min..=feature.max).contains(&level),
        None => level == 0,
    }
}
