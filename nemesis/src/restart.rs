//! A node's program ends and is started again at once, node after node: a rolling restart of its targets.

use crate::ended::{How, all_restarted};
use crate::{About, Doing, Fault, Field, Kind, Order, Param, Program, ready};
use clusters::Capability;

/// The fault.
pub struct Restart;

/// What it is.
const ABOUT: About = About {
    name: "restart",
    text: "the program ends and is started again at once; of several targets one after the other",
    needs: Capability::Process,
    params: &[Param {
        name: "how",
        text: "how it ends: by SIGTERM, by itself; or by SIGKILL",
        kind: Kind::Word(&["stop", "crash"]),
    }],
    heals: "nothing is left to undo: the program accepts a connection",
    measures: &[
        ("ended_ms", "from the signal until the program was seen to end"),
        ("accepts_ms", "from the start until it accepts a connection"),
    ],
    program: Program::Restarts,
};

impl Fault for Restart {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        let how = How::of(order.params.text("how"));
        Box::pin(all_restarted(field.cluster, &order.nodes, how))
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(ready::all_accept(field.cluster, &order.nodes))
    }
}
