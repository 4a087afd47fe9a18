//! What Kafka allows, and why: found, told, and no failure.

use crate::{Level, Options};

/// Why an anomaly decides nothing; none where it does.
pub(super) fn why(name: &str, options: &Options) -> Option<&'static str> {
    match name {
        "int-send-skip" => Some("records of other producers may come between those of one operation"),
        "G0"
        | "G0-process"
        | "G0-realtime"
        | "PL-1-cycle-exists"
        | "strong-session-PL-1-cycle-exists"
        | "strong-PL-1-cycle-exists" => {
            Some("Kafka does not isolate writes: records of transactions stand in a log as they came")
        }
        "poll-skip" | "nonmonotonic-poll" if options.subscribe => {
            Some("with subscribe, a rebalance between two polls may move a consumer to another position")
        }
        "G1c"
        | "G1c-process"
        | "G1c-realtime"
        | "PL-2-cycle-exists"
        | "strong-session-PL-2-cycle-exists"
        | "strong-PL-2-cycle-exists"
            if options.ww_deps =>
        {
            Some("with the order of writes in the cycle: Kafka does not isolate writes")
        }
        _ if name.starts_with("G-single") || name.starts_with("G-nonadjacent") || name.starts_with("G2") => {
            let decides = options.level.is_some_and(|level| rules_out(level, name));
            (!decides).then_some(
                "a consumer reads each partition at its own pace: Kafka does not isolate polls. Ask for a level to have \
                 it decide",
            )
        }
        _ => None,
    }
}

/// Whether a level does without cycles that have a rw in them.
fn rules_out(level: Level, name: &str) -> bool {
    let weakest: &[Level] = match name {
        "G-single" => &[Level::ParallelSnapshotIsolation, Level::RepeatableRead],
        "G-nonadjacent" => &[Level::SnapshotIsolation, Level::RepeatableRead],
        _ => &[Level::RepeatableRead],
    };
    weakest.iter().any(|weak| level.implies(*weak))
}
