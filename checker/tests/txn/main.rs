//! Transactions: against literal checkers, and against the verdicts of others.

mod agreement;
mod known;
#[allow(
    dead_code,
    unused_imports,
    reason = "other tests, and the example `fuzz`, use the rest"
)]
#[path = "../literal/mod.rs"]
mod literal;
mod thin_air;
