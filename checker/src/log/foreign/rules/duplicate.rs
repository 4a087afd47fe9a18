//! `duplicate`: a value stands at two offsets of one partition. Each such value is one instance.

use crate::log::foreign::case::Case;
use crate::log::foreign::found::{Found, example};

/// The anomaly.
pub(super) const NAME: &str = "duplicate";

pub(in super::super) fn find(case: &Case<'_>, found: &mut Found) {
    for (value, offsets) in case.order.duplicates() {
        found.add(NAME, || {
            let showed = case.showing(&offsets, value);
            let text = format!(
                "value {value} of partition {} stands at the offsets {offsets:?}",
                case.partition.name
            );
            example(&showed, text)
        });
    }
}
