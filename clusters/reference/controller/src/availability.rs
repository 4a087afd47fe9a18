//! What brokers that leave and return do to partitions: fencing, unfencing, controlled shutdown, unclean registration.

use crate::Controller;
use crate::change::{Assignment, Change};
use crate::image::{Partition, Topic};
use records::{BrokerRegistrationChange, Record};
use uuid::Uuid;

impl Controller {
    /// The change of a partition that changes nothing by itself: what it is to do is put in its fields.
    pub(crate) fn change<'a>(
        &self,
        topic_id: Uuid,
        topic: &Topic,
        partition_id: i32,
        partition: &'a Partition,
    ) -> Change<'a> {
        Change {
            topic_id,
            partition_id,
            partition,
            target_isr: partition.isr.clone(),
            unclean: None,
            elr_enabled: self.elr_enabled(),
            min_insync_replicas: self.min_insync_replicas(&topic.name),
            unclean_allowed: self.unclean_allowed(&topic.name),
            recovered: false,
            prefer_first: false,
            assignment: Assignment::of(partition),
        }
    }

    /// Fences a broker: its partitions first, then the registration.
    pub(crate) fn fence(&self, id: i32, epoch: i64) -> Vec<Record> {
        let mut records = Vec::new();
        self.leave_isrs(id, &mut records);
        records.push(registration(id, epoch, 1, 0));
        records
    }

    /// Unfences a broker, then elects it where nobody leads.
    pub(crate) fn unfence(&self, id: i32, epoch: i64) -> Vec<Record> {
        let mut records = vec![registration(id, epoch, -1, 0)];
        let concerned = |partition: &Partition| partition.leader < 0 && partition.replicas.contains(&id);
        let keep = |partition: &Partition| partition.isr.clone();
        let acceptable = |other: i32| other == id || self.image.is_active(other);
        self.change_partitions(&mut records, concerned, keep, None, acceptable);
        records
    }

    /// Begins a broker's controlled shutdown: it leads nothing more, and others lead before it goes.
    pub(crate) fn begin_shutdown(&self, id: i32, epoch: i64) -> Vec<Record> {
        let mut records = vec![registration(id, epoch, 0, 1)];
        self.leave_isrs(id, &mut records);
        records
    }

    /// A broker leaves every ISR, and leads nothing more.
    pub(crate) fn leave_isrs(&self, id: i32, records: &mut Vec<Record>) {
        let concerned = |partition: &Partition| partition.isr.contains(&id) || partition.leader == id;
        self.depart(id, None, concerned, records);
    }

    /// A broker that may have lost its log's end leaves every ISR and ELR, and leads nothing more.
    pub(crate) fn leave_isrs_and_elrs(&self, id: i32, records: &mut Vec<Record>) {
        let concerned = |partition: &Partition| partition.isr.contains(&id) || partition.elr.contains(&id);
        self.depart(id, Some(id), concerned, records);
    }

    fn depart(
        &self,
        id: i32,
        unclean: Option<i32>,
        concerned: impl Fn(&Partition) -> bool,
        records: &mut Vec<Record>,
    ) {
        let without = |partition: &Partition| {
            let others = partition.isr.iter().copied().filter(|other| *other != id);
            others.collect()
        };
        let acceptable = |other: i32| other != id && self.image.is_active(other);
        self.change_partitions(records, concerned, without, unclean, acceptable);
    }

    fn change_partitions(
        &self,
        records: &mut Vec<Record>,
        concerned: impl Fn(&Partition) -> bool,
        target_isr: impl Fn(&Partition) -> Vec<i32>,
        unclean: Option<i32>,
        acceptable: impl Fn(i32) -> bool,
    ) {
        for (topic_id, topic) in self.image.topics() {
            for (partition_id, partition) in &topic.partitions {
                if !concerned(partition) {
                    continue;
                }
                let change = Change {
                    target_isr: target_isr(partition),
                    unclean,
                    ..self.change(*topic_id, topic, *partition_id, partition)
                };
                records.extend(change.build(&acceptable).map(Record::PartitionChange));
            }
        }
    }
}

fn registration(broker_id: i32, broker_epoch: i64, fenced: i8, in_controlled_shutdown: i8) -> Record {
    Record::BrokerRegistrationChange(BrokerRegistrationChange {
        broker_id,
        broker_epoch,
        fenced,
        in_controlled_shutdown,
        log_dirs: Vec::new(),
    })
}
