//! Judges histories. Pure: no network, no file, no async; the same history in, the same verdict out.
//!
//! What it does: [`check`] judges the history of one of this project's runs (`log`); [`judge()`] judges one that
//! anything else recorded, as the model that it is told ([`ModelName`]): linearizability (`linear`), transactional
//! isolation (`txn`, `sessions`), other invariants (`invariants`), Kafka's logs (`log`). What it does not: read
//! files, know how a history came about, or decide anything by a picture.
//!
//! ```
//! use checker::{Budget, ModelName, Options, Outcome, judge};
//! use history::{Format, read_foreign};
//!
//! // Somebody wrote 1, and afterwards somebody read 2.
//! let recorded = r#"{"type": "invoke", "process": 0, "f": "write", "value": 1}
//! {"type": "ok", "process": 0, "f": "write", "value": 1}
//! {"type": "invoke", "process": 1, "f": "read", "value": null}
//! {"type": "ok", "process": 1, "f": "read", "value": 2}
//! "#;
//!
//! // Anything that is `BufRead` will do: a file, a pipe, bytes. It is read as a stream.
//! let entries = read_foreign(Format::JepsenJson, recorded.as_bytes());
//! // A minute and 1 GiB; what is not decided by then is unknown, with its reason.
//! let budget = Budget::new(std::time::Duration::from_secs(60), 1 << 30);
//! let judgement = judge(ModelName::Register, &Options::default(), &budget, entries)?;
//!
//! assert_eq!(judgement.verdict, Outcome::Fail);
//! let found = &judgement.anomalies[0];
//! assert_eq!(found.name, "nonlinearizable");
//! // Entries of the history that prove it, and what happened in words.
//! assert!(found.examples[0].operations.contains(&3));
//! println!("{}", found.examples[0].text);
//! # Ok::<(), checker::JudgeError>(())
//! ```
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
