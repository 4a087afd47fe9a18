//! A node's wall clock jumps, forwards or back, and stays there; when healing, it jumps back.

use crate::clocks::{self, CLOCKS, ERROR, OFFSET, PROCESSES, SEEN};
use crate::links::number;
use crate::{About, Doing, Fault, Field, NotTaken, Order, Program};
use clusters::{Capability, ClockRule};
use std::time::Duration;

/// The fault.
pub struct ClockStep;

/// What it is.
const ABOUT: About = About {
    name: "clock-step",
    text: "the wall clock jumps, and stays there",
    needs: Capability::Clock,
    params: &[
        number(
            "step_ms",
            "how far forwards, or, negative, back; 1 ms at least. The monotonic clock goes forwards only",
            (-300_000.0, 300_000.0),
            60_000.0,
        ),
        CLOCKS,
    ],
    heals: "the wall clock jumps back by as much",
    measures: &[OFFSET, ERROR, PROCESSES, SEEN],
    program: Program::GoesOn,
};

/// What can be told from no step at all.
const LEAST_NS: u64 = 1_000_000;

impl Fault for ClockStep {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let rule = ClockRule {
                step_ns: clocks::ns(order, "step_ms"),
                monotonic: clocks::monotonic(order),
                ..ClockRule::default()
            };
            if rule.step_ns.unsigned_abs() < LEAST_NS {
                return Err(NotTaken::NotSeen(
                    "step_ms: a step of less than 1 ms cannot be told from none".into(),
                ));
            }
            let (measured, _) = clocks::put_in(field, order, rule, Duration::ZERO, |_| true).await?;
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(clocks::take_out(field, order))
    }
}
