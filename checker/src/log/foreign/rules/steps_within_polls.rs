//! `int-poll-skip` and `int-nonmonotonic-poll`: two successive records that one operation polled from a partition
//! are not successive in the log, or stand the wrong way round, or are the same. Each such step is one instance.

use crate::log::foreign::case::Case;
use crate::log::foreign::found::{Found, example};

/// The step goes over values that are known.
pub(super) const SKIP: &str = "int-poll-skip";
/// The step does not go forward.
pub(super) const NONMONOTONIC: &str = "int-nonmonotonic-poll";

pub(in super::super) fn find(case: &Case<'_>, found: &mut Found) {
    for polled in case.polls() {
        for [(a, from), (b, to)] in polled.steps() {
            let step = case.step(from, to);
            if step == 1 {
                continue;
            }
            let name = if step > 1 { SKIP } else { NONMONOTONIC };
            found.add(name, || {
                let how = match step > 1 {
                    true => format!("right behind it, and not {}", case.skipped(from, to)),
                    false => "behind it, which does not stand behind it in the log".to_owned(),
                };
                let text = format!(
                    "operation {} polled value {a} of partition {}, and value {b} {how}",
                    case.op(polled.op).done(),
                    case.partition.name
                );
                example(&case.entries(polled.op), text)
            });
        }
    }
}
