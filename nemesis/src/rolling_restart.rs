//! Nodes are restarted one after the other, each only when the one before has caught up: an upgrade as it should be.

use crate::ended::{How, all_restarted};
use crate::hands::{self, Look, View};
use crate::{About, Doing, Fault, Field, Kind, Measured, NotTaken, Order, Param, Program, ready, worst};
use clusters::{Capability, Cluster, RoleKind};

/// The fault.
pub struct RollingRestart;

/// What it is.
const ABOUT: About = About {
    name: "rolling-restart",
    text: "the targets are restarted one after the other, each only when the one before has caught up: a broker in every ISR of the topic where it has a replica, a controller with the metadata log's committed end",
    needs: Capability::Process,
    params: &[
        Param {
            name: "how",
            text: "how each ends: by SIGTERM, by itself; or by SIGKILL",
            kind: Kind::Word(&["stop", "crash"]),
        },
        hands::TOPIC,
    ],
    heals: "nothing is left to undo: every target accepts a connection, and has caught up",
    measures: &[
        ("ended_ms", "from the signal until the program was seen to end"),
        ("accepts_ms", "from the start until it accepts a connection"),
        ("caught_up_ms", "from then on until it had caught up"),
        ("restarts", "programs that ended and were started again"),
    ],
    program: Program::Restarts,
};

impl Fault for RollingRestart {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let how = How::of(order.params.text("how"));
            let topic = order.params.text("topic");
            let mut measured = Vec::new();
            for node in &order.nodes {
                measured.push(all_restarted(field.cluster, &[*node], how).await?);
                measured.push(caught_up(field.cluster, *node, topic).await?);
            }
            let mut measured = worst(measured);
            measured.insert("restarts".into(), order.nodes.len() as f64);
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let mut measured = vec![ready::all_accept(field.cluster, &order.nodes).await?];
            for node in &order.nodes {
                measured.push(caught_up(field.cluster, *node, order.params.text("topic")).await?);
            }
            Ok(worst(measured))
        })
    }
}

/// Waits until a node has caught up, as others know it.
async fn caught_up(cluster: &Cluster, node: i32, topic: &str) -> Result<Measured, NotTaken> {
    let took_ms = match cluster.node(node)?.role {
        RoleKind::Controller => controller_caught_up(cluster, node).await?,
        RoleKind::Broker => {
            let unfenced_ms = hands::broker_is(cluster, node, true).await?;
            let in_sync = |view: &View| match view {
                View::Topic(topic) => {
                    let held = |it: &&client::calls::DescribedPartition| it.replicas.contains(&node);
                    let mut held = topic.partitions.iter().filter(held);
                    (topic.error.is_none() && held.all(|it| it.isr.contains(&node))).then_some(())
                }
                _ => None,
            };
            let what = format!("broker {node} in sync, wherever it has a replica of {topic:?},");
            let ((), in_sync_ms) = hands::seen(cluster, Look::Topic(topic), &what, in_sync).await?;
            unfenced_ms + in_sync_ms
        }
    };
    Ok(Measured::from([("caught_up_ms".into(), took_ms)]))
}

/// That it has as much of the metadata log as was committed when it came back.
async fn controller_caught_up(cluster: &Cluster, node: i32) -> Result<f64, NotTaken> {
    let what = "an active controller";
    let (committed, first_ms) = hands::quorum(cluster, what, |it| Some(it.high_watermark)).await?;
    let what = format!("controller {node} with the metadata log up to {committed}");
    let has = |quorum: &client::calls::QuorumDescription| {
        let mut all = quorum.voters.iter().chain(&quorum.observers);
        all.any(|it| it.node == node && it.log_end_offset >= committed)
            .then_some(())
    };
    Ok(first_ms + hands::quorum(cluster, &what, has).await?.1)
}
