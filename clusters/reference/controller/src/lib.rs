//! The controller, sans-IO: the cluster's metadata, registrations, elections and eligible leader replicas.
//!
//! What it does: builds the image of the cluster from committed metadata records ([`Controller::replay`]), and, on
//! the active controller, turns requests into records and replies ([`Outcome`]). What it does not: agree (that is `raft`),
//! keep time, talk, or draw random numbers. The KIP's unclean recovery, and its designated elections, are not in it.
//!
//! The driver's part: on the active controller it appends an outcome's records as one atomic batch, replays them at once,
//! so that the next request sees them, and delivers the reply when all that was appended up to then is committed: also a
//! reply without records, for it too may rest on records that are not committed yet. On losing the leadership it calls
//! [`Controller::reset`] and replays what is committed; on winning it, [`Controller::activate`].
//!
//! Sources: KIP-966 for ISR, ELR and unclean registration; where it is silent, what Kafka's controller does. Differences
//! that are meant:
//! - The effective min ISR is that of *this* partition's replicas, as the KIP has it; Kafka takes partition 0's.
//! - After an election from the ELR the ELR's rule is applied again to the new ISR. Otherwise a min ISR that was lowered
//!   while the ISR was empty would leave an ELR beside an ISR that is large enough.
//! - A broker that registers after its registration was removed is unclean, and leaves the ELRs that it is still in.
//! - LastKnownELR is the last known leader alone, as in the KIP's phase before unclean recovery, and as in Kafka. The
//!   KIP's full list, which keeps the members of the ELR that came back unclean, is of use to that recovery only.
//! - A change of min ISR clears the ELR of those partitions whose ISR reaches it, as the KIP has it, with the change itself
//!   in one batch; Kafka clears every ELR of the topic, also of a partition that then has nobody left to lead it. A raise
//!   moves the partition's epoch: a leader that has not heard of it could have a follower removed and go on acknowledging
//!   without it under the old min ISR, while the controller, under the new one, keeps that follower in the ELR.
//! - A reassignment ends only where that leaves at least min ISR replicas in sync, and is cancelled or replaced only where
//!   that leaves as many in ISR and ELR, or takes none from them; Kafka is content with one in sync. Replicas that a reassignment
//!   adds leave at once where it is replaced by one that does not want them.
//! - Where eligible leader replicas are switched on, fenced members of an ISR move to the ELR at once; where they are
//!   switched off, an empty ISR gets one of the ELR: the last known leader, where it is there.
//! - An election that `unclean.leader.election.enable` allows is held as soon as it is allowed, not minutes later.
//!
//! Invariants, held by every record it gives:
//! 1. A fenced broker is in no ISR, but for the last member where eligible leader replicas are off.
//! 2. ISR and ELR are disjoint subsets of the replicas; where |ISR| ≥ min ISR the ELR is empty.
//! 3. Each change adds one to the partition's epoch, and one to the leader's epoch where it names a leader.
//! 4. Replaying the records gives the image that the active controller has.
//! 5. A leader is an unfenced broker outside controlled shutdown, and in the ISR.
//! 6. With eligible leader replicas on, nothing but an unclean registration, an unclean election, or a change of min ISR or
//!    of the replicas takes |ISR ∪ ELR| below min ISR.

mod alter_partition;
mod availability;
mod change;
mod configs;
mod elections;
mod error_code;
mod features;
mod heartbeat;
mod image;
mod reassignment;
mod registration;
mod session;
mod snapshot;
mod topics;

pub use alter_partition::{AlterPartition, AlterPartitionAnswer, AlteredPartition, PartitionToAlter};
pub use change::effective_min_isr;
pub use configs::{AlterConfigs, ConfigChange, ConfigResource};
pub use elections::Election;
pub use error_code::{ErrorCode, Refused};
pub use features::{Direction, FeatureUpdate};
pub use heartbeat::{Heartbeat, HeartbeatAnswer};
pub use image::{Broker, Image, Partition, RegisteredController, ReplayError, Topic};
pub use reassignment::Reassign;
pub use registration::{RegisterBroker, RegisterController};
pub use topics::{CreatePartitions, CreateTopic, CreatedTopic, Placement};

use records::Record;
use session::Contacts;

/// The feature that switches eligible leader replicas.
pub const ELR_FEATURE: &str = "eligible.leader.replicas.version";
/// The topic configuration that says how many replicas must be in sync.
pub const MIN_INSYNC_REPLICAS: &str = "min.insync.replicas";
/// The topic configuration that allows unclean elections.
pub const UNCLEAN_LEADER_ELECTION: &str = "unclean.leader.election.enable";

/// What the controller is told once, with Kafka's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The cluster's id: a broker of another is refused.
    pub cluster_id: String,
    /// `broker.session.timeout.ms`.
    pub session_timeout_ms: u64,
    /// `min.insync.replicas` where neither topic nor cluster sets it.
    pub min_insync_replicas: i32,
    /// `unclean.leader.election.enable` where no topic sets it.
    pub unclean_leader_election: bool,
    /// `num.partitions`.
    pub num_partitions: i32,
    /// `default.replication.factor`.
    pub default_replication_factor: i16,
}

/// Records to append as one batch, and the reply to give once they, and all before them, are committed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Outcome<T> {
    /// To append, in this order.
    pub records: Vec<Record>,
    /// To reply.
    pub reply: T,
}

impl<T> Outcome<T> {
    fn reply(reply: T) -> Outcome<T> {
        Outcome {
            records: Vec::new(),
            reply,
        }
    }
}

impl<T> Outcome<Result<(), T>> {
    fn of(decided: Result<Vec<Record>, T>) -> Outcome<Result<(), T>> {
        match decided {
            Ok(records) => Outcome {
                records,
                reply: Ok(()),
            },
            Err(refused) => Outcome::reply(Err(refused)),
        }
    }
}

/// The controller's state machine.
#[derive(Clone, Debug)]
pub struct Controller {
    config: Config,
    image: Image,
    /// Volatile, of the active controller only.
    contacts: Contacts,
}

impl Controller {
    /// A controller that knows nothing.
    pub fn new(config: Config) -> Controller {
        Controller {
            config,
            image: Image::default(),
            contacts: Contacts::default(),
        }
    }

    /// The image.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Takes in one record: committed ones on a standby, appended ones on the active controller. `batch` is the base
    /// offset of the record's batch.
    ///
    /// # Errors
    /// A record that cannot follow what was taken in before: the log or this program is broken.
    pub fn replay(&mut self, offset: i64, batch: i64, record: &Record) -> Result<(), ReplayError> {
        self.image.replay(offset, batch, record)
    }

    /// Forgets everything: the driver replays the committed log next. For a controller that is no longer active and may
    /// have taken in records that were never committed.
    pub fn reset(&mut self) {
        self.image = Image::default();
        self.contacts = Contacts::default();
    }

    /// Becomes active: every unfenced broker gets a fresh lease (KAFKA-18138, KAFKA-19130).
    pub fn activate(&mut self, now_ms: u64) {
        self.contacts = Contacts::default();
        for (id, broker) in self.image.brokers() {
            if !broker.fenced {
                self.contacts.touch(*id, broker.epoch, now_ms);
            }
        }
    }

    /// The first records of a new cluster's log: its feature levels.
    pub fn bootstrap_records(&self, levels: impl IntoIterator<Item = (String, i16)>) -> Vec<Record> {
        let level = |(name, level)| Record::FeatureLevel(records::FeatureLevel { name, level });
        levels.into_iter().map(level).collect()
    }

    /// Fences one broker whose session has ended, if there is one; the driver calls again until there is none.
    pub fn tick(&mut self, now_ms: u64) -> Vec<Record> {
        let expired = self.expired(now_ms);
        let broker = expired.and_then(|id| self.image.brokers().get_key_value(&id));
        broker.map_or_else(Vec::new, |(id, broker)| self.fence(*id, broker.epoch))
    }

    /// This controller as it will be once these records are taken in: what must follow from them in the same batch is
    /// decided by it.
    fn after(&self, records: &[Record]) -> Controller {
        let mut after = self.clone();
        for record in records {
            // Configurations and levels: they follow anything, and look at no offset.
            let taken = after.image.replay(0, 0, record);
            debug_assert!(taken.is_ok(), "{record:?}");
        }
        after
    }

    fn elr_enabled(&self) -> bool {
        self.image.feature(ELR_FEATURE) >= 1
    }

    fn min_insync_replicas(&self, topic: &str) -> i32 {
        self.image
            .topic_config(topic, MIN_INSYNC_REPLICAS)
            .and_then(|value| value.parse().ok())
            .unwrap_or(self.config.min_insync_replicas)
    }

    fn unclean_allowed(&self, topic: &str) -> bool {
        self.image
            .topic_config(topic, UNCLEAN_LEADER_ELECTION)
            .map_or(self.config.unclean_leader_election, |value| value == "true")
    }
}

#[cfg(test)]
mod tests;
