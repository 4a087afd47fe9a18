//! `append-order-violates-real-time`: two records acknowledged with acks=all; the one's acknowledgement came
//! before the other's invocation, and it has the greater offset: the log is not linearizable.
//!
//! Each record that stands too low is one instance; it names the highest of those acknowledged before. Intervals
//! are closed: operations that touch are concurrent, and in no order.

use super::{Case, Finding, instance, loss_of};
use crate::Instance;
use crate::log::facts::{Mark, Partition, SendOp};
use crate::log::promise::Span;

/// The anomaly.
pub(super) const NAME: &str = "append-order-violates-real-time";

/// An acknowledged send.
#[derive(Clone, Copy)]
struct Acked<'a> {
    number: usize,
    send: &'a SendOp,
    acked: Mark,
    offset: i64,
}

pub(super) fn find(_: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    // Sends stand in the order of their invocations.
    let by_invocation: Vec<Acked<'_>> = partition
        .sends
        .iter()
        .enumerate()
        .filter_map(|(number, send)| {
            Some(Acked {
                number,
                send,
                acked: send.acked()?,
                offset: send.offset?,
            })
        })
        .collect();
    let mut by_completion = by_invocation.clone();
    by_completion.sort_unstable_by_key(|send| send.acked);
    let mut completed = by_completion.iter().peekable();
    let mut highest: Option<&Acked<'_>> = None;
    let mut findings = Vec::new();
    for later in &by_invocation {
        while let Some(earlier) = completed.next_if(|earlier| earlier.acked.time < later.send.invoked.time) {
            if highest.is_none_or(|highest| highest.offset < earlier.offset) {
                highest = Some(earlier);
            }
        }
        if let Some(highest) = highest.filter(|highest| highest.offset > later.offset) {
            findings.push(finding(partition, highest, later));
        }
    }
    findings
}

fn finding(partition: &Partition<'_>, earlier: &Acked<'_>, later: &Acked<'_>) -> Finding {
    let text = format!(
        "value {} was acknowledged at offset {} of {} before value {} was sent, which got offset {}",
        earlier.send.value, earlier.offset, partition.key, later.send.value, later.offset
    );
    let (first, then) = (earlier.send, later.send);
    let operations = [
        first.invoked.index,
        earlier.acked.index,
        then.invoked.index,
        later.acked.index,
    ];
    Finding {
        span: Some(Span {
            since: first.invoked.time,
            node: first.node,
            known: earlier.acked.time,
            until: later.acked.time,
            ..Span::default()
        }),
        follows: loss_of(partition.fates[earlier.number]),
        instance: Instance {
            offset: Some(later.offset),
            acked_at: Some(earlier.acked.time),
            ..instance(partition, &operations, text)
        },
    }
}
