//! What the controller says: about one partition, and about the brokers.

/// The settings of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// `min.insync.replicas` of the topic.
    pub min_insync_replicas: usize,
    /// `replica.lag.time.max.ms`: a follower that has not caught up for this long leaves the ISR.
    pub replica_lag_time_max_ms: u64,
}

/// A partition, as its record in the metadata log says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The leader, if there is one.
    pub leader: Option<i32>,
    /// Grows with every election.
    pub leader_epoch: i32,
    /// Grows with every change.
    pub partition_epoch: i32,
    /// The in-sync replicas.
    pub isr: Vec<i32>,
    /// All replicas, in the order of the assignment.
    pub replicas: Vec<i32>,
}

impl Partition {
    /// `min(min.insync.replicas, number of replicas)`: more than all there are cannot be asked for.
    pub fn effective_min_isr(&self, settings: &Settings) -> usize {
        settings.min_insync_replicas.min(self.replicas.len())
    }
}

/// A registered broker, as the metadata log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broker {
    /// The epoch of its registration.
    pub broker_epoch: i64,
    /// It may not lead, nor join an ISR.
    pub fenced: bool,
    /// It is shutting down, and may not join an ISR.
    pub in_controlled_shutdown: bool,
}

/// The brokers, as the metadata log says.
pub trait Brokers {
    /// The registration of broker `id`.
    fn broker(&self, id: i32) -> Option<Broker>;
}

impl Brokers for std::collections::BTreeMap<i32, Broker> {
    fn broker(&self, id: i32) -> Option<Broker> {
        self.get(&id).copied()
    }
}

impl<F: Fn(i32) -> Option<Broker>> Brokers for F {
    fn broker(&self, id: i32) -> Option<Broker> {
        self(id)
    }
}
