//! Some frames are held back, and those behind them overtake.

use crate::links::{self, DRAWN_LIMIT, PEERS, PORT, WAY};
use crate::{About, Doing, Fault, Field, Measured, Order, Program};
use clusters::{Capability, Effect, RuleCounts};

/// The fault.
pub struct Reorder;

/// What it is.
const ABOUT: About = About {
    name: "reorder",
    text: "some frames are held back for a while, and those behind them overtake",
    needs: Capability::Links,
    params: &[
        links::share("reorder_percent", "how many are held back", 20.0),
        links::number("hold_ms", "how long they are held", (0.1, 10_000.0), 10.0),
        WAY,
        PEERS,
        PORT,
    ],
    heals: "frames pass as before; what still waits is delivered at once",
    measures: &[
        ("met_frames", "frames that met it by then"),
        ("held_percent", "how many of them were held back"),
        (
            "overtaken_frames",
            "frames that arrived after one which had come later",
        ),
        ("seen_ms", "from the order until it was seen to take"),
        links::HEALED,
    ],
    program: Program::GoesOn,
};

impl Fault for Reorder {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let links = links::links(field.cluster, order);
            let ppm = links::ppm(order.params.number("reorder_percent"));
            let effect = Effect::Reorder {
                ppm,
                hold_ns: links::ns(order.params.number("hold_ms")),
            };
            let rule = links::rule(order, effect);
            let took = |counts: &RuleCounts| Ok(links::drawn(counts, ppm)? && counts.overtaken > 0);
            let (counts, seen_ms) = links::put_in(field, order, (&links, rule), DRAWN_LIMIT, took).await?;
            Ok(Measured::from([
                ("met_frames".into(), counts.offered as f64),
                ("held_percent".into(), links::struck_percent(&counts)),
                ("overtaken_frames".into(), counts.overtaken as f64),
                ("seen_ms".into(), seen_ms),
            ]))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(links::heal(field, order))
    }
}
