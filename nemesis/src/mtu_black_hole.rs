//! Packets above a length vanish without a word, as where path MTU discovery is broken.

use crate::links::{self, DRAWN_LIMIT, PEERS, PORT, WAY};
use crate::{About, Doing, Fault, Field, Measured, Order, Program};
use clusters::{Capability, Effect, RuleCounts};

/// The fault.
pub struct MtuBlackHole;

/// What it is.
const ABOUT: About = About {
    name: "mtu-black-hole",
    text: "packets above a length vanish without a word; shorter ones pass",
    needs: Capability::Links,
    params: &[
        links::number(
            "mtu_bytes",
            "the longest packet that passes, its IP header included; acknowledgements alone pass at any",
            (68.0, 65_535.0),
            1_000.0,
        ),
        WAY,
        PEERS,
        PORT,
    ],
    heals: "frames of every length pass",
    measures: &[
        ("met_frames", "frames that met it by then"),
        ("dropped_frames", "how many of them were too long, and dropped"),
        ("seen_ms", "from the order until it was seen to take"),
        links::HEALED,
    ],
    program: Program::GoesOn,
};

impl Fault for MtuBlackHole {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let links = links::links(field.cluster, order);
            let effect = Effect::BlackHole {
                mtu_bytes: order.params.number("mtu_bytes") as u32,
            };
            let rule = links::rule(order, effect);
            let took = |counts: &RuleCounts| Ok(counts.struck > 0);
            let (counts, seen_ms) = links::put_in(field, order, (&links, rule), DRAWN_LIMIT, took).await?;
            Ok(Measured::from([
                ("met_frames".into(), counts.offered as f64),
                ("dropped_frames".into(), counts.struck as f64),
                ("seen_ms".into(), seen_ms),
            ]))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(links::heal(field, order))
    }
}
