//! Brokers are taken out of the cluster, and put in again: stopped, as by SIGTERM, and then unregistered.

use crate::ended::{How, ended};
use crate::hands::{self, Wish};
use crate::{About, Doing, Fault, Field, Measured, Order, Program, ready, worst};
use clusters::Capability;

/// The fault.
pub struct RemoveBroker;

/// What it is.
const ABOUT: About = About {
    name: "remove-broker",
    text: "the broker is taken out of the cluster, as an administrator does it: its program gets SIGTERM and ends by itself, then its registration is removed; its disk keeps what it has",
    needs: Capability::Process,
    params: &[],
    heals: "the program is started again with its old disk, registers as one of whom nothing is known, and is unfenced",
    measures: &[
        (
            "stopped_ms",
            "from the signal until the program was seen to end, not by SIGKILL",
        ),
        hands::ASKED,
        (
            "seen_ms",
            "from then on until a broker did not list it any more; when healing, until one listed it as unfenced",
        ),
        ("accepts_ms", "from the start until it accepts a connection"),
    ],
    program: Program::Ends,
};

impl Fault for RemoveBroker {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let mut measured = Vec::new();
            for node in &order.nodes {
                let stopped_ms = ended(field.cluster, *node, How::Stop).await?;
                let asked_ms = hands::done(field.cluster, &Wish::Unregister(*node)).await?;
                let seen_ms = hands::broker_is(field.cluster, *node, false).await?;
                measured.push(Measured::from([
                    ("stopped_ms".into(), stopped_ms),
                    ("asked_ms".into(), asked_ms),
                    ("seen_ms".into(), seen_ms),
                ]));
            }
            Ok(worst(measured))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let mut measured = vec![ready::started(field.cluster, &order.nodes).await?];
            for node in &order.nodes {
                let seen_ms = hands::broker_is(field.cluster, *node, true).await?;
                measured.push(Measured::from([("seen_ms".into(), seen_ms)]));
            }
            Ok(worst(measured))
        })
    }
}
