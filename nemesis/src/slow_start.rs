//! A node takes long to start: its process is there, and does nothing yet.

use crate::ended::{How, ended};
use crate::{
    About, Default, Doing, Fault, Field, Kind, Measured, NotTaken, Order, Param, Program, ready, worst,
};
use clusters::{Capability, Cluster, Signal};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// The fault.
pub struct SlowStart;

/// What it is.
const ABOUT: About = About {
    name: "slow-start",
    text: "the program ends and is started again, and its process is stopped before it listens, for the delay",
    needs: Capability::Process,
    params: &[
        Param {
            name: "delay_ms",
            text: "how long the new process stands still",
            kind: Kind::Number {
                least: 10.0,
                most: 60_000.0,
                default: Default::Is(2_000.0),
            },
        },
        Param {
            name: "how",
            text: "how the old one ends: by SIGKILL; or by SIGTERM, by itself",
            kind: Kind::Word(How::WORDS),
        },
    ],
    heals: "nothing is left to undo: the program accepts a connection",
    measures: &[
        (
            "ended_ms",
            "from the signal until the old process was seen to end",
        ),
        (
            "delay_ms",
            "from the start of the new one until it went on; it accepted no connection in that time",
        ),
        ("accepts_ms", "from when it went on until it accepts a connection"),
    ],
    program: Program::Restarts,
};

impl Fault for SlowStart {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let how = How::of(order.params.text("how"));
            let delay = Duration::from_secs_f64(order.params.number("delay_ms") / 1e3);
            let mut measured = Vec::new();
            for node in &order.nodes {
                measured.push(slow(field.cluster, *node, how, delay).await?);
            }
            Ok(worst(measured))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(ready::all_accept(field.cluster, &order.nodes))
    }
}

async fn slow(cluster: &Cluster, node: i32, how: How, delay: Duration) -> Result<Measured, NotTaken> {
    let ended_ms = ended(cluster, node, how).await?;
    let began = Instant::now();
    cluster.start(node)?;
    cluster.signal(node, Signal::Stop)?;
    sleep(delay).await;
    let listens = ready::accepts_now(cluster, node).await?;
    cluster.signal(node, Signal::Continue)?;
    let delay_ms = began.elapsed().as_secs_f64() * 1e3;
    if listens {
        return Err(NotTaken::NotSeen(format!(
            "node {node} listened already when its new process was stopped"
        )));
    }
    let mut measured = ready::all_accept(cluster, &[node]).await?;
    measured.insert("ended_ms".into(), ended_ms);
    measured.insert("delay_ms".into(), delay_ms);
    Ok(measured)
}
