//! A property of nodes that is read at their start is changed: written into their configurations, and each is restarted.
//! So metadata snapshots are forced small, or large, in the middle of a run. A run that is to have them so from its
//! beginning says it among its server's properties instead.

use crate::ended::{How, all_restarted};
use crate::{About, Doing, Fault, Field, Kind, Measured, NotTaken, Order, Param, Program};
use clusters::Capability;

/// The fault.
pub struct SetProperty;

/// What it is.
const ABOUT: About = About {
    name: "set-property",
    text: "a property that is read at the start is written into the configuration of each target, and its program is restarted with it, one after the other; by default metadata snapshots are forced small",
    needs: Capability::Process,
    params: &[
        Param {
            name: "key",
            text: "the property",
            kind: Kind::Text("metadata.log.max.record.bytes.between.snapshots"),
        },
        Param {
            name: "value",
            text: "its value",
            kind: Kind::Text("1000"),
        },
        Param {
            name: "how",
            text: "how each program ends: by SIGTERM, by itself; or by SIGKILL",
            kind: Kind::Word(&["stop", "crash"]),
        },
    ],
    heals: "the configurations are as they were before, and each program is restarted once more",
    measures: &[
        ("ended_ms", "from the signal until the program was seen to end"),
        (
            "accepts_ms",
            "from the start with the other configuration until it accepts a connection; what the property does there, only a property's own effect shows",
        ),
    ],
    program: Program::Restarts,
};

impl Fault for SetProperty {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let (key, value) = (order.params.text("key"), order.params.text("value"));
            if key.trim().is_empty() || [key, value].iter().any(|text| text.contains(['\n', '\r'])) {
                return Err(NotTaken::NotSeen(format!(
                    "{key:?} = {value:?} is no line of a configuration"
                )));
            }
            for node in &order.nodes {
                field.cluster.set_property(*node, order.id, key, value)?;
            }
            restarted(field, order).await
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            for node in &order.nodes {
                field.cluster.clear_property(*node, order.id)?;
            }
            restarted(field, order).await
        })
    }
}

async fn restarted(field: Field<'_>, order: &Order) -> Result<Measured, NotTaken> {
    all_restarted(field.cluster, &order.nodes, How::of(order.params.text("how"))).await
}
