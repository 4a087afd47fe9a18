//! A node's wall clock jumps forth and back, again and again.

use crate::clocks::{self, ERROR, OFFSET, PROCESSES, SEEN, Said};
use crate::links::number;
use crate::{About, Doing, Fault, Field, NotTaken, Order, Program};
use clusters::{Capability, ClockRule, Strobe};
use std::time::Duration;

/// The fault.
pub struct ClockStrobe;

/// What it is.
const ABOUT: About = About {
    name: "clock-strobe",
    text: "the wall clock jumps forth and back, again and again",
    needs: Capability::Clock,
    params: &[
        number(
            "amplitude_ms",
            "how far forth, or, negative, back; 4 ms at least",
            (-262_144.0, 262_144.0),
            1_000.0,
        ),
        number(
            "period_ms",
            "how long it stays in each of its two places",
            (1.0, 1_000.0),
            100.0,
        ),
    ],
    heals: "the wall clock is right again, and stays so",
    measures: &[
        OFFSET,
        ERROR,
        (
            "swing_ms",
            "the most by which one process's clock was seen apart from itself: the amplitude, where no other fault moves it",
        ),
        PROCESSES,
        SEEN,
    ],
    program: Program::GoesOn,
};

/// What can be told from no strobe at all, with a busy machine between two looks.
const LEAST_NS: u64 = 4_000_000;

impl Fault for ClockStrobe {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let amplitude_ns = clocks::ns(order, "amplitude_ms");
            let period_ns = clocks::ns(order, "period_ms");
            if amplitude_ns.unsigned_abs() < LEAST_NS {
                return Err(NotTaken::NotSeen(
                    "amplitude_ms: a strobe of less than 4 ms cannot be told from none".into(),
                ));
            }
            let strobe = Some(Strobe {
                amplitude_ns,
                period_ns,
            });
            let rule = ClockRule {
                strobe,
                ..ClockRule::default()
            };
            // Most of the amplitude: a rate of another fault may move the clock meanwhile.
            let both = |said: &Said| swing(said) >= amplitude_ns.unsigned_abs() / 10 * 9;
            let patience = Duration::from_nanos(4 * period_ns.unsigned_abs());
            let (mut measured, all) = clocks::put_in(field, order, rule, patience, both).await?;
            let least = all.iter().map(swing).min().unwrap_or_default();
            measured.insert("swing_ms".into(), least as f64 / 1e6);
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(clocks::take_out(field, order))
    }
}

/// The most by which one process's clock was apart from itself.
fn swing(said: &Said) -> u64 {
    let swing = |offsets: Vec<i64>| {
        let (least, most) = (offsets.iter().min()?, offsets.iter().max()?);
        Some(most.abs_diff(*least))
    };
    let of_each = said.values().filter_map(|said| {
        let offsets = said.iter().map(|process| process.wall_offset_ns);
        swing(offsets.collect())
    });
    of_each.max().unwrap_or_default()
}
