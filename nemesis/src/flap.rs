//! Links are cut and whole in turns.

use crate::links::{self, DRAWN_LIMIT, PEERS, PORT, WAY};
use crate::{About, Doing, Fault, Field, Measured, Order, Program};
use clusters::{Capability, Effect, LinkRule, RuleCounts};

/// The fault.
pub struct Flap;

/// What it is.
const ABOUT: About = About {
    name: "flap",
    text: "links are cut and whole in turns",
    needs: Capability::Links,
    params: &[
        links::number("cut_ms", "how long they are cut", (1.0, 60_000.0), 500.0),
        links::number("whole_ms", "how long they then are whole", (1.0, 60_000.0), 500.0),
        WAY,
        PEERS,
        PORT,
    ],
    heals: "the links stay whole",
    measures: &[
        ("dropped_frames", "frames dropped while the links were cut"),
        ("spared_frames", "frames that came while they were whole"),
        ("seen_ms", "from the order until it was seen to take"),
        links::HEALED,
    ],
    program: Program::GoesOn,
};

impl Fault for Flap {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let links = links::links(field.cluster, order);
            let effect = Effect::Cut;
            let rule = LinkRule {
                flap: Some(clusters::Flap {
                    on_ns: links::ns(order.params.number("cut_ms")),
                    off_ns: links::ns(order.params.number("whole_ms")),
                }),
                ..links::rule(order, effect)
            };
            let took = |counts: &RuleCounts| Ok(counts.struck > 0 && counts.spared > 0);
            let (counts, seen_ms) = links::put_in(field, order, (&links, rule), DRAWN_LIMIT, took).await?;
            Ok(Measured::from([
                ("dropped_frames".into(), counts.struck as f64),
                ("spared_frames".into(), counts.spared as f64),
                ("seen_ms".into(), seen_ms),
            ]))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(links::heal(field, order))
    }
}
