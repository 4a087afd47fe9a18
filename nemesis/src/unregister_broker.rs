//! Brokers' registrations are removed. One that runs finds out by its next heartbeat and registers anew, as one of whom
//! nobody knows whether it has its log's end: it has left ISR and ELR.

use crate::hands::{self, Wish};
use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program, worst};
use clusters::{Capability, Cluster};

/// The fault.
pub struct UnregisterBroker;

/// What it is.
const ABOUT: About = About {
    name: "unregister-broker",
    text: "the broker's registration is removed: it leaves every ISR, and counts as unclean when it registers anew",
    needs: Capability::Client,
    params: &[],
    heals: "where its program runs, it has registered anew by itself and is unfenced",
    measures: &[
        hands::ASKED,
        (
            "seen_ms",
            "from then on until a broker did not list it any more, where its program does not run; when healing, until one listed it as unfenced, where it does",
        ),
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
                measured.push(listed(field.cluster, *node, true).await?);
            }
            Ok(worst(measured))
        })
    }
}

async fn listed(cluster: &Cluster, node: i32, there: bool) -> Result<Measured, NotTaken> {
    let seen_ms = hands::broker_is(cluster, node, there).await?;
    Ok(Measured::from([("seen_ms".into(), seen_ms)]))
}
