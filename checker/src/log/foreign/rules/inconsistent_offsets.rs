//! `inconsistent-offsets`: an offset has two values or more. Each such offset is one instance.

use crate::log::foreign::case::Case;
use crate::log::foreign::found::{Found, example};

/// The anomaly.
pub(super) const NAME: &str = "inconsistent-offsets";

pub(in super::super) fn find(case: &Case<'_>, found: &mut Found) {
    for (_, pairs) in case.order.inconsistent() {
        found.add(NAME, || {
            let values: Vec<i64> = pairs.iter().map(|pair| pair.value).collect();
            let offset = pairs[0].offset;
            let mut showed: Vec<u64> = Vec::new();
            for value in values.iter().take(2) {
                showed.extend(case.showing(&[offset], *value));
            }
            let text = format!(
                "offset {offset} of partition {} has the values {values:?}",
                case.partition.name
            );
            example(&showed, text)
        });
    }
}
