//! The codes of reasons. Codes are added, never renamed.

/// The history has no final read at all: the run ended before its plan did.
pub const NO_END: &str = "history-without-end";
/// A partition of a judged topic was not read at the end.
pub const FINAL_READ_MISSING: &str = "final-read-missing";
/// The final read of a partition did not reach its end.
pub const FINAL_READ_INCOMPLETE: &str = "final-read-incomplete";
/// Nothing was acknowledged with acks=all.
pub const NO_ACKS: &str = "no-acks";
/// A step's state was not reached.
pub const STEP_NOT_REACHED: &str = "step-not-reached";
/// The history has no metadata of a partition, and a promise that needs it is named.
pub const NO_METADATA: &str = "no-metadata";
/// Metadata that may have changed a partition was not seen, and a promise that needs it is named.
pub const METADATA_UNSEEN: &str = "metadata-unseen";
/// A partition was never whole, so nothing was ever promised of it.
pub const PROMISE_NOT_STARTED: &str = "promise-not-started";
/// Too few acknowledgements, in all or at one stage.
pub const TOO_FEW_ACKS: &str = "too-few-acks";
/// A fault took too few acknowledged records.
pub const TOO_FEW_RECORDS_TAKEN: &str = "too-few-acked-records-taken";
/// A fault took acknowledged records where none should go.
pub const ACKED_RECORDS_TAKEN: &str = "acked-records-taken";
/// A fault was applied too seldom.
pub const FAULT_NOT_APPLIED: &str = "fault-not-applied";
/// Anomalies outside the promise, which are no failure.
pub const OUTSIDE_PROMISE: &str = "outside-promise";
/// A limit of time or memory was reached.
pub const BUDGET: &str = "budget";
/// Compare-and-sets that failed were left out, since reads or writes failed too.
pub const FAILED_CAS_DROPPED: &str = "failed-cas-dropped";
