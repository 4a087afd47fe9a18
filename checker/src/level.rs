//! The consistency models by name.

use std::str::FromStr;

/// A transactional consistency model: the level that a history is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// PL-1.
    ReadUncommitted,
    /// PL-2.
    ReadCommitted,
    /// All of a transaction's writes are seen, or none.
    ReadAtomic,
    /// Read committed, with a view that never shrinks within a transaction.
    MonotonicAtomicView,
    /// PL-CS.
    CursorStability,
    /// PL-2.99.
    RepeatableRead,
    /// Transactional causal consistency.
    Causal,
    /// PSI.
    ParallelSnapshotIsolation,
    /// PL-SI.
    SnapshotIsolation,
    /// PL-3.
    Serializable,
    /// Snapshot isolation, with the order of each session.
    StrongSessionSnapshotIsolation,
    /// Serializable, with the order of each session.
    StrongSessionSerializable,
    /// Snapshot isolation, with the order of real time.
    StrongSnapshotIsolation,
    /// Serializable, with the order of real time: strict serializability.
    StrongSerializable,
}

impl Level {
    /// All of them.
    pub const ALL: [Level; 14] = [
        Level::ReadUncommitted,
        Level::ReadCommitted,
        Level::ReadAtomic,
        Level::MonotonicAtomicView,
        Level::CursorStability,
        Level::RepeatableRead,
        Level::Causal,
        Level::ParallelSnapshotIsolation,
        Level::SnapshotIsolation,
        Level::Serializable,
        Level::StrongSessionSnapshotIsolation,
        Level::StrongSessionSerializable,
        Level::StrongSnapshotIsolation,
        Level::StrongSerializable,
    ];

    /// Its name, as `--level` takes it.
    pub fn text(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "read-uncommitted",
            Level::ReadCommitted => "read-committed",
            Level::ReadAtomic => "read-atomic",
            Level::MonotonicAtomicView => "monotonic-atomic-view",
            Level::CursorStability => "cursor-stability",
            Level::RepeatableRead => "repeatable-read",
            Level::Causal => "causal",
            Level::ParallelSnapshotIsolation => "parallel-snapshot-isolation",
            Level::SnapshotIsolation => "snapshot-isolation",
            Level::Serializable => "serializable",
            Level::StrongSessionSnapshotIsolation => "strong-session-snapshot-isolation",
            Level::StrongSessionSerializable => "strong-session-serializable",
            Level::StrongSnapshotIsolation => "strong-snapshot-isolation",
            Level::StrongSerializable => "strong-serializable",
        }
    }
}

impl FromStr for Level {
    type Err = String;

    /// By its name; `strict-serializable` is `strong-serializable`.
    fn from_str(name: &str) -> Result<Level, String> {
        if name == "strict-serializable" {
            return Ok(Level::StrongSerializable);
        }
        let known = Level::ALL.into_iter().find(|level| level.text() == name);
        known.ok_or_else(|| format!("{name} is no consistency model"))
    }
}
