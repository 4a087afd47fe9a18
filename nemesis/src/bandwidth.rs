//! Links are slow: each sends one frame after the other at a given rate, and drops what its queue does not hold.

use crate::links::{self, LIMIT, PEERS, PORT, WAY};
use crate::{About, Doing, Fault, Field, Measured, Order, Program};
use clusters::{Capability, Effect, RuleCounts};

/// Of the shortest frame that there is, an ARP request.
const SHORTEST_FRAME_BITS: u64 = 42 * 8;

/// The fault.
pub struct Bandwidth;

/// What it is.
const ABOUT: About = About {
    name: "bandwidth",
    text: "each link sends one frame after the other at a given rate, and drops what its queue does not hold",
    needs: Capability::Links,
    params: &[
        links::number(
            "rate_kbit",
            "the rate of each directed link, in thousand bits a second",
            (1.0, 10_000_000.0),
            1_000.0,
        ),
        links::number(
            "queue_kbytes",
            "how much may wait on each, in thousand bytes",
            (2.0, 60_000.0),
            256.0,
        ),
        WAY,
        PEERS,
        PORT,
    ],
    heals: "frames pass as before; what still waits is delivered at once",
    measures: &[
        (
            "delivered_frames",
            "frames that were slowed down and delivered by then",
        ),
        (
            "least_ms",
            "the least that this fault held one, from frame in to frame out at the switch: its own time on the link",
        ),
        ("median_ms", "the median of that"),
        ("most_ms", "the most of that"),
        ("dropped_frames", "frames that found the queue full"),
        ("seen_ms", "from the order until it was seen to take"),
        links::HEALED,
    ],
    program: Program::GoesOn,
};

impl Fault for Bandwidth {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let links = links::links(field.cluster, order);
            let bits_per_second = (order.params.number("rate_kbit") * 1e3) as u64;
            let shortest_ns = SHORTEST_FRAME_BITS * 1_000_000_000 / bits_per_second;
            let effect = Effect::Bandwidth {
                bits_per_second,
                queue_bytes: (order.params.number("queue_kbytes") * 1e3) as u64,
            };
            let rule = links::rule(order, effect);
            let took = |counts: &RuleCounts| {
                let Some(held) = counts.held else {
                    return Ok(false);
                };
                if held.min_ns < shortest_ns {
                    return Err(format!("a frame took {} ns only", held.min_ns));
                }
                // What the links together had time for.
                let most = counts.links_met * bits_per_second;
                let elapsed = counts.at_ns.saturating_sub(counts.since_ns);
                let bits = u128::from(counts.delivered_bytes) * 8 * 1_000_000_000;
                if bits > u128::from(most) * u128::from(elapsed) {
                    return Err(format!(
                        "{} links let {} bytes pass in {elapsed} ns",
                        counts.links_met, counts.delivered_bytes
                    ));
                }
                Ok(true)
            };
            let (counts, seen_ms) = links::put_in(field, order, (&links, rule), LIMIT, took).await?;
            let held = counts.held.unwrap_or_default();
            Ok(Measured::from([
                ("delivered_frames".into(), counts.delivered as f64),
                ("least_ms".into(), links::ms(held.min_ns)),
                ("median_ms".into(), links::ms(held.median_ns)),
                ("most_ms".into(), links::ms(held.max_ns)),
                ("dropped_frames".into(), counts.overflowed as f64),
                ("seen_ms".into(), seen_ms),
            ]))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(links::heal(field, order))
    }
}
