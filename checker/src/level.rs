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

    /// The next weaker levels: whatever rules out one of them rules out this one too.
    pub fn next_weaker(self) -> &'static [Level] {
        use Level as L;
        match self {
            L::ReadUncommitted => &[],
            L::ReadCommitted => &[L::ReadUncommitted],
            L::MonotonicAtomicView | L::CursorStability => &[L::ReadCommitted],
            L::ReadAtomic => &[L::MonotonicAtomicView],
            L::RepeatableRead => &[L::CursorStability, L::MonotonicAtomicView],
            L::Causal => &[L::ReadAtomic],
            L::ParallelSnapshotIsolation => &[L::Causal],
            L::SnapshotIsolation => &[L::ParallelSnapshotIsolation],
            L::Serializable => &[L::RepeatableRead, L::SnapshotIsolation],
            L::StrongSessionSnapshotIsolation => &[L::SnapshotIsolation],
            L::StrongSessionSerializable => &[L::Serializable, L::StrongSessionSnapshotIsolation],
            L::StrongSnapshotIsolation => &[L::StrongSessionSnapshotIsolation],
            L::StrongSerializable => &[L::StrongSessionSerializable, L::StrongSnapshotIsolation],
        }
    }

    /// Whether every history of this level is one of the other level too.
    pub fn implies(self, other: Level) -> bool {
        // Each step goes to a weaker level, and there are fourteen: the depth is bounded.
        self == other || self.next_weaker().iter().any(|weaker| weaker.implies(other))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_found_by_its_name() {
        for level in Level::ALL {
            assert_eq!(level.text().parse(), Ok(level));
        }
        assert_eq!("strict-serializable".parse(), Ok(Level::StrongSerializable));
        assert!("serialisable".parse::<Level>().is_err());
    }

    #[test]
    fn the_strongest_implies_all_and_the_weakest_nothing_else() {
        for level in Level::ALL {
            assert!(Level::StrongSerializable.implies(level), "{level:?}");
            assert!(level.implies(Level::ReadUncommitted), "{level:?}");
            assert!(level == Level::ReadUncommitted || !Level::ReadUncommitted.implies(level));
        }
        assert!(!Level::SnapshotIsolation.implies(Level::RepeatableRead));
        assert!(!Level::RepeatableRead.implies(Level::SnapshotIsolation));
        assert!(!Level::Serializable.implies(Level::StrongSessionSnapshotIsolation));
    }
}
