//! Judges histories. Pure: no network, no file, no async; the same history in, the same verdict out.
//!
//! What it does: [`check`] judges the history of one of this project's runs (`log`); [`judge()`] judges one that
//! anything else recorded, as the model that it is told ([`ModelName`]): linearizability (`linear`), transactional
//! isolation (`txn`, `sessions`), other invariants (`invariants`), Kafka's logs (`log`). What it does not: read
//! files, know how a history came about, or decide anything by a picture.
//!
//! Invariants:
//! 1. Fail if and only if an anomaly that nothing excuses was found, whatever else is missing.
//! 2. Pass only where everything demanded was shown. Else unknown, with a reason for each lack.
//! 3. Every count is exact; every instance names entries of the history that prove it.
//! 4. Time decides nothing but when a search is given up, and that is said: unknown, never another verdict. The only
//!    clock is in [`Budget`].

// Tests within the crate share files with those outside of it.
#[cfg(test)]
extern crate self as checker;

mod budget;
pub mod codes;
mod guess;
mod invariants;
mod judge;
mod judgement;
mod level;
pub mod linear;
mod log;
mod sessions;
mod txn;
mod verdict;

pub use budget::{Budget, Progress, Spent};
pub use guess::{GUESS_OPS, guess_model};
pub use judge::{FailedCas, JudgeError, ModelName, Options, judge};
pub use judgement::{Example, Finding, Judgement};
pub use level::Level;
pub use log::check;
pub use verdict::{
    Anomaly, BadInterval, Instance, Operations, Outcome, PartitionPromise, PromiseReport, Reason, Verdict,
};
