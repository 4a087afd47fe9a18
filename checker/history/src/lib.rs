//! The history of a run: the one account that everything else judges.
//!
//! It holds what clients did (operations: an invocation, later perhaps a completion), what the nemesis did
//! (faults: asked, then measured) and what an observer saw (the committed metadata log, processes, disks).
//! All of it is on one clock, the harness's monotonic one, in nanoseconds since the run began.
//!
//! What it does: types, a writer ([`Recorder`]) that hands every entry to `write(2)` before the caller goes on,
//! and a reader ([`read`]) that survives a torn last line. What it does not: judge. It knows no network, no
//! async runtime, no unsafe code.
//!
//! Invariants:
//! 1. `index` counts entries from 0 without a gap, and `time` never falls as `index` rises.
//! 2. A process has at most one open operation; its completion carries the same `f`.
//! 3. An invocation is in the file before the first byte of its request leaves; a completion is stamped after
//!    the last byte of its answer was read. Intervals are closed: two operations that touch are concurrent.

mod body;
mod call;
mod foreign;
mod header;
mod pairing;
mod read;
mod record;
mod value;

pub use body::*;
pub use call::{Call, Op};
pub use foreign::{Format, GUESS_BYTES, Reader, read_foreign};
pub use header::*;
pub use pairing::{Moment, Operation, Pairs, pairs};
pub use read::{Dropped, Entries, History, ReadError, read, read_path};
pub use record::Recorder;
pub use value::Value;

/// The version of the format that this crate writes, in the header's `schema`.
pub const SCHEMA: u32 = 1;

/// The JSON Schema (draft 2020-12) of one line of a history: the header, or an entry.
pub const JSON_SCHEMA: &str = include_str!("../schema/history.schema.json");
