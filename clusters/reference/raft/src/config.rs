//! What a node is told before it starts.

use std::fmt;
use std::time::Duration;

use crate::{Bug, Nanos, NodeId, ReplicaKey, Voter, VoterSet};

/// The time-outs, under the names that Kafka gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// `controller.quorum.election.timeout.ms`: T; an election's timer is drawn from T..2T.
    pub election_timeout: Duration,
    /// `controller.quorum.fetch.timeout.ms`: without a successful Fetch for this long, a voter asks
    /// for an election. The leader resigns when a majority has not fetched for 1.5 times this long.
    pub fetch_timeout: Duration,
    /// `controller.quorum.election.backoff.max.ms`: the longest that a successor whom the leader
    /// did not prefer holds back after the leader's resignation.
    pub election_backoff_max: Duration,
    /// `controller.quorum.request.timeout.ms`: an unanswered request is given up after this long.
    pub request_timeout: Duration,
    /// `controller.quorum.retry.backoff.ms`: the pause after a failed or refused request.
    pub retry_backoff: Duration,
    /// How long a leader may hold back a Fetch that has nothing to return. Below the fetch
    /// time-out, or idle followers would call for elections. Kafka has no key for it.
    pub fetch_max_wait: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            election_timeout: Duration::from_millis(1000),
            fetch_timeout: Duration::from_millis(2000),
            election_backoff_max: Duration::from_millis(1000),
            request_timeout: Duration::from_millis(2000),
            retry_backoff: Duration::from_millis(20),
            fetch_max_wait: Duration::from_millis(500),
        }
    }
}

/// Who this node is, who votes, whom to ask, and the time-outs. Checked when made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    own: Voter,
    fixed_voters: VoterSet,
    bootstrap: Vec<NodeId>,
    timeouts: Timeouts,
    may_vote: bool,
    bug: Option<Bug>,
}

impl Config {
    /// A node of a quorum whose voters are fixed (`controller.quorum.voters`, `kraft.version` 0).
    /// A node that is not among them is an observer.
    ///
    /// # Errors
    ///
    /// When no set of running nodes could ever work this way.
    pub fn new(id: NodeId, voters: &[NodeId], timeouts: Timeouts) -> Result<Self, ConfigError> {
        if voters.is_empty() {
            return Err(ConfigError::NoVoters);
        }
        let fixed = voters.iter().copied().map(Voter::fixed).collect();
        Self::checked(Voter::fixed(id), fixed, Vec::new(), timeouts)
    }

    /// A node of a quorum whose voters are named in its log (`kraft.version` 1, KIP-853).
    /// `bootstrap` are those whom to ask while neither voters nor a leader are known
    /// (`controller.quorum.bootstrap.servers`, by whatever ids the driver gives them).
    ///
    /// # Errors
    ///
    /// When no set of running nodes could ever work this way.
    pub fn dynamic(own: Voter, bootstrap: Vec<NodeId>, timeouts: Timeouts) -> Result<Self, ConfigError> {
        Self::checked(own, Vec::new(), bootstrap, timeouts)
    }

    fn checked(
        own: Voter,
        fixed: Vec<Voter>,
        bootstrap: Vec<NodeId>,
        timeouts: Timeouts,
    ) -> Result<Self, ConfigError> {
        let named = fixed.iter().map(|voter| voter.key.id);
        if let Some(negative) = named.chain([own.key.id]).find(|node| node.0 < 0) {
            return Err(ConfigError::NegativeId(negative));
        }
        timeouts_work(&timeouts)?;
        let may_vote = fixed.is_empty() || fixed.iter().any(|voter| voter.key.id == own.key.id);
        Ok(Self {
            own,
            fixed_voters: VoterSet::new(fixed).map_err(ConfigError::VoterTwice)?,
            bootstrap,
            timeouts,
            may_vote,
            bug: None,
        })
    }

    /// The same, of a node that will never vote (a broker): it need not sync before it fetches.
    #[must_use]
    pub fn never_votes(mut self) -> Self {
        self.may_vote = false;
        self
    }

    /// Whether this node votes, or may be let vote: what it fetches for may count (KIP-853), so it
    /// syncs before it fetches on.
    pub fn may_vote(&self) -> bool {
        self.may_vote
    }

    /// Whether the log says who votes (`kraft.version` 1).
    pub fn is_dynamic(&self) -> bool {
        self.fixed_voters.is_empty()
    }

    /// The same, with a bug.
    #[must_use]
    pub fn with_bug(mut self, bug: Bug) -> Self {
        self.bug = Some(bug);
        self
    }

    /// Whether that bug is on.
    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// This node.
    pub fn id(&self) -> NodeId {
        self.own.key.id
    }

    /// This node, with its folder.
    pub fn key(&self) -> ReplicaKey {
        self.own.key
    }

    /// This node, as it would be named among the voters.
    pub fn own(&self) -> &Voter {
        &self.own
    }

    /// Those who vote for ever; empty where the log says who votes.
    pub fn fixed_voters(&self) -> &VoterSet {
        &self.fixed_voters
    }

    /// Whom to ask while nobody else is known.
    pub fn bootstrap(&self) -> &[NodeId] {
        &self.bootstrap
    }

    /// The time-outs.
    pub fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }
}

fn timeouts_work(timeouts: &Timeouts) -> Result<(), ConfigError> {
    for (name, value) in [
        ("controller.quorum.election.timeout.ms", timeouts.election_timeout),
        ("controller.quorum.fetch.timeout.ms", timeouts.fetch_timeout),
        ("controller.quorum.request.timeout.ms", timeouts.request_timeout),
        ("controller.quorum.retry.backoff.ms", timeouts.retry_backoff),
    ] {
        if value.is_zero() {
            return Err(ConfigError::ZeroTimeout(name));
        }
    }
    if timeouts.fetch_max_wait >= timeouts.fetch_timeout {
        return Err(ConfigError::WaitTooLong);
    }
    Ok(())
}

/// Why a configuration cannot work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigError {
    /// Nobody votes.
    NoVoters,
    /// A voter is named twice.
    VoterTwice(NodeId),
    /// Ids below zero are not nodes.
    NegativeId(NodeId),
    /// The time-out of that name is zero, which would busy-loop.
    ZeroTimeout(&'static str),
    /// A Fetch may wait as long as the fetch time-out, so that an idle quorum never rests.
    WaitTooLong,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoVoters => {
                write!(
                    f,
                    "controller.quorum.voters names nobody: name at least one voter"
                )
            }
            Self::VoterTwice(id) => {
                write!(f, "controller.quorum.voters names node {id} twice: name it once")
            }
            Self::NegativeId(id) => {
                write!(f, "node id {id} is negative: ids start at 0")
            }
            Self::ZeroTimeout(name) => {
                write!(
                    f,
                    "{name} is 0, and the node would never rest: set it to 1 or more"
                )
            }
            Self::WaitTooLong => write!(
                f,
                "a Fetch may wait as long as controller.quorum.fetch.timeout.ms, and an idle \
                 quorum would hold elections for ever: raise the time-out"
            ),
        }
    }
}

impl std::error::Error for ConfigError {}

/// A duration as nanoseconds; five centuries are as good as for ever.
pub(crate) fn nanos(duration: Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
