//! The image as records: what a snapshot of the metadata log holds (KIP-630).
//!
//! Replayed in their order, from nothing, they give the image again, but for two offsets that no record tells:
//! where a broker registered, and where its controlled shutdown began. Both become the snapshot's last offset,
//! which is later, so that whoever waits for a broker to have seen them waits until it has seen the snapshot;
//! Kafka does the same. Records of kinds that the image does not know are not in it.

use records::{ProducerIds, Record};
use uuid::Uuid;

use crate::image::{
    Broker, Image, METADATA_VERSION, NOBODY, Partition, RECOVERING, RegisteredController, Topic,
};

impl Image {
    /// The image as records, in Kafka's order: features (that of the records' own version first), brokers,
    /// controllers, topics with their partitions, configurations, producer ids.
    pub fn records(&self) -> impl Iterator<Item = Record> + '_ {
        let brokers = self
            .brokers
            .iter()
            .map(|(id, broker)| register_broker(*id, broker));
        let controllers = self.controllers.iter();
        let controllers = controllers.map(|(id, controller)| register_controller(*id, controller));
        let topics = self
            .topics
            .iter()
            .flat_map(|(id, topic)| topic_records(*id, topic));
        let configs = self
            .configs
            .iter()
            .flat_map(|((resource_type, resource_name), keys)| {
                keys.iter().map(|(name, value)| {
                    Record::Config(records::Config {
                        resource_type: *resource_type,
                        resource_name: resource_name.clone(),
                        name: name.clone(),
                        value: Some(value.clone()),
                    })
                })
            });
        let producer_ids = self.next_producer_id.map(|next_producer_id| {
            Record::ProducerIds(ProducerIds {
                broker_id: NOBODY,
                broker_epoch: NOBODY.into(),
                next_producer_id,
            })
        });
        self.feature_records()
            .chain(brokers)
            .chain(controllers)
            .chain(topics)
            .chain(configs)
            .chain(producer_ids)
    }

    fn feature_records(&self) -> impl Iterator<Item = Record> + '_ {
        let first = self.features.get_key_value(METADATA_VERSION);
        let others = self.features.iter().filter(|(name, _)| *name != METADATA_VERSION);
        first.into_iter().chain(others).map(|(name, level)| {
            Record::FeatureLevel(records::FeatureLevel {
                name: name.clone(),
                level: *level,
            })
        })
    }
}

fn register_broker(broker_id: i32, broker: &Broker) -> Record {
    Record::RegisterBroker(records::RegisterBroker {
        broker_id,
        is_migrating_zk_broker: false,
        incarnation_id: broker.incarnation,
        broker_epoch: broker.epoch,
        end_points: broker.end_points.clone(),
        features: broker.features.clone(),
        rack: broker.rack.clone(),
        fenced: broker.fenced,
        in_controlled_shutdown: broker.controlled_shutdown_at.is_some(),
        log_dirs: broker.log_dirs.clone(),
    })
}

fn register_controller(controller_id: i32, controller: &RegisteredController) -> Record {
    Record::RegisterController(records::RegisterController {
        controller_id,
        incarnation_id: controller.incarnation,
        zk_migration_ready: false,
        end_points: controller.end_points.clone(),
        features: controller.features.clone(),
    })
}

fn topic_records(topic_id: Uuid, topic: &Topic) -> impl Iterator<Item = Record> + '_ {
    let first = Record::Topic(records::Topic {
        name: topic.name.clone(),
        topic_id,
    });
    let partitions = topic.partitions.iter();
    let partitions = partitions.map(move |(id, partition)| partition_record(topic_id, *id, partition));
    std::iter::once(first).chain(partitions)
}

fn partition_record(topic_id: Uuid, partition_id: i32, partition: &Partition) -> Record {
    Record::Partition(records::Partition {
        partition_id,
        topic_id,
        replicas: partition.replicas.clone(),
        isr: partition.isr.clone(),
        removing_replicas: partition.removing_replicas.clone(),
        adding_replicas: partition.adding_replicas.clone(),
        leader: partition.leader,
        leader_recovery_state: if partition.recovering { RECOVERING } else { 0 },
        leader_epoch: partition.leader_epoch,
        partition_epoch: partition.partition_epoch,
        directories: partition.directories.clone(),
        eligible_leader_replicas: partition.elr.clone(),
        last_known_elr: partition.last_known_elr.clone(),
    })
}
