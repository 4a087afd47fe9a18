//! What a run is like.

use std::time::Duration;

use raft::{Bug, Nanos, Timeouts};

use super::Sabotage;
use crate::Random;

/// One, in the simulation's unit of time.
pub const MILLISECOND: Nanos = 1_000_000;

/// A run's size, and its promise of an end.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many nodes vote.
    pub voters: usize,
    /// How many only follow.
    pub observers: usize,
    /// How long faults are injected.
    pub chaos: Nanos,
    /// How long after the last fault healed everything must work again.
    pub recovery: Nanos,
    /// The nodes' time-outs.
    pub timeouts: Timeouts,
    /// The most records in one answer: few, so that catching up takes several.
    pub fetch_max: usize,
    /// A promise of the environment to break.
    pub sabotage: Option<Sabotage>,
    /// A bug of the machine's to switch on in every node. Then only the rules with a name in the
    /// literature count (see [`super::Violation::is_named`]): a bug is to be caught by what it leads to.
    pub bug: Option<Bug>,
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
        Self {
            voters: [3, 3, 5, 3, 1, 5, 2, 3][random.index(8)],
            observers: random.index(3),
            chaos: random.between(1_000, 3_000) * MILLISECOND,
            recovery: u64::try_from(round.as_nanos()).unwrap_or(u64::MAX) * RECOVERY_ROUNDS,
            timeouts,
            fetch_max: 8,
            sabotage: None,
            bug: None,
        }
    }
}

/// What a run that broke no rule was like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcome {
    /// How many events happened.
    pub steps: u64,
    /// How many leaders were elected.
    pub leaders: usize,
    /// How many records were committed.
    pub committed: usize,
    /// How many times a node crashed.
    pub crashes: u64,
    /// How long the quorum took to work again after the last fault healed.
    pub recovered_after: Nanos,
}
