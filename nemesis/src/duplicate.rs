//! Some frames arrive twice.

use crate::links::{self, PEERS, PORT, WAY};
use crate::{About, Doing, Fault, Field, Order, Program};
use clusters::{Capability, Effect};

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
        let ppm = links::ppm(order.params.number("duplicate_percent"));
        Box::pin(links::inject_drawn(
            field,
            order,
            ppm,
            Effect::Duplicate { ppm },
            "doubled_percent",
        ))
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(links::heal(field, order))
    }
}
