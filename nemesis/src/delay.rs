//! Frames arrive later, by a time that may vary: then they overtake each other.

use crate::links::{self, LIMIT, PEERS, PORT, WAY};
use crate::{About, Doing, Fault, Field, Measured, Order, Program};
use clusters::{Capability, Effect, RuleCounts};
use std::time::Duration;

/// So many frames are delayed before their median means something.
const ENOUGH: u64 = 5;
/// By so much the median may be late: frames in hand, and a busy machine.
const SLACK_NS: u64 = 3_000_000;

/// The fault.
pub struct Delay;

/// What it is.
const ABOUT: About = About {
    name: "delay",
    text: "frames arrive later, by a time that may vary",
    needs: Capability::Links,
    params: &[
        links::number("delay_ms", "how much later", (0.1, 60_000.0), 50.0),
        links::number(
            "jitter_ms",
            "by so much, at most, a frame's delay differs from that, either way; cut down to the delay itself",
            (0.0, 60_000.0),
            0.0,
        ),
        WAY,
        PEERS,
        PORT,
    ],
    heals: "frames pass as before; what still waits is delivered at once",
    measures: &[
        ("delayed_frames", "frames that were delayed and delivered by then"),
        (
            "least_ms",
            "the least that this fault held one, from frame in to frame out at the switch",
        ),
        ("median_ms", "the median of that"),
        ("most_ms", "the most of that"),
        (
            "overtaken_frames",
            "frames that arrived after one which had come later",
        ),
        ("seen_ms", "from the order until it was seen to take"),
        links::HEALED,
    ],
    program: Program::GoesOn,
};

impl Fault for Delay {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let links = links::links(field.cluster, order);
            let delay_ns = links::ns(order.params.number("delay_ms"));
            let jitter_ns = links::ns(order.params.number("jitter_ms")).min(delay_ns);
            let effect = Effect::Delay { delay_ns, jitter_ns };
            let rule = links::rule(order, effect);
            let took = |counts: &RuleCounts| {
                let Some(held) = counts.held.filter(|_| counts.delivered >= ENOUGH) else {
                    return Ok(false);
                };
                if held.min_ns < delay_ns - jitter_ns {
                    return Err(format!("a frame was held for {} ns only", held.min_ns));
                }
                Ok(held.median_ns <= delay_ns + jitter_ns + SLACK_NS)
            };
            let (counts, seen_ms) = links::put_in(
                field,
                order,
                (&links, rule),
                LIMIT + Duration::from_nanos(2 * delay_ns),
                took,
            )
            .await?;
            let held = counts.held.unwrap_or_default();
            Ok(Measured::from([
                ("delayed_frames".into(), counts.delivered as f64),
                ("least_ms".into(), links::ms(held.min_ns)),
                ("median_ms".into(), links::ms(held.median_ns)),
                ("most_ms".into(), links::ms(held.max_ns)),
                ("overtaken_frames".into(), counts.overtaken as f64),
                ("seen_ms".into(), seen_ms),
            ]))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(links::heal(field, order))
    }
}
