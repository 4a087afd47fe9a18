//! A node takes long to come back: its machine is up, and nothing listens yet.

use crate::ended::{How, ended};
use crate::{
    About, Default, Doing, Fault, Field, Kind, Measured, NotTaken, Order, Param, Program, ready, worst,
};
use clusters::{Capability, Cluster};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// The fault.
pub struct SlowStart;

/// What it is.
const ABOUT: About = About {
    name: "slow-start",
    text: "the program ends, and nothing listens on its machine until it is started again, after the delay",
    needs: Capability::Process,
    params: &[
        Param {
            name: "delay_ms",
            text: "how long nothing listens",
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
            "from the end of the old process to the start of the new one; no connection was accepted in between",
        ),
        (
            "accepts_ms",
            "from the start until the new process accepts a connection",
        ),
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
    sleep(delay).await;
    if ready::accepts_now(cluster, node).await? {
        return Err(NotTaken::NotSeen(format!(
            "something listened on node {node} though its program had ended"
        )));
    }
    cluster.start(node)?;
    let delay_ms = began.elapsed().as_secs_f64() * 1e3;
    let mut measured = ready::all_accept(cluster, &[node]).await?;
    measured.insert("ended_ms".into(), ended_ms);
    measured.insert("delay_ms".into(), delay_ms);
    Ok(measured)
}
