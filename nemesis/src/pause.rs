//! SIGSTOP to a node's processes: they stand still, and their kernel still acknowledges TCP and accepts connections.

use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program};
use clusters::{Capability, Cluster, Signal};
use std::time::Instant;

/// The fault.
pub struct Pause;

/// What it is.
const ABOUT: About = About {
    name: "pause",
    text: "the process gets SIGSTOP: it stands still, and its connections stay open",
    needs: Capability::Process,
    params: &[],
    heals: "the process gets SIGCONT; a pause ends with its process, so one that died is not waited for",
    measures: &[
        (
            "stopped_ms",
            "from the signal until every process of the node was seen in the state \"stopped\" in /proc",
        ),
        ("going_on_ms", "from the signal until none was"),
    ],
    program: Program::StandsStill,
};

impl Fault for Pause {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(signalled(field.cluster, &order.nodes, Signal::Stop, "stopped_ms"))
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(signalled(
            field.cluster,
            &order.nodes,
            Signal::Continue,
            "going_on_ms",
        ))
    }
}

/// Sends a signal; measures until the nodes' inits had seen that it took (a second each at most, or an error).
async fn signalled(
    cluster: &Cluster,
    nodes: &[i32],
    signal: Signal,
    quantity: &str,
) -> Result<Measured, NotTaken> {
    let began = Instant::now();
    for node in nodes {
        // With no process there is none that stands still.
        if signal == Signal::Continue && !cluster.runs(*node) {
            continue;
        }
        cluster.signal(*node, signal)?;
    }
    Ok(Measured::from([(
        quantity.into(),
        began.elapsed().as_secs_f64() * 1e3,
    )]))
}
