//! One file a rule, or a pair of rules that look at the same steps. Each looks at one partition.

mod duplicate;
mod g1a;
mod inconsistent_offsets;
mod lost_write;
mod nonmonotonic_send;
mod phantom;
mod poll_steps;
mod precommitted_read;
mod send_steps;
mod steps_within_polls;
mod unseen;

use super::case::Case;
use super::found::Found;

/// A rule: adds what it finds.
type Rule = fn(&Case<'_>, &mut Found);

const RULES: [Rule; 11] = [
    lost_write::find,
    phantom::find,
    inconsistent_offsets::find,
    duplicate::find,
    g1a::find,
    precommitted_read::find,
    nonmonotonic_send::find,
    send_steps::find,
    steps_within_polls::find,
    poll_steps::find,
    unseen::find,
];

/// Names in the order of a judgement, the worst first.
const RANKS: [&str; 14] = [
    lost_write::NAME,
    phantom::NAME,
    inconsistent_offsets::NAME,
    duplicate::NAME,
    g1a::NAME,
    precommitted_read::NAME,
    nonmonotonic_send::NAME,
    send_steps::NONMONOTONIC,
    steps_within_polls::NONMONOTONIC,
    steps_within_polls::SKIP,
    poll_steps::NONMONOTONIC,
    poll_steps::SKIP,
    send_steps::SKIP,
    unseen::NAME,
];

/// Applies every rule to a partition.
pub(super) fn find_all(case: &Case<'_>) -> Found {
    let mut found = Found::default();
    for rule in RULES {
        rule(case, &mut found);
    }
    found
}

/// Where an anomaly stands in a judgement: cycles come after what is wrong with single records.
pub(super) fn rank(name: &str) -> usize {
    RANKS
        .iter()
        .position(|known| *known == name)
        .unwrap_or(RANKS.len())
}
