//! Some frames are lost, each by its own draw.

use crate::links::{self, PEERS, PORT, WAY};
use crate::{About, Doing, Fault, Field, Order, Program};
use clusters::{Capability, Effect};

/// The fault.
pub struct Loss;

/// What it is.
const ABOUT: About = About {
    name: "loss",
    text: "some frames are lost, each by its own draw",
    needs: Capability::Links,
    params: &[
        links::share("loss_percent", "how many are lost", 20.0),
        WAY,
        PEERS,
        PORT,
    ],
    heals: "frames pass as before",
    measures: &[
        ("met_frames", "frames that met it by then"),
        ("lost_percent", "how many of them were lost"),
        ("seen_ms", "from the order until it was seen to take"),
        links::HEALED,
    ],
    program: Program::GoesOn,
};

impl Fault for Loss {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        let ppm = links::ppm(order.params.number("loss_percent"));
        Box::pin(links::inject_drawn(
            field,
            order,
            ppm,
            Effect::Loss { ppm },
            "lost_percent",
        ))
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(links::heal(field, order))
    }
}
