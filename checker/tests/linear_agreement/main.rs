//! Linearizability, held against the literal checker.

#[allow(dead_code, reason = "other tests, and the example `fuzz`, use the rest")]
#[path = "../literal/mod.rs"]
mod literal;
mod oneself;
