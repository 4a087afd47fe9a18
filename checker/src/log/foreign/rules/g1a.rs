//! `G1a`, an aborted read: a successful operation polled a value that a failed one sent. Each such poll of a value
//! is one instance.

use crate::log::foreign::case::Case;
use crate::log::foreign::found::{Found, example};
use history::Kind;
use rustc_hash::FxHashMap;

/// The anomaly.
pub(super) const NAME: &str = "G1a";

pub(in super::super) fn find(case: &Case<'_>, found: &mut Found) {
    let failed = case
        .partition
        .sends
        .iter()
        .filter(|send| case.op(send.op).kind == Kind::Fail);
    let failed: FxHashMap<i64, u32> = failed.map(|send| (send.value, send.op)).collect();
    if failed.is_empty() {
        return;
    }
    let read = case
        .partition
        .polls
        .iter()
        .filter(|poll| case.op(poll.op).kind == Kind::Ok);
    for poll in read {
        let Some(writer) = failed.get(&poll.value) else {
            continue;
        };
        found.add(NAME, || {
            let text = format!(
                "operation {} polled value {} of partition {}, which operation {} sent and failed to commit",
                case.op(poll.op).done(),
                poll.value,
                case.partition.name,
                case.op(*writer).done()
            );
            example(&[case.entries(*writer), case.entries(poll.op)].concat(), text)
        });
    }
}
