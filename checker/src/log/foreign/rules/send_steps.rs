//! `int-send-skip` and `int-nonmonotonic-send`: two successive records that one operation sent to a partition are
//! not successive in the log, or stand the wrong way round. Each such step is one instance.

use crate::log::foreign::case::Case;
use crate::log::foreign::found::{Found, example};

/// Others stand between them.
pub(super) const SKIP: &str = "int-send-skip";
/// The later one stands no higher.
pub(super) const NONMONOTONIC: &str = "int-nonmonotonic-send";

pub(in super::super) fn find(case: &Case<'_>, found: &mut Found) {
    for sent in case.sends() {
        for [(a, from), (b, to)] in sent.steps() {
            let step = case.step(from, to);
            if step == 1 {
                continue;
            }
            let name = if step > 1 { SKIP } else { NONMONOTONIC };
            found.add(name, || {
                let how = match step > 1 {
                    true => format!("with {} between them", case.skipped(from, to)),
                    false => "which stands no higher".to_owned(),
                };
                let text = format!(
                    "operation {} sent value {a} to partition {}, then value {b}, {how}",
                    case.op(sent.op).done(),
                    case.partition.name
                );
                example(&case.entries(sent.op), text)
            });
        }
    }
}
