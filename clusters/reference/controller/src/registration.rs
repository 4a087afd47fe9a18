//! Registrations (KIP-631; KIP-966, "Detection of an unclean shutdown").

use crate::error_code::ErrorCode;
use crate::image::Broker;
use crate::{Controller, Outcome};
use records::{EndPoint, Feature, Record};
use uuid::Uuid;

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

/// A controller's registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterController {
    /// The controller.
    pub controller_id: i32,
    /// One for each start of its process.
    pub incarnation_id: Uuid,
    /// Where it listens.
    pub end_points: Vec<EndPoint>,
    /// What it supports.
    pub features: Vec<Feature>,
}

impl Controller {
    /// A broker registers. `next_offset` is where the first record of the answer's batch will stand: the broker's epoch.
    /// The reply is the broker's epoch.
    pub fn register_broker(
        &mut self,
        now_ms: u64,
        next_offset: i64,
        request: &RegisterBroker,
    ) -> Outcome<Result<i64, ErrorCode>> {
        if let Err(error) = self.check_registration(now_ms, request) {
            return Outcome::reply(Err(error));
        }
        let id = request.broker_id;
        let stored = self.image.brokers().get(&id);
        let amended = stored.filter(|broker| broker.incarnation == request.incarnation_id);
        let epoch = amended.map_or(next_offset, |broker| broker.epoch);
        let mut records = Vec::new();
        if amended.is_none() {
            let clean = stored.is_some_and(|broker| broker.epoch == request.previous_broker_epoch);
            self.end_former_life(id, clean, &mut records);
        }
        // Last, so that whoever sees it has seen what the end of the former life did.
        records.push(Record::RegisterBroker(records::RegisterBroker {
            broker_id: id,
            is_migrating_zk_broker: false,
            incarnation_id: request.incarnation_id,
            broker_epoch: epoch,
            end_points: request.end_points.clone(),
            features: request.features.clone(),
            rack: request.rack.clone(),
            fenced: amended.is_none_or(|broker| broker.fenced),
            in_controlled_shutdown: amended.is_some_and(|broker| broker.controlled_shutdown_at.is_some()),
            log_dirs: request.log_dirs.clone(),
        }));
        self.contacts.forget_others(id, epoch);
        self.contacts.touch(id, epoch, now_ms);
        Outcome {
            records,
            reply: Ok(epoch),
        }
    }

    fn check_registration(&self, now_ms: u64, request: &RegisterBroker) -> Result<(), ErrorCode> {
        if request.cluster_id != self.config.cluster_id {
            return Err(ErrorCode::InconsistentClusterId);
        }
        // A negative id would be taken for "no leader".
        if request.broker_id < 0 {
            return Err(ErrorCode::InvalidRequest);
        }
        let twin = |broker: &&Broker| {
            broker.incarnation != request.incarnation_id
                && self.has_session(request.broker_id, broker.epoch, now_ms)
        };
        if self
            .image
            .brokers()
            .get(&request.broker_id)
            .filter(twin)
            .is_some()
        {
            return Err(ErrorCode::DuplicateBrokerRegistration);
        }
        self.check_features(&request.features)
    }

    /// A broker's registration is removed; what it holds of partitions stays theirs. Should it come back, it registers as
    /// one that may have lost its log's end.
    pub fn unregister_broker(&mut self, id: i32) -> Outcome<Result<(), ErrorCode>> {
        let Some(broker) = self.image.brokers().get(&id) else {
            return Outcome::reply(Err(ErrorCode::BrokerIdNotRegistered));
        };
        let removed = records::UnregisterBroker {
            broker_id: id,
            broker_epoch: broker.epoch,
        };
        let mut records = Vec::new();
        self.leave_isrs(id, &mut records);
        records.push(Record::UnregisterBroker(removed));
        self.contacts.forget(id);
        Outcome {
            records,
            reply: Ok(()),
        }
    }

    /// A controller registers, or registers anew.
    pub fn register_controller(&self, request: &RegisterController) -> Outcome<Result<(), ErrorCode>> {
        if let Err(error) = self.check_features(&request.features) {
            return Outcome::reply(Err(error));
        }
        let record = records::RegisterController {
            controller_id: request.controller_id,
            incarnation_id: request.incarnation_id,
            zk_migration_ready: false,
            end_points: request.end_points.clone(),
            features: request.features.clone(),
        };
        Outcome {
            records: vec![Record::RegisterController(record)],
            reply: Ok(()),
        }
    }

    /// A node that says of a feature which levels it supports must support the one in force. Of others it says nothing.
    fn check_features(&self, features: &[Feature]) -> Result<(), ErrorCode> {
        let supported = |feature: &Feature| match self.image.feature(&feature.name) {
            0 => true,
            level => (feature.min..=feature.max).contains(&level),
        };
        match features.iter().all(supported) {
            true => Ok(()),
            false => Err(ErrorCode::UnsupportedVersion),
        }
    }

    /// What the end of a broker's former life does to its partitions. Without its clean-shutdown file it may have lost
    /// its log's end: where eligible leader replicas are on it leaves ISR and ELR. One whose registration was removed has
    /// no epoch to show, and counts as unclean.
    fn end_former_life(&self, id: i32, clean: bool, records: &mut Vec<Record>) {
        if clean || !self.elr_enabled() {
            self.leave_isrs(id, records);
        } else {
            self.leave_isrs_and_elrs(id, records);
        }
    }
}
