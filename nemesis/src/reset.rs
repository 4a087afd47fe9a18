//! Connections are reset from outside: a segment is replaced by a RST to either end.

use crate::links::{self, DRAWN_LIMIT, PEERS, PORT, WAY};
use crate::{About, Doing, Fault, Field, Measured, Order, Program};
use clusters::{Capability, Effect, RuleCounts};

/// The fault.
pub struct Reset;

/// What it is.
const ABOUT: About = About {
    name: "reset",
    text: "established TCP connections are reset: a segment is replaced by a RST to either end",
    needs: Capability::Links,
    params: &[
        links::share(
            "reset_percent",
            "how many segments of established connections reset theirs",
            5.0,
        ),
        WAY,
        PEERS,
        PORT,
    ],
    heals: "connections are left alone; those that were reset stay so",
    measures: &[
        (
            "met_frames",
            "segments of established connections that met it by then",
        ),
        (
            "reset_frames",
            "how many of them were replaced by a RST to either end",
        ),
        ("seen_ms", "from the order until it was seen to take"),
        links::HEALED,
    ],
    program: Program::GoesOn,
};

impl Fault for Reset {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let links = links::links(field.cluster, order);
            let ppm = links::ppm(order.params.number("reset_percent"));
            let effect = Effect::Reset { ppm };
            let rule = links::rule(order, effect);
            let took = |counts: &RuleCounts| links::drawn(counts, ppm);
            let (counts, seen_ms) = links::put_in(field, order, (&links, rule), DRAWN_LIMIT, took).await?;
            Ok(Measured::from([
                ("met_frames".into(), counts.offered as f64),
                ("reset_frames".into(), counts.struck as f64),
                ("seen_ms".into(), seen_ms),
            ]))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(links::heal(field, order))
    }
}
