//! Nodes lose their power, all at one instant: silent, and what their disks had not synced is gone.

use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program, ready};
use clusters::Capability;

/// The fault.
pub struct PowerCut;

/// What it is.
const ABOUT: About = About {
    name: "power-cut",
    text: "the node loses its power, silently, and what its disk had not synced",
    needs: Capability::Power,
    params: &[],
    heals: "power comes back in a new network namespace, the program is started and accepts a connection",
    measures: &[
        (
            "dead_ms",
            "from the cut of the wire until every process of the nodes was gone",
        ),
        ("lost_bytes", "bytes that the disks lost"),
        ("lost_files", "files that lost bytes, or their names"),
        ("accepts_ms", "from the start until it accepts a connection"),
    ],
    program: Program::LosesPower,
};

impl Fault for PowerCut {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let cuts = field.cluster.power_off(&order.nodes, order.id)?;
            if cuts.len() != order.nodes.len() {
                return Err(NotTaken::NotSeen(format!(
                    "{} cuts were made where {} were asked",
                    cuts.len(),
                    order.nodes.len()
                )));
            }
            let dead = cuts
                .iter()
                .map(|cut| cut.dead_at_ns.saturating_sub(cut.cut_at_ns));
            let dead_ms = dead.max().unwrap_or_default() as f64 / 1e6;
            let sum = |of: fn(&clusters::PowerCut) -> u64| cuts.iter().map(of).sum::<u64>() as f64;
            Ok(Measured::from([
                ("dead_ms".into(), dead_ms),
                ("lost_bytes".into(), sum(|cut| cut.loss.bytes)),
                ("lost_files".into(), sum(|cut| cut.loss.files)),
            ]))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            for node in &order.nodes {
                field.cluster.power_on(*node)?;
            }
            ready::started(field.cluster, &order.nodes).await
        })
    }
}
