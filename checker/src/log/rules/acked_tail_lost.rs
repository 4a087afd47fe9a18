//! `acked-tail-lost`: an acks=all acknowledgement at an offset at or past the end of the final log.
//!
//! Only where the final read is complete: below min ISR a new leader's high watermark may lag, and what it hides
//! is not lost.

use super::{Case, Finding, loss};
use crate::log::facts::{Fate, Partition};

/// The anomaly.
pub(crate) const NAME: &str = "acked-tail-lost";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    loss::find(case, partition, Fate::TailLost)
}
