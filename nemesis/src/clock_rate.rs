//! A node's wall clock goes too fast or too slow; when healing, it is right again at once.

use crate::clocks::{self, CLOCKS, ERROR, OFFSET, PROCESSES, SEEN, Said};
use crate::links::number;
use crate::{About, Doing, Fault, Field, NotTaken, Order, Program};
use clusters::{Capability, ClockRule, ProcessClock};
use std::time::Duration;

/// Over so long a rate is measured: two looks that are each right to a microsecond give it to 10 ppm.
const SPAN_NS: u64 = 250_000_000;
/// By so much a measured rate may differ from what was asked, in millionths.
const BOUND_PPM: f64 = 200.0;

/// The fault.
pub struct ClockRate;

/// What it is.
const ABOUT: About = About {
    name: "clock-rate",
    text: "the wall clock goes too fast, or too slow",
    needs: Capability::Clock,
    params: &[
        number(
            "rate_ppm",
            "how much faster, or, negative, slower, in millionths: at 10000 it gains 10 ms a second; 1000 at least, either way",
            (-900_000.0, 4_000_000.0),
            50_000.0,
        ),
        CLOCKS,
    ],
    heals: "the wall clock goes as it should, and is right again at once",
    measures: &[
        OFFSET,
        ERROR,
        (
            "rate_ppm",
            "how much faster the clock went than the kernel's, between two looks of one process 0.25 s apart or more",
        ),
        PROCESSES,
        SEEN,
    ],
    program: Program::GoesOn,
};

/// What can be told from no rate at all.
const LEAST_PPM: u64 = 1_000;

impl Fault for ClockRate {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let rule = ClockRule {
                rate_ppm: order.params.number("rate_ppm").round() as i64,
                monotonic: clocks::monotonic(order),
                ..ClockRule::default()
            };
            if rule.rate_ppm.unsigned_abs() < LEAST_PPM {
                return Err(NotTaken::NotSeen(
                    "rate_ppm: a rate of less than 1000 ppm cannot be told from none".into(),
                ));
            }
            let apart = |said: &Said| said.values().any(|said| span(said).is_some());
            let patience = Duration::from_nanos(SPAN_NS);
            let (mut measured, all) = clocks::put_in(field, order, rule, patience, apart).await?;
            let mut worst: Option<(f64, f64)> = None;
            for (first, last) in all
                .iter()
                .flat_map(|said| said.values())
                .filter_map(|said| span(said))
            {
                let rate = |offset: fn(&ProcessClock) -> i64| {
                    (offset(last) - offset(first)) as f64 * 1e6 / (last.at_ns - first.at_ns) as f64
                };
                let (shown, asked) = (
                    rate(|process| process.wall_offset_ns),
                    rate(|process| process.wall_asked_ns),
                );
                let error = (shown - asked).abs();
                // What passed while they looked makes it uncertain.
                let unsure = (first.window_ns + last.window_ns) as f64 * 1e6 / SPAN_NS as f64;
                if error > BOUND_PPM + unsure {
                    return Err(NotTaken::NotSeen(format!(
                        "process {} ({}) is shown a clock that gains {shown:.0} ppm; {asked:.0} were asked",
                        last.pid, last.name
                    )));
                }
                worst = worst.filter(|(_, known)| *known > error).or(Some((shown, error)));
            }
            measured.extend(worst.map(|(shown, _)| ("rate_ppm".into(), shown)));
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(clocks::take_out(field, order))
    }
}

/// The first and the last of what a process said, where they are far enough apart.
fn span(said: &[ProcessClock]) -> Option<(&ProcessClock, &ProcessClock)> {
    let (first, last) = (said.first()?, said.last()?);
    (last.at_ns - first.at_ns >= SPAN_NS).then_some((first, last))
}
