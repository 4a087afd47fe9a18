//! `poll-skip` and `nonmonotonic-poll`: a process's operation polled from a partition, and did not begin where its
//! last successful one had ended, though it read the partition all along. Each such operation is one instance.
//!
//! A failed or indeterminate operation is tested too, and moves no position: what it polled is polled again.

use crate::log::foreign::case::{Case, Moved};
use crate::log::foreign::found::{Found, example};
use history::Kind;
use rustc_hash::FxHashMap;

/// It began too far behind.
pub(super) const SKIP: &str = "poll-skip";
/// It went back.
pub(super) const NONMONOTONIC: &str = "nonmonotonic-poll";

pub(in super::super) fn find(case: &Case<'_>, found: &mut Found) {
    let mut last: FxHashMap<u32, Moved<'_>> = FxHashMap::default();
    for polled in case.polls() {
        let op = case.op(polled.op);
        let before = last.get(&op.process).copied();
        if let Some(before) = before.filter(|before| case.holds_on(op.process, before.op, polled.op)) {
            step(case, before, polled, found);
        }
        if op.kind == Kind::Ok {
            last.insert(op.process, polled);
        }
    }
}

fn step(case: &Case<'_>, before: Moved<'_>, polled: Moved<'_>, found: &mut Found) {
    let ((a, from), (b, to)) = (before.last(), polled.first());
    let step = case.step(from, to);
    if step == 1 {
        return;
    }
    let name = if step > 1 { SKIP } else { NONMONOTONIC };
    found.add(name, || {
        let how = match step > 1 {
            true => format!("skipped {}", case.skipped(from, to)),
            false => "went back".to_owned(),
        };
        let text = format!(
            "operation {} polled partition {} up to value {a}; its process went on with value {b} (operation {}), and \
             {how}",
            case.op(before.op).done(),
            case.partition.name,
            case.op(polled.op).done()
        );
        example(&[case.entries(before.op), case.entries(polled.op)].concat(), text)
    });
}
