//! Brokers: registration, heartbeats, fencing, controlled shutdown (KIP-631; KIP-966, "Detection of an unclean shutdown").

use crate::change::Change;
use crate::error_code::ErrorCode;
use crate::image::Partition;
use crate::{Controller, Outcome};
use records::{BrokerRegistrationChange, EndPoint, Feature, Record};
use std::collections::BTreeMap;
use uuid::Uuid;

/// The stored epoch of a broker that is not registered: no broker says that it had it.
const UNREGISTERED: i64 = -2;

/// A broker's registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterBroker {
    /// The broker.
    pub broker_id: i32,
    /// The cluster it was formatted for.
    pub cluster_id: String,
    /// One for each start of its process.
    pub incarnation_id: Uuid,
    /// The broker epoch in its clean-shutdown file; −1 where it has none.
    pub previous_broker_epoch: i64,
    /// Where it listens.
    pub end_points: Vec<EndPoint>,
    /// What it supports.
    pub features: Vec<Feature>,
    /// Its log folders' ids.
    pub log_dirs: Vec<Uuid>,
    /// Its rack.
    pub rack: Option<String>,
}

/// A broker's heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The broker.
    pub broker_id: i32,
    /// Its epoch.
    pub broker_epoch: i64,
    /// The last metadata offset that it has applied.
    pub current_metadata_offset: i64,
    /// Whether it wants to be fenced.
    pub want_fence: bool,
    /// Whether it wants to shut down.
    pub want_shut_down: bool,
}

/// The answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatAnswer {
    /// Whether it has seen its own registration.
    pub is_caught_up: bool,
    /// Whether it is fenced now.
    pub is_fenced: bool,
    /// Whether it may shut down now.
    pub should_shut_down: bool,
}

/// When brokers were last heard of, by id and epoch, and how far they have applied. Volatile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contacts(BTreeMap<(i32, i64), Contact>);

#[derive(Clone, Copy, Debug, Default)]
struct Contact {
    at_ms: u64,
    metadata_offset: i64,
}

impl Contacts {
    pub(crate) fn touch(&mut self, id: i32, epoch: i64, now_ms: u64) {
        self.0.entry((id, epoch)).or_default().at_ms = now_ms;
    }

    fn heard(&mut self, heartbeat: &Heartbeat, now_ms: u64) {
        let contact = Contact {
            at_ms: now_ms,
            metadata_offset: heartbeat.current_metadata_offset,
        };
        self.0
            .insert((heartbeat.broker_id, heartbeat.broker_epoch), contact);
    }

    fn get(&self, id: i32, epoch: i64) -> Option<Contact> {
        self.0.get(&(id, epoch)).copied()
    }

    /// The broker's session ends: it was told that it may go, and its next life need not wait.
    fn forget(&mut self, id: i32) {
        self.0.retain(|(other, _), _| *other != id);
    }

    fn forget_others(&mut self, id: i32, epoch: i64) {
        self.0.retain(|(other, its), _| *other != id || *its == epoch);
    }
}

impl Controller {
    /// The unfenced brokers and when they were last heard of.
    pub(crate) fn unfenced_contacts(&self) -> impl Iterator<Item = (i32, u64)> {
        self.image
            .brokers()
            .iter()
            .filter(|(_, broker)| !broker.fenced)
            .map(|(id, broker)| {
                (
                    *id,
                    self.contacts
                        .get(*id, broker.epoch)
                        .map_or(0, |contact| contact.at_ms),
                )
            })
    }

    /// A broker registers. `next_offset` is where the first record of the answer's batch will stand: the broker's epoch.
    /// The reply is the broker's epoch.
    pub fn register_broker(
        &mut self,
        now_ms: u64,
        next_offset: i64,
        request: &RegisterBroker,
    ) -> Outcome<Result<i64, ErrorCode>> {
        if request.cluster_id != self.config.cluster_id {
            return Outcome::reply(Err(ErrorCode::InconsistentClusterId));
        }
        let stored = self.image.brokers().get(&request.broker_id);
        let (stored_epoch, stored_incarnation) = stored.map_or((UNREGISTERED, None), |broker| {
            (broker.epoch, Some(broker.incarnation))
        });
        let same = stored_incarnation == Some(request.incarnation_id);
        if !same && self.has_session(request.broker_id, stored_epoch, now_ms) {
            return Outcome::reply(Err(ErrorCode::DuplicateBrokerRegistration));
        }
        let fenced = !(same && stored.is_some_and(|broker| !broker.fenced));
        let epoch = if same { stored_epoch } else { next_offset };
        let mut records = Vec::new();
        if !same && stored_incarnation.is_some() {
            let clean = request.previous_broker_epoch == stored_epoch;
            self.shut_down(request.broker_id, clean, &mut records);
        }
        records.push(Record::RegisterBroker(records::RegisterBroker {
            broker_id: request.broker_id,
            is_migrating_zk_broker: false,
            incarnation_id: request.incarnation_id,
            broker_epoch: epoch,
            end_points: request.end_points.clone(),
            features: request.features.clone(),
            rack: request.rack.clone(),
            fenced,
            in_controlled_shutdown: false,
            log_dirs: request.log_dirs.clone(),
        }));
        self.contacts.forget_others(request.broker_id, epoch);
        self.contacts.touch(request.broker_id, epoch, now_ms);
        Outcome {
            records,
            reply: Ok(epoch),
        }
    }

    /// Whether another life of the broker was heard of within the session's time-out.
    fn has_session(&self, id: i32, epoch: i64, now_ms: u64) -> bool {
        let heard = self.contacts.get(id, epoch);
        heard.is_some_and(|contact| contact.at_ms + self.config.session_timeout_ms > now_ms)
    }

    /// What the end of a broker's former life does to its partitions. Without its clean-shutdown file it may have lost
    /// its log's end: where eligible leader replicas are on it leaves ISR and ELR.
    fn shut_down(&self, id: i32, clean: bool, records: &mut Vec<Record>) {
        if clean || !self.elr_enabled() {
            self.leave_isrs(id, records);
            return;
        }
        let concerned = |partition: &Partition| partition.isr.contains(&id) || partition.elr.contains(&id);
        self.change_partitions(
            records,
            concerned,
            |partition| without(&partition.isr, id),
            Some(id),
            |other| other != id && self.image.is_active(other),
        );
    }

    /// A broker leaves every ISR, and leads nothing more.
    fn leave_isrs(&self, id: i32, records: &mut Vec<Record>) {
        let concerned = |partition: &Partition| partition.isr.contains(&id) || partition.leader == id;
        self.change_partitions(
            records,
            concerned,
            |partition| without(&partition.isr, id),
            None,
            |other| other != id && self.image.is_active(other),
        );
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
                    topic_id: *topic_id,
                    partition_id: *partition_id,
                    partition,
                    target_isr: target_isr(partition),
                    unclean,
                    elr_enabled: self.elr_enabled(),
                    min_isr: self.min_isr(&topic.name, partition.replicas.len()),
                    unclean_allowed: self.unclean_allowed(&topic.name),
                    recovered: false,
                };
                records.extend(change.build(&acceptable).map(Record::PartitionChange));
            }
        }
    }

    /// Fences a broker: its partitions first, then the registration.
    pub(crate) fn fence(&self, id: i32) -> Vec<Record> {
        let Some(broker) = self.image.brokers().get(&id) else {
            return Vec::new();
        };
        let mut records = Vec::new();
        self.leave_isrs(id, &mut records);
        records.push(registration(id, broker.epoch, 1, 0));
        records
    }

    /// Unfences a broker, then elects it where nobody leads.
    fn unfence(&self, id: i32, epoch: i64) -> Vec<Record> {
        let mut records = vec![registration(id, epoch, -1, 0)];
        let concerned = |partition: &Partition| partition.leader < 0 && partition.replicas.contains(&id);
        let keep = |partition: &Partition| partition.isr.clone();
        let acceptable = |other: i32| other == id || self.image.is_active(other);
        self.change_partitions(&mut records, concerned, keep, None, acceptable);
        records
    }

    /// A broker's heartbeat.
    pub fn heartbeat(
        &mut self,
        now_ms: u64,
        request: &Heartbeat,
    ) -> Outcome<Result<HeartbeatAnswer, ErrorCode>> {
        let id = request.broker_id;
        let Some(broker) = self.image.brokers().get(&id).cloned() else {
            return Outcome::reply(Err(ErrorCode::BrokerIdNotRegistered));
        };
        if broker.epoch != request.broker_epoch {
            return Outcome::reply(Err(ErrorCode::StaleBrokerEpoch));
        }
        self.contacts.heard(request, now_ms);
        let is_caught_up = request.current_metadata_offset >= broker.registered_at;
        let answer = |is_fenced, should_shut_down| {
            Ok(HeartbeatAnswer {
                is_caught_up,
                is_fenced,
                should_shut_down,
            })
        };
        if broker.fenced {
            // Whoever was told to shut down comes back by a registration only.
            if request.want_shut_down || broker.controlled_shutdown_at.is_some() {
                self.contacts.forget(id);
                return Outcome::reply(answer(true, true));
            }
            if request.want_fence || !is_caught_up {
                return Outcome::reply(answer(true, false));
            }
            return Outcome {
                records: self.unfence(id, broker.epoch),
                reply: answer(false, false),
            };
        }
        if let Some(begun) = broker.controlled_shutdown_at {
            if self.leads(id) || begun > self.lowest_active_offset() {
                return Outcome::reply(answer(false, false));
            }
            self.contacts.forget(id);
            return Outcome {
                records: self.fence(id),
                reply: answer(true, true),
            };
        }
        if request.want_shut_down && self.leads(id) {
            let mut records = vec![registration(id, broker.epoch, 0, 1)];
            self.leave_isrs(id, &mut records);
            return Outcome {
                records,
                reply: answer(false, false),
            };
        }
        if request.want_shut_down || request.want_fence {
            if request.want_shut_down {
                self.contacts.forget(id);
            }
            return Outcome {
                records: self.fence(id),
                reply: answer(true, request.want_shut_down),
            };
        }
        Outcome::reply(answer(false, false))
    }

    fn leads(&self, id: i32) -> bool {
        self.image
            .topics()
            .values()
            .any(|topic| topic.partitions.values().any(|p| p.leader == id))
    }

    /// The lowest metadata offset among active brokers: what all of them have seen.
    fn lowest_active_offset(&self) -> i64 {
        let active = self
            .image
            .brokers()
            .iter()
            .filter(|(_, broker)| broker.is_active());
        let offset = |(id, broker): (&i32, &crate::Broker)| {
            self.contacts
                .get(*id, broker.epoch)
                .map_or(-1, |contact| contact.metadata_offset)
        };
        active.map(offset).min().unwrap_or(i64::MAX)
    }
}

fn without(isr: &[i32], id: i32) -> Vec<i32> {
    isr.iter().copied().filter(|other| *other != id).collect()
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
