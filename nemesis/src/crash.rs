//! SIGKILL to a node's process: loud (its kernel says FIN or RST at once), and the page cache is kept.

use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program, ready, worst};
use clusters::{Capability, Cluster, Event, Signal};
use std::time::{Duration, Instant};

/// How long the end of the process may take to be seen.
const LIMIT: Duration = Duration::from_secs(5);

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
                measured.push(kill(field.cluster, *node).await?);
            }
            Ok(worst(measured))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(ready::started(field.cluster, &order.nodes))
    }
}

async fn kill(cluster: &Cluster, node: i32) -> Result<Measured, NotTaken> {
    let mut events = cluster.events();
    let began = Instant::now();
    cluster.signal(node, Signal::Kill)?;
    let ended = async {
        loop {
            match events.recv().await {
                Ok(Event::ProgramEnded {
                    node: ended, signal, ..
                }) if ended == node => return signal,
                _ => continue,
            }
        }
    };
    match tokio::time::timeout(LIMIT, ended).await {
        Ok(Some(9)) => Ok(Measured::from([(
            "dead_ms".into(),
            began.elapsed().as_secs_f64() * 1e3,
        )])),
        Ok(other) => Err(NotTaken::NotSeen(format!(
            "node {node} ended by {other:?} instead of signal 9"
        ))),
        Err(_) => Err(NotTaken::NotSeen(format!(
            "node {node} was not seen to end within {LIMIT:?}"
        ))),
    }
}
