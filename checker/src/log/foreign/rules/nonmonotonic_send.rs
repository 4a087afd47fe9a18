//! `nonmonotonic-send`: what a process sent to a partition first stands no lower than what it sent in its next
//! operation there. Each such pair of operations is one instance. (Skips between operations say nothing: other
//! producers come in between.)

use crate::log::foreign::case::{Case, Moved};
use crate::log::foreign::found::{Found, example};
use history::Kind;
use rustc_hash::FxHashMap;

/// The anomaly.
pub(super) const NAME: &str = "nonmonotonic-send";

pub(in super::super) fn find(case: &Case<'_>, found: &mut Found) {
    let mut last: FxHashMap<u32, Moved<'_>> = FxHashMap::default();
    for sent in case.sends() {
        let op = case.op(sent.op);
        if op.completed.is_none() || op.kind == Kind::Fail {
            continue;
        }
        let before = last.insert(op.process, sent);
        let Some(before) = before.filter(|before| case.holds_on(op.process, before.op, sent.op)) else {
            continue;
        };
        let ((a, from), (b, to)) = (before.last(), sent.first());
        if case.step(from, to) < 1 {
            found.add(NAME, || {
                let text = format!(
                    "operation {} sent value {a} to partition {}; its process sent value {b} afterwards, which stands \
                     no higher",
                    case.op(before.op).done(),
                    case.partition.name
                );
                example(&[case.entries(before.op), case.entries(sent.op)].concat(), text)
            });
        }
    }
}
