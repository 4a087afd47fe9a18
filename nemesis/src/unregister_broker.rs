//! Brokers' registrations are removed. One that runs finds out by its next heartbeat. It may register anew by itself, as
//! one of whom nobody knows whether it has its log's end: it has left ISR and ELR. Or it stays outside until an
//! administrator starts it again (Apache Kafka's do): then the heal does that.

use crate::ended::{How, ended};
use crate::hands::{self, Wish};
use crate::twin::is_reachable;
use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program, ready, worst};
use clusters::{Capability, Cluster};
use std::time::Duration;

/// The fault.
pub struct UnregisterBroker;

/// How long one that registers by itself may take to be unfenced: heartbeats come every 2 s at most by default.
const BY_ITSELF: Duration = Duration::from_secs(5);

/// What it is.
const ABOUT: About = About {
    name: "unregister-broker",
    text: "the broker's registration is removed: it leaves every ISR, and counts as unclean when it registers anew",
    needs: Capability::Client,
    params: &[],
    heals: "where its program runs, it has registered anew and is unfenced; one that did not by itself is killed and started again for that",
    measures: &[
        hands::ASKED,
        (
            "seen_ms",
            "from then on until a broker did not list it any more, where its program does not run; when healing, until one listed it as unfenced, where it does",
        ),
        (
            "restarted",
            "1 where it did not register anew by itself and was started again, else 0",
        ),
        ("accepts_ms", "from that start until it accepts a connection"),
    ],
    program: Program::GoesOn,
};

impl Fault for UnregisterBroker {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let mut measured = Vec::new();
            for node in &order.nodes {
                let asked_ms = hands::done(field.cluster, &Wish::Unregister(*node)).await?;
                measured.push(Measured::from([("asked_ms".into(), asked_ms)]));
                // One that runs is back before anybody could look.
                if !field.cluster.runs(*node) {
                    measured.push(listed(field.cluster, *node, false).await?);
                }
            }
            Ok(worst(measured))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let mut measured = Vec::new();
            for node in order.nodes.iter().filter(|node| field.cluster.runs(**node)) {
                measured.push(registered_anew(field.cluster, *node).await?);
            }
            Ok(worst(measured))
        })
    }
}

async fn registered_anew(cluster: &Cluster, node: i32) -> Result<Measured, NotTaken> {
    // One that another fault keeps from the controllers could not register after a start either.
    if !is_reachable(cluster, node)? {
        return listed(cluster, node, true).await;
    }
    if let Ok(seen_ms) = hands::broker_is_within(cluster, node, true, BY_ITSELF).await {
        return Ok(Measured::from([
            ("seen_ms".into(), seen_ms),
            ("restarted".into(), 0.0),
        ]));
    }
    ended(cluster, node, How::Crash).await?;
    let mut measured = ready::started(cluster, &[node]).await?;
    measured.extend(listed(cluster, node, true).await?);
    measured.insert("restarted".into(), 1.0);
    Ok(measured)
}

async fn listed(cluster: &Cluster, node: i32, there: bool) -> Result<Measured, NotTaken> {
    let seen_ms = hands::broker_is(cluster, node, there).await?;
    Ok(Measured::from([("seen_ms".into(), seen_ms)]))
}
