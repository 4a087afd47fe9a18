//! Registration, heartbeats, and the way out.
//!
//! Order at the start: the clean-shutdown marker is read and removed; the broker registers, naming the
//! epoch of the marker; it applies metadata to its partitions only once it has seen its own registration in
//! the log, since whatever is older may still call it a leader of an epoch that another life of it led; then
//! its next heartbeat has it unfenced.

use kafka_protocol::ResponseError;
use kafka_protocol::error::ParseResponseErrorCode;
use kafka_protocol::messages::broker_registration_request::{Feature, Listener};
use kafka_protocol::messages::{
    BrokerHeartbeatRequest, BrokerHeartbeatResponse, BrokerId, BrokerRegistrationRequest,
    BrokerRegistrationResponse,
};
use kafka_protocol::protocol::StrBytes;
use std::path::Path;

use storage::{StorageError, clean_shutdown};
use uuid::Uuid;

use super::{Broker, Event};
use crate::diary::{info, warning};
use crate::features;
use crate::quorum::Fatal;

/// The version that names the previous broker epoch, and lets a feature's least level be 0.
const REGISTRATION_VERSION: i16 = 4;
/// The version of heartbeats.
const HEARTBEAT_VERSION: i16 = 1;
/// The pause after a registration or heartbeat that failed.
const RETRY_MS: u64 = 50;
/// How often a broker that wants to stop asks whether it may, at most.
const SHUTDOWN_POLL_MS: u64 = 50;
/// The number of PLAINTEXT among the security protocols.
const PLAINTEXT: i16 = 0;
/// "I do not know": the last shutdown was not clean.
const NO_PREVIOUS_EPOCH: i64 = -1;

/// Where the broker stands with the controller.
#[derive(Debug)]
pub struct Registration {
    /// This life of the broker.
    incarnation: Uuid,
    /// The epoch that the last clean shutdown ended.
    previous_epoch: Option<i64>,
    /// The epoch of this registration, once there is one.
    pub epoch: Option<i64>,
    in_flight: bool,
    not_before: u64,
    fenced: bool,
    /// When to stop at the latest, once it has been told to.
    stop_at: Option<u64>,
    may_stop: bool,
    told_of_twin: bool,
}

impl Registration {
    /// Not registered yet.
    pub fn new(previous_epoch: Option<i64>) -> Self {
        Self {
            incarnation: Uuid::new_v4(),
            previous_epoch,
            epoch: None,
            in_flight: false,
            not_before: 0,
            fenced: true,
            stop_at: None,
            may_stop: false,
            told_of_twin: false,
        }
    }

    /// When the next request is due.
    pub fn next_deadline(&self) -> Option<u64> {
        let request = (!self.in_flight).then_some(self.not_before);
        [request, self.stop_at].into_iter().flatten().min()
    }

    /// Whether it has been told to stop.
    pub fn is_stopping(&self) -> bool {
        self.stop_at.is_some()
    }

    /// Whether it has been told to stop, and may.
    pub fn is_over(&self, now: u64) -> bool {
        self.stop_at.is_some_and(|at| self.may_stop || at <= now)
    }
}

/// Reads the marker of the last clean shutdown, and removes it: from now on logs may change.
///
/// # Errors
/// When the disk refuses.
pub fn take_marker(log_dir: &Path) -> Result<Option<i64>, StorageError> {
    let path = log_dir.join(clean_shutdown::FILE_NAME);
    let epoch = clean_shutdown::read(&path);
    clean_shutdown::remove(&path)?;
    Ok(epoch)
}

impl Broker {
    /// Ends: logs synced, high watermarks written, and then, only then, the marker.
    pub fn close(mut self) -> Result<(), Fatal> {
        for partition in self.partitions.values_mut() {
            partition.log.sync()?;
        }
        self.quorum.close()?;
        self.write_checkpoint_now()?;
        if let Some(epoch) = self.registration.epoch {
            let path = self.config.log_dir.join(clean_shutdown::FILE_NAME);
            clean_shutdown::write(&path, epoch)?;
            info!("stopped cleanly in broker epoch {epoch}");
        } else {
            info!("stopped before it was registered");
        }
        Ok(())
    }

    /// Begins a controlled shutdown.
    pub fn begin_shutdown(&mut self) {
        if self.registration.stop_at.is_some() {
            return;
        }
        let now = self.clock.ms();
        let wait = u64::try_from(self.config.shutdown_wait.as_millis()).unwrap_or(u64::MAX);
        info!("stopping: the controller is asked to move leaderships away");
        self.registration.stop_at = Some(now.saturating_add(wait));
        self.registration.not_before = now;
        // One that never registered leads nothing.
        self.registration.may_stop = self.registration.epoch.is_none();
    }

    /// Registers, or sends a heartbeat, if that is due.
    pub fn report_to_controller(&mut self) {
        let now = self.clock.ms();
        if self.registration.in_flight || self.registration.not_before > now {
            return;
        }
        let Some(controller) = self.quorum.leader_address() else {
            self.registration.not_before = now + RETRY_MS;
            return;
        };
        self.registration.in_flight = true;
        match self.registration.epoch {
            None => {
                let request = self.registration_request();
                self.ask(controller, REGISTRATION_VERSION, request, Event::Registered);
            }
            Some(epoch) => {
                let request = self.heartbeat_request(epoch);
                self.ask(controller, HEARTBEAT_VERSION, request, Event::HeartbeatAnswered);
            }
        }
    }

    fn registration_request(&self) -> BrokerRegistrationRequest {
        let more = self
            .config
            .more_listeners
            .iter()
            .filter_map(|more| more.advertised.as_ref());
        let listeners = [&self.config.advertised].into_iter().chain(more).map(|told| {
            Listener::default()
                .with_name(StrBytes::from_string(told.name.clone()))
                .with_host(StrBytes::from_string(told.host.clone()))
                .with_port(told.port)
                .with_security_protocol(PLAINTEXT)
        });
        let feature = |feature: &features::Feature| {
            Feature::default()
                .with_name(StrBytes::from_static_str(feature.name))
                .with_min_supported_version(feature.least)
                .with_max_supported_version(feature.most)
        };
        BrokerRegistrationRequest::default()
            .with_broker_id(BrokerId(self.config.node_id))
            .with_cluster_id(StrBytes::from_string(self.cluster_id.clone()))
            .with_incarnation_id(self.registration.incarnation)
            .with_listeners(listeners.collect())
            .with_features(features::SUPPORTED.iter().map(feature).collect())
            .with_log_dirs(vec![self.directory_id])
            .with_previous_broker_epoch(self.registration.previous_epoch.unwrap_or(NO_PREVIOUS_EPOCH))
    }

    fn heartbeat_request(&self, epoch: i64) -> BrokerHeartbeatRequest {
        BrokerHeartbeatRequest::default()
            .with_broker_id(BrokerId(self.config.node_id))
            .with_broker_epoch(epoch)
            .with_current_metadata_offset(self.quorum.last_handed_out())
            .with_want_fence(false)
            .with_want_shut_down(self.registration.stop_at.is_some())
    }

    /// The registration was answered, or not.
    pub fn registered(&mut self, answer: Option<BrokerRegistrationResponse>) {
        self.registration.in_flight = false;
        let now = self.clock.ms();
        self.registration.not_before = now + RETRY_MS;
        let Some(answer) = answer else { return };
        match answer.error_code.err() {
            None => {
                info!(
                    "registered in broker epoch {} (the last clean shutdown ended epoch {})",
                    answer.broker_epoch,
                    self.registration.previous_epoch.unwrap_or(NO_PREVIOUS_EPOCH)
                );
                self.registration.epoch = Some(answer.broker_epoch);
                // Nothing is to be said before this broker has seen its registration, but that it lives.
                self.registration.not_before = now + self.heartbeat_interval();
                self.quorum.broker_epoch = answer.broker_epoch;
                let epoch = answer.broker_epoch;
                for partition in self.partitions.values_mut() {
                    partition.replica.set_broker_epoch(epoch);
                }
            }
            // The controller changes.
            Some(ResponseError::NotController) => {}
            // Asked again all the same: it may be this broker's last life, whose session still runs.
            Some(ResponseError::DuplicateBrokerRegistration) => {
                if !std::mem::replace(&mut self.registration.told_of_twin, true) {
                    warning!(
                        "registration refused: a broker with node.id {} is there already; if it is not this one's last life, stop one of the two",
                        self.config.node_id
                    );
                }
            }
            Some(error) => warning!("registration refused: {error:?}"),
        }
    }

    /// A heartbeat was answered, or not.
    pub fn heartbeat_answered(&mut self, answer: Option<BrokerHeartbeatResponse>) {
        self.registration.in_flight = false;
        let now = self.clock.ms();
        self.registration.not_before = now + RETRY_MS;
        let Some(answer) = answer else { return };
        match answer.error_code.err() {
            None => {}
            Some(ResponseError::NotController) => return,
            Some(ResponseError::BrokerIdNotRegistered) => {
                warning!("the controller does not know this broker; it registers again");
                self.registration.epoch = None;
                self.registration.previous_epoch = None;
                return;
            }
            Some(error) => {
                warning!("heartbeat refused: {error:?}");
                return;
            }
        }
        if answer.is_fenced != self.registration.fenced {
            self.registration.fenced = answer.is_fenced;
            info!("{}", if answer.is_fenced { "fenced" } else { "unfenced" });
        }
        self.registration.may_stop |= answer.should_shut_down;
        let interval = self.heartbeat_interval();
        let pause = if self.registration.stop_at.is_some() {
            interval.min(SHUTDOWN_POLL_MS)
        } else {
            // A fenced broker has nothing else to do than to become unfenced.
            if self.registration.fenced {
                interval.min(RETRY_MS)
            } else {
                interval
            }
        };
        self.registration.not_before = now.saturating_add(pause);
    }

    fn heartbeat_interval(&self) -> u64 {
        u64::try_from(self.config.heartbeat_interval.as_millis()).unwrap_or(u64::MAX)
    }

    /// The broker has caught up with its registration, or another controller is active: it should hear from
    /// this broker now.
    pub fn report_now(&mut self) {
        self.registration.not_before = self.clock.ms();
    }
}
