//! What a run is like.

use std::time::Duration;

use raft::{Bug, Nanos, Timeouts};

use super::{Counts, Sabotage};
use crate::Random;

/// One, in the simulation's unit of time.
pub const MILLISECOND: Nanos = 1_000_000;

/// The most voters that administrators make: Kafka's own advice ends at five, and seven still show
/// what is special about more than that.
pub const VOTERS_MAX: usize = 7;

/// A run's size, and its promise of an end.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many nodes vote, at first.
    pub voters: usize,
    /// How many only follow, at first.
    pub observers: usize,
    /// Whether the log names the voters (`kraft.version` 1, KIP-853), so that administrators change
    /// them and a node that lost its disk comes back as another.
    pub dynamic: bool,
    /// In how many of a thousand commits a node takes a snapshot soon after.
    pub snapshots_per_mille: u64,
    /// How long faults are injected.
    pub chaos: Nanos,
    /// How long after the last fault healed everything must work again.
    pub recovery: Nanos,
    /// The nodes' time-outs.
    pub timeouts: Timeouts,
    /// The most records in one answer: few, so that catching up takes several.
    pub fetch_max: usize,
    /// The most bytes of a snapshot in one answer: few, so that a snapshot takes several.
    pub slice_max: u64,
    /// Kinds of faults that do not happen.
    pub without: Vec<FaultKind>,
    /// A promise of the environment to break.
    pub sabotage: Option<Sabotage>,
    /// A bug of the machine's to switch on in every node. Then only the rules with a name in the
    /// literature count (see [`super::Violation::is_named`]): a bug is to be caught by what it leads to.
    pub bug: Option<Bug>,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// A node's process is killed; its files stay as they are.
    Kill,
    /// A node loses power.
    PowerCut,
    /// All nodes lose power at once.
    Blackout,
    /// Links are cut.
    Cut,
    /// Messages are lost, doubled, late.
    Degrade,
    /// The network is whole again.
    Heal,
    /// The leader is asked to resign.
    Resign,
    /// A node does nothing for a while.
    Pause,
    /// A node's clock runs fast or slow.
    Drift,
    /// A node's disk is gone; it is formatted anew.
    DiskLoss,
    /// Administrators change the voters.
    Administrator,
}

impl FaultKind {
    /// The faults of the plan, as often as they are drawn.
    pub(super) const DRAWN: [Self; 24] = {
        use FaultKind::{Blackout, Cut, Degrade, DiskLoss, Drift, Heal, Kill, Pause, PowerCut, Resign};
        [
            Kill, Kill, PowerCut, PowerCut, PowerCut, PowerCut, Blackout, Cut, Cut, Cut, Cut, Degrade,
            Degrade, Degrade, Heal, Heal, Heal, Heal, Heal, Resign, Resign, Pause, Drift, DiskLoss,
        ]
    };
}

/// How many times the longest way to an election (fetch time-out, then twice the election
/// time-out) the quorum may take to recover. One is the rule; split votes, and a prospective voter
/// who must wait until the others have missed the leader as well, take further rounds.
const RECOVERY_ROUNDS: u64 = 10;

impl Settings {
    /// A quorum of a size that the seed chooses.
    pub fn for_seed(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x5e77_1265);
        let timeouts = Timeouts {
            election_timeout: Duration::from_millis(100),
            fetch_timeout: Duration::from_millis(200),
            election_backoff_max: Duration::from_millis(100),
            request_timeout: Duration::from_millis(60),
            retry_backoff: Duration::from_millis(10),
            fetch_max_wait: Duration::from_millis(40),
        };
        let round = timeouts.fetch_timeout + 2 * timeouts.election_timeout;
        let dynamic = random.per_mille(500);
        let voters = [3, 3, 5, 3, 1, 5, 2, 3, 4, VOTERS_MAX][random.index(10)];
        Self {
            voters,
            observers: random.index(if dynamic { 4 } else { 3 }),
            dynamic,
            snapshots_per_mille: [0, 20, 50, 150][random.index(4)],
            chaos: random.between(1_000, 3_000) * MILLISECOND,
            recovery: u64::try_from(round.as_nanos()).unwrap_or(u64::MAX) * RECOVERY_ROUNDS,
            timeouts,
            fetch_max: 8,
            slice_max: random.between(6, 60),
            without: Vec::new(),
            sabotage: None,
            bug: None,
        }
    }
}

/// What a run that broke no rule was like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcome {
    /// How many things happened, be it to a machine or not.
    pub steps: u64,
    /// How many leaders were elected.
    pub leaders: usize,
    /// How many records were committed.
    pub committed: usize,
    /// How many times a node crashed.
    pub crashes: u64,
    /// How long the quorum took to work again after the last fault healed.
    pub recovered_after: Nanos,
    /// What it had in it.
    pub counts: Counts,
}
