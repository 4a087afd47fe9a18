//! Isolation levels of sessions, and other invariants: held against the literal checkers, and cases by hand.

mod cases;
mod invariants;
mod levels;
#[allow(
    dead_code,
    unused_imports,
    reason = "other tests, and the example `fuzz`, use the rest"
)]
#[path = "../literal/mod.rs"]
mod literal;
mod manifest;
