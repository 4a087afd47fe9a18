//! Bugs that can be switched on by name, for a harness to catch. One at most is on in a node, and
//! none unless [`crate::Config::with_bug`] was called: every place that has one asks
//! `Config::has`, which says no where no bug was named.

use std::fmt;
use std::str::FromStr;

/// A bug of the quorum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bug {
    /// A vote is given without being on disk.
    VoteNotPersisted,
    /// Who loses a pre-vote forgets whom it had voted for.
    VotedKeyDropped,
    /// Votes are given to logs that lack what this one has.
    UpToDateCheckSkipped,
    /// A majority commits, though no record of the leader's own epoch is on it.
    CommitWithoutOwnEpoch,
    /// Who misses its leader stands at once, and raises the epoch.
    NoPreVote,
    /// A leader that no majority hears goes on.
    NoCheckQuorum,
    /// A leader that restarts goes on leading its epoch.
    LeaderResumesEpoch,
    /// A follower fetches on, and so acknowledges, before its log is synced.
    AckBeforeSync,
    /// Records that the leader's log does not have are kept.
    DivergenceNotTruncated,
    /// A change of voters is begun before the one before it is committed.
    TwoVoterChanges,
    /// A snapshot ends inside a batch.
    SnapshotInsideBatch,
    /// A follower applies records that are not committed.
    UncommittedApplied,
}

impl Bug {
    /// All of them, with the names that `--bug` takes.
    pub const ALL: [(Self, &'static str); 12] = [
        (Self::VoteNotPersisted, "quorum-vote-not-persisted"),
        (Self::VotedKeyDropped, "quorum-voted-key-dropped"),
        (Self::UpToDateCheckSkipped, "quorum-up-to-date-check-skipped"),
        (Self::CommitWithoutOwnEpoch, "quorum-commit-without-own-epoch"),
        (Self::NoPreVote, "quorum-no-pre-vote"),
        (Self::NoCheckQuorum, "quorum-no-check-quorum"),
        (Self::LeaderResumesEpoch, "quorum-leader-resumes-epoch"),
        (Self::AckBeforeSync, "quorum-ack-before-sync"),
        (Self::DivergenceNotTruncated, "quorum-divergence-not-truncated"),
        (Self::TwoVoterChanges, "quorum-two-voter-changes"),
        (Self::SnapshotInsideBatch, "quorum-snapshot-inside-batch"),
        (Self::UncommittedApplied, "quorum-uncommitted-applied"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(bug, _)| *bug == self)
            .map_or("", |(_, name)| name)
    }
}

impl fmt::Display for Bug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No bug has that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownBug;

impl fmt::Display for UnknownBug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no bug of the quorum has that name; there are:")?;
        Bug::ALL.iter().try_for_each(|(_, name)| write!(f, " {name}"))
    }
}

impl std::error::Error for UnknownBug {}

impl FromStr for Bug {
    type Err = UnknownBug;

    fn from_str(name: &str) -> Result<Self, UnknownBug> {
        Self::ALL
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(bug, _)| *bug)
            .ok_or(UnknownBug)
    }
}
