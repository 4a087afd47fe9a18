//! SIGKILL to a node's process: loud (its kernel says FIN or RST at once), and the page cache is kept.

use crate::ended::{How, ended};
use crate::{About, Doing, Fault, Field, Measured, Order, Program, ready, worst};
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
        Box::pin(async move {
            let mut measured = Vec::new();
            for node in &order.nodes {
                let dead_ms = ended(field.cluster, *node, How::Crash).await?;
                measured.push(Measured::from([("dead_ms".into(), dead_ms)]));
            }
            Ok(worst(measured))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(ready::started(field.cluster, &order.nodes))
    }
}
