//! Anomalies by the names that others give them. The table is in `docs/checkers.md`, "Names of anomalies".

use checker::{Judgement, Level};

/// What differs between the names that others give and ours. Empty where nothing does.
pub fn differences(expected: &[String], ours: &Judgement) -> Vec<String> {
    let missing = expected
        .iter()
        .filter(|name| !is_told(name, ours))
        .map(|name| format!("lacks {name}"));
    let more = ours
        .anomalies
        .iter()
        .filter(|found| found.tolerated.is_none() && found.follows.is_none())
        .filter(|found| !expected.iter().any(|name| covers(name, &found.name)))
        .map(|found| format!("has {} too", found.name));
    missing.chain(more).collect()
}

/// Whether a name that others give is told by what we found.
fn is_told(name: &str, ours: &Judgement) -> bool {
    match name {
        // Another tool gave up its search here: whatever was found instead says more.
        "cycle-search-timeout" => true,
        _ => {
            level_named(name).is_some_and(|level| rules_out(ours, level))
                || ours.anomalies.iter().any(|found| same(name, &found.name))
        }
    }
}

/// Whether a name that others give stands for one of ours. A name for a whole level stands for every cycle, and so does
/// that of a search that was given up.
fn covers(name: &str, ours: &str) -> bool {
    same(name, ours) || name == "cycle-search-timeout" || level_named(name).is_some()
}

/// Whether two names are one anomaly: the forms for items, and those for whole levels, count.
fn same(theirs: &str, ours: &str) -> bool {
    fn plain(name: &str) -> String {
        match name {
            "write-skew" => "G2".into(),
            name => name.replace("-item", ""),
        }
    }
    plain(theirs) == plain(ours)
}

/// The level that a name for a whole level says is broken.
fn level_named(name: &str) -> Option<Level> {
    if let Some(cycle) = name.strip_suffix("-cycle-exists") {
        return match cycle {
            "PL-1" | "strong-session-PL-1" | "strong-PL-1" => Some(Level::ReadUncommitted),
            "PL-2" => Some(Level::ReadCommitted),
            "PL-SI" => Some(Level::SnapshotIsolation),
            "PL-2.99" => Some(Level::RepeatableRead),
            // Read committed with the order of sessions or real time has no name of ours: the weakest that has that
            // order stands for it.
            "strong-session-PL-2" => Some(Level::StrongSessionSnapshotIsolation),
            "strong-PL-2" => Some(Level::StrongSnapshotIsolation),
            level => level.parse().ok(),
        };
    }
    match name.strip_prefix("not-")? {
        "transactional-causal" => Some(Level::Causal),
        level => level.parse().ok(),
    }
}

/// Whether what was found rules out a level.
fn rules_out(ours: &Judgement, level: Level) -> bool {
    let weakest = ours
        .models_ruled_out
        .iter()
        .filter_map(|name| name.parse::<Level>().ok());
    weakest.into_iter().any(|weak| level.implies(weak))
}
