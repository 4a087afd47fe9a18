//! SIGTERM to a node's program: it moves its leaders away, syncs, and ends by itself.

use crate::ended::{How, all_ended};
use crate::{About, Doing, Fault, Field, Order, Program, ready};
use clusters::Capability;

/// The fault.
pub struct Stop;

/// What it is.
const ABOUT: About = About {
    name: "stop",
    text: "the program gets SIGTERM, and has half a minute to end by itself: a controlled shutdown",
    needs: Capability::Process,
    params: &[],
    heals: "the program is started again, and accepts a connection",
    measures: &[
        (
            "stopped_ms",
            "from the signal until the program was seen to end, not by SIGKILL",
        ),
        ("accepts_ms", "from the start until it accepts a connection"),
    ],
    program: Program::Ends,
};

impl Fault for Stop {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(all_ended(field.cluster, &order.nodes, How::Stop, "stopped_ms"))
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(ready::started(field.cluster, &order.nodes))
    }
}
