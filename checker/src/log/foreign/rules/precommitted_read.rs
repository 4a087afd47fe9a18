//! `precommitted-read`: an operation's polls met its own sends. Consumers see what is committed, and what an
//! operation sends is committed at its end. Each operation is one instance.

use crate::log::foreign::case::Case;
use crate::log::foreign::found::{Found, example};

/// The anomaly.
pub(super) const NAME: &str = "precommitted-read";

pub(in super::super) fn find(case: &Case<'_>, found: &mut Found) {
    let mut polls = case.polls().peekable();
    for sent in case.sends() {
        while polls.next_if(|polled| polled.op < sent.op).is_some() {}
        let Some(polled) = polls.next_if(|polled| polled.op == sent.op) else {
            continue;
        };
        let mut values: Vec<i64> = sent.records.iter().map(|record| record.value).collect();
        values.sort_unstable();
        let own = polled
            .records
            .iter()
            .find(|record| values.binary_search(&record.value).is_ok());
        if let Some(own) = own {
            found.add_operation(NAME, sent.op, || {
                let text = format!(
                    "operation {} polled value {} of partition {}, which it sent itself",
                    case.op(sent.op).done(),
                    own.value,
                    case.partition.name
                );
                example(&case.entries(sent.op), text)
            });
        }
    }
}
