//! Which anomalies rule out which levels (Adya's PL levels; Cerone, Bernardi and Gotsman; Bailis and others).
//!
//! Each anomaly names the weakest levels that it rules out. Whatever implies one of them is ruled out too
//! ([`Level::implies`]).

use super::anomaly::{Class, Clock, CycleAnomaly, TxnAnomaly};
use crate::Level;

/// The weakest levels that an anomaly rules out.
pub(crate) fn weakest_ruled_out(anomaly: TxnAnomaly) -> &'static [Level] {
    use Level as L;
    use TxnAnomaly as A;
    match anomaly {
        A::DuplicateElements | A::CyclicVersions => &[L::ReadUncommitted],
        A::IncompatibleOrder | A::FutureRead | A::G1a | A::G1b | A::DirtyUpdate => &[L::ReadCommitted],
        // It may be from before the history began, as the field's other checkers take it.
        A::ThinAirRead => &[],
        A::Internal => &[L::ReadAtomic],
        A::LostUpdate => &[L::CursorStability, L::ParallelSnapshotIsolation],
        A::Cycle(CycleAnomaly { clock, class }) => cycle(clock, class),
    }
}

fn cycle(clock: Clock, class: Class) -> &'static [Level] {
    use Level as L;
    match (clock, class) {
        (Clock::None, Class::G0) => &[L::ReadUncommitted],
        (Clock::None, Class::G1c) => &[L::ReadCommitted],
        (Clock::None, Class::GSingle | Class::GNonadjacent) => &[L::RepeatableRead, L::SnapshotIsolation],
        (Clock::None, Class::G2) => &[L::RepeatableRead],
        (Clock::Process, Class::G2) => &[L::StrongSessionSerializable],
        (Clock::Process, _) => &[L::StrongSessionSnapshotIsolation],
        (Clock::Realtime, Class::G2) => &[L::StrongSerializable],
        (Clock::Realtime, _) => &[L::StrongSnapshotIsolation],
    }
}

/// Whether a level proscribes an anomaly.
pub(crate) fn proscribes(level: Level, anomaly: TxnAnomaly) -> bool {
    let causal_order = |cycle: CycleAnomaly| {
        // Causal consistency keeps the order of each session; the other levels below the strong ones do not.
        level == Level::Causal && cycle.clock == Clock::Process && cycle.class <= Class::G1c
    };
    matches!(anomaly, TxnAnomaly::Cycle(cycle) if causal_order(cycle))
        || weakest_ruled_out(anomaly)
            .iter()
            .any(|weakest| level.implies(*weakest))
}

/// What a level needs to be looked at besides data.
pub(crate) fn clock(level: Level) -> Clock {
    match level {
        Level::StrongSnapshotIsolation | Level::StrongSerializable => Clock::Realtime,
        Level::Causal | Level::StrongSessionSnapshotIsolation | Level::StrongSessionSerializable => {
            Clock::Process
        }
        _ => Clock::None,
    }
}

/// The weakest levels that some anomalies rule out, by name.
pub(crate) fn ruled_out(anomalies: &[TxnAnomaly]) -> Vec<String> {
    let levels: Vec<Level> = Level::ALL
        .into_iter()
        .filter(|level| {
            let rules_out = |anomaly: &TxnAnomaly| weakest_ruled_out(*anomaly).contains(level);
            anomalies.iter().any(rules_out)
        })
        .collect();
    let weakest = |level: &&Level| {
        !levels
            .iter()
            .any(|other| other != *level && level.implies(*other))
    };
    levels
        .iter()
        .filter(weakest)
        .map(|level| level.text().to_owned())
        .collect()
}

/// Whether, where some anomaly is found, a cycle rules out nothing more: not even the levels between those that have
/// names, such as read committed with the order of real time.
pub(crate) fn covers(known: TxnAnomaly, cycle: CycleAnomaly) -> bool {
    use TxnAnomaly as A;
    match known {
        A::DuplicateElements | A::CyclicVersions => true,
        A::IncompatibleOrder | A::FutureRead | A::G1a | A::G1b | A::DirtyUpdate => cycle.class >= Class::G1c,
        A::Internal | A::ThinAirRead => false,
        A::LostUpdate => cycle.class >= Class::GSingle,
        A::Cycle(other) => {
            let class = match other.class {
                Class::G0 | Class::G1c => other.class <= cycle.class,
                Class::GSingle | Class::GNonadjacent => cycle.class >= Class::GSingle,
                Class::G2 => cycle.class == Class::G2,
            };
            class && other.clock <= cycle.clock
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle_of(clock: Clock, class: Class) -> TxnAnomaly {
        TxnAnomaly::Cycle(CycleAnomaly { clock, class })
    }

    #[test]
    fn g_single_rules_out_repeatable_read_and_snapshot_isolation_and_what_implies_them() {
        let single = cycle_of(Clock::None, Class::GSingle);
        let ruled: Vec<Level> = Level::ALL
            .into_iter()
            .filter(|level| proscribes(*level, single))
            .collect();
        use Level as L;
        assert_eq!(
            ruled,
            [
                L::RepeatableRead,
                L::SnapshotIsolation,
                L::Serializable,
                L::StrongSessionSnapshotIsolation,
                L::StrongSessionSerializable,
                L::StrongSnapshotIsolation,
                L::StrongSerializable
            ]
        );
        assert_eq!(ruled_out(&[single]), ["repeatable-read", "snapshot-isolation"]);
    }

    #[test]
    fn the_weakest_alone_are_named() {
        let g0 = cycle_of(Clock::None, Class::G0);
        let g2 = cycle_of(Clock::Realtime, Class::G2);
        assert_eq!(ruled_out(&[g2, g0]), ["read-uncommitted"]);
        assert_eq!(ruled_out(&[g2]), ["strong-serializable"]);
        assert_eq!(ruled_out(&[]), [""; 0]);
    }

    #[test]
    fn causal_consistency_keeps_the_order_of_sessions() {
        assert!(proscribes(Level::Causal, cycle_of(Clock::Process, Class::G1c)));
        assert!(!proscribes(
            Level::SnapshotIsolation,
            cycle_of(Clock::Process, Class::G1c)
        ));
        assert!(!proscribes(Level::Causal, TxnAnomaly::LostUpdate));
    }
}
