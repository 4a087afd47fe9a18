//! A node's program crashes again and again, each time soon after its start.

use crate::ended::{How, ended};
use crate::links::number;
use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Param, Program, ready, worst};
use clusters::{Capability, Cluster};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// The fault.
pub struct CrashLoop;

/// How often.
const TIMES: Param = number(
    "times",
    "how often it is killed, and started again after each",
    (1.0, 50.0),
    3.0,
);
/// How long each life is.
const LIFE: Param = number(
    "life_ms",
    "how long it lives between its start and the next SIGKILL; what it has written by then, it must live with",
    (0.0, 10_000.0),
    300.0,
);

/// What it is.
const ABOUT: About = About {
    name: "crash-loop",
    text: "the process gets SIGKILL so many times in a row, started again after each, with short lives in between",
    needs: Capability::Process,
    params: &[TIMES, LIFE],
    heals: "nothing is left to undo: the program accepts a connection",
    measures: &[
        ("crashes", "ends by signal 9 that were seen, of each node"),
        (
            "life_ms",
            "the longest of the lives, from the start to the next signal",
        ),
        ("accepts_ms", "from the last start until it accepts a connection"),
    ],
    program: Program::Restarts,
};

impl Fault for CrashLoop {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            // Within the bounds of the parameters, so whole and small.
            let times = order.params.number("times") as u32;
            let life = Duration::from_secs_f64(order.params.number("life_ms") / 1e3);
            let mut measured = Vec::new();
            for node in &order.nodes {
                measured.push(crashed_often(field.cluster, *node, times, life).await?);
            }
            Ok(worst(measured))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(ready::all_accept(field.cluster, &order.nodes))
    }
}

async fn crashed_often(
    cluster: &Cluster,
    node: i32,
    times: u32,
    life: Duration,
) -> Result<Measured, NotTaken> {
    let mut longest = 0.0_f64;
    for n in 1..=times {
        ended(cluster, node, How::Crash).await?;
        if n < times {
            cluster.start(node)?;
            let began = Instant::now();
            sleep(life).await;
            longest = longest.max(began.elapsed().as_secs_f64() * 1e3);
        }
    }
    let mut measured = ready::started(cluster, &[node]).await?;
    measured.insert("crashes".into(), f64::from(times));
    measured.insert("life_ms".into(), longest);
    Ok(measured)
}
