//! `unseen`: a value was acknowledged and no successful operation had polled it by the end. Each such value is one
//! instance.

use crate::log::foreign::case::Case;
use crate::log::foreign::found::{Found, example};
use history::Kind;
use rustc_hash::FxHashSet;

/// The anomaly.
pub(super) const NAME: &str = "unseen";

pub(in super::super) fn find(case: &Case<'_>, found: &mut Found) {
    let mut told = FxHashSet::default();
    for (send, number) in case.partition.sends.iter().zip(&case.sent) {
        let acked = case.op(send.op).kind == Kind::Ok;
        if acked && !case.is_read(*number, send.value) && told.insert(send.value) {
            found.add(NAME, || {
                let text = format!(
                    "value {} was acknowledged for partition {}, and was not polled until the end",
                    send.value, case.partition.name
                );
                example(&case.entries(send.op), text)
            });
        }
    }
}
