//! Some frames arrive twice.

use crate::links::{self, DRAWN_LIMIT, PEERS, PORT, WAY};
use crate::{About, Doing, Fault, Field, Measured, Order, Program};
use clusters::{Capability, Effect, RuleCounts};

/// The fault.
pub struct Duplicate;

/// What it is.
const ABOUT: About = About {
    name: "duplicate",
    text: "some frames arrive twice",
    needs: Capability::Links,
    params: &[
        links::share("duplicate_percent", "how many arrive twice", 20.0),
        WAY,
        PEERS,
        PORT,
    ],
    heals: "frames pass as before",
    measures: &[
        ("met_frames", "frames that met it by then"),
        ("doubled_percent", "how many of them were sent twice"),
        ("seen_ms", "from the order until it was seen to take"),
        links::HEALED,
    ],
    program: Program::GoesOn,
};

impl Fault for Duplicate {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let links = links::links(field.cluster, order);
            let ppm = links::ppm(order.params.number("duplicate_percent"));
            let effect = Effect::Duplicate { ppm };
            let rule = links::rule(order, effect);
            let took = |counts: &RuleCounts| links::drawn(counts, ppm);
            let (counts, seen_ms) = links::put_in(field, order, (&links, rule), DRAWN_LIMIT, took).await?;
            Ok(Measured::from([
                ("met_frames".into(), counts.offered as f64),
                ("doubled_percent".into(), links::struck_percent(&counts)),
                ("seen_ms".into(), seen_ms),
            ]))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let links = links::links(field.cluster, order);
            links::take_out(field, order, &links, links::HEALED.0).await
        })
    }
}
