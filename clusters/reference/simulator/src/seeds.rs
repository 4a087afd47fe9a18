//! Which seeds to run: many, or the one to look into.

/// Replays one seed only: `ACKALL_SIM_SEED=17 cargo test -p simulator`.
pub const SEED_VARIABLE: &str = "ACKALL_SIM_SEED";

/// Runs so many seeds from 0 on: `ACKALL_SIM_SEEDS=100000 cargo test -p simulator`.
pub const COUNT_VARIABLE: &str = "ACKALL_SIM_SEEDS";

/// The seeds to run, `count` unless the environment says otherwise.
///
/// # Panics
///
/// When a variable is set to something other than a number: a run that quietly ignored it would
/// pass for the replay it is not.
pub fn to_run(count: u64) -> std::ops::Range<u64> {
    let number = |name: &str| {
        std::env::var(name).ok().map(|text| {
            let parsed = text.parse::<u64>();
            parsed.unwrap_or_else(|error| panic!("{name}={text} is no number: {error}"))
        })
    };
    match (number(SEED_VARIABLE), number(COUNT_VARIABLE)) {
        (Some(seed), _) => seed..seed.saturating_add(1),
        (None, Some(count)) => 0..count,
        (None, None) => 0..count,
    }
}
