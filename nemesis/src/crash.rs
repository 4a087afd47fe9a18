//! SIGKILL to a node's process: loud (its kernel says FIN or RST at once), and the page cache is kept.

use crate::ended::{How, all_ended};
use crate::{About, Doing, Fault, Field, Order, Program, ready};
use clusters::Capability;

/// The fault.
pub struct Crash;

/// What it is.
const ABOUT: About = About {
    name: "crash",
    text: "the process gets SIGKILL; its page cache is kept",
    needs: Capability::Process,
    params: &[],
    heals: "the program is started again, and accepts a connection",
    measures: &[
        (
            "dead_ms",
            "from the signal until the process was seen to end by signal 9",
        ),
        ("accepts_ms", "from the start until it accepts a connection"),
    ],
    program: Program::Ends,
};

impl Fault for Crash {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(all_ended(field.cluster, &order.nodes, How::Crash, "dead_ms"))
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(ready::started(field.cluster, &order.nodes))
    }
}
