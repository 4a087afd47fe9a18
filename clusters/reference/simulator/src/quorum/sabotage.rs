//! Promises of the environment to break, so that the checks are seen to fail.

/// What the environment does wrong. The machines' code stays as it is: each of these is what a
/// driver, or a disk, could get wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// The quorum state is said to be on disk, and is not.
    ForgetQuorumState,
    /// The log is said to be synced as soon as that is asked for, and is not.
    LieAboutSync,
    /// A request for a vote claims a log that nobody can surpass.
    BoastInVotes,
    /// Every answer to a request for a vote arrives as a yes.
    ForgeBallots,
    /// The log is not truncated when it should be: the new records go behind the old.
    SkipTruncation,
    /// A leader's answers claim that all it has is committed.
    InflateHighWatermark,
    /// A follower's fetch claims its log to be as new as the leader's epoch.
    HideDivergence,
    /// Nothing is ever delivered to the voters.
    DeadNetwork,
}
