//! `acked-then-lost`: an acks=all acknowledgement for (offset, value), and the final read passed that offset
//! without the value there. An acknowledgement that named no offset: the value is nowhere in the final log.
//!
//! An offset below the final log's start is lost as well, unless the topic's log start may move. Not this: an
//! offset at or past the end (`acked-tail-lost`); what a final read that failed did not pass over.

use super::{Case, Finding, loss};
use crate::log::facts::{Fate, Partition};

/// The anomaly.
pub(crate) const NAME: &str = "acked-then-lost";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    loss::find(case, partition, Fate::Lost)
}
