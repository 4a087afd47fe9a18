//! One file a workload: clients and their operations.
//!
//! [`append`] sends unique records and polls them while faults go on; [`final_read()`] reads everything once the
//! cluster has settled. Both write each operation into the history: its invocation before a byte of it leaves,
//! its completion after the answer was read. They judge nothing.
//!
//! Invariants:
//! 1. One request is one operation; nothing is retried. An operation that ends as info ends its client: the next
//!    one has a new process number and fresh connections.
//! 2. A value is sent at most once in a run, and carries what it takes to tell that it was hurt ([`value`]).
//! 3. Where the history cannot be written the workload ends with an error; it never goes on unrecorded.
//! 4. Each client draws from a stream of randomness of its own: a draw of one shifts no other's.

pub mod append;
mod context;
pub mod final_read;
mod session;
mod streams;
pub mod value;

pub use append::{Append, AppendPlan, Counters};
pub use context::{Context, Processes, WorkloadError};
pub use final_read::{FinalReadPlan, final_read};

#[cfg(test)]
mod tests;
