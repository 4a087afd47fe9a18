//! Linearizability, held against the literal checker.

mod agreement;
mod hanging;
#[allow(
    dead_code,
    unused_imports,
    reason = "other tests, and the example `fuzz`, use the rest"
)]
#[path = "../literal/mod.rs"]
mod literal;
mod minimal;
mod oneself;
