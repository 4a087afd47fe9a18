//! What a cluster's run is like.

use std::time::Duration;

use raft::Timeouts;

use crate::Random;
use crate::quorum::{FaultKind, MILLISECOND, Settings};

/// What is broken on purpose, to see the checks fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Eligible leader replicas are off: the last replica standing leads again, whatever it lost.
    NoElr,
    /// A broker that crashed says that it stopped in good order.
    PosesAsClean,
    /// Leaders commit although fewer than min ISR replicas are in sync.
    LaxHighWatermark,
    /// One controller misses a record.
    MissesRecord,
}

/// A cluster's size and habits.
#[derive(Debug, Clone)]
pub struct ClusterSettings {
    /// The quorum's part; its observers are the brokers.
    pub quorum: Settings,
    /// Each partition's replicas.
    pub replication_factor: usize,
    /// `min.insync.replicas`.
    pub min_isr: usize,
    /// How many partitions there are.
    pub partitions: usize,
    /// Whether brokers crash only as far as the promise bears it.
    pub within_promise: bool,
    /// What is broken on purpose.
    pub flaw: Option<Flaw>,
}

impl ClusterSettings {
    /// A cluster of a size that the seed chooses.
    pub fn for_seed(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0xc105_7e12);
        let timeouts = Timeouts {
            election_timeout: Duration::from_millis(100),
            fetch_timeout: Duration::from_millis(200),
            election_backoff_max: Duration::from_millis(100),
            request_timeout: Duration::from_millis(60),
            retry_backoff: Duration::from_millis(20),
            fetch_max_wait: Duration::from_millis(40),
        };
        let (replication_factor, min_isr) =
            [(3, 2), (3, 2), (3, 2), (3, 1), (4, 2), (4, 3), (2, 1), (3, 3)][random.index(8)];
        let spare = random.index(2);
        let quorum = Settings {
            voters: [1, 3, 3, 3][random.index(4)],
            observers: replication_factor + spare,
            chaos: random.between(1_000, 3_000) * MILLISECOND,
            recovery: 10_000 * MILLISECOND,
            timeouts,
            fetch_max: 64,
            dynamic: false,
            snapshots_per_mille: 0,
            slice_max: 64,
            without: vec![FaultKind::Kill, FaultKind::Pause, FaultKind::Drift],
            sabotage: None,
            bug: None,
        };
        Self {
            quorum,
            replication_factor,
            min_isr,
            partitions: 1 + random.index(2),
            within_promise: random.per_mille(800),
            flaw: None,
        }
    }
}
