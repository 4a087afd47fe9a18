//! A node's disk is rolled back to an older image of itself.

use crate::disk_replace::{AFTERWARDS, heal, swapped};
use crate::disks::{self, ACCEPTS};
use crate::ended::{How, ended};
use crate::links::number;
use crate::{About, Doing, Fault, Field, Kind, Order, Param, Program, ready, worst};
use clusters::{Capability, DiskSwap};
use std::time::Duration;

/// The fault.
pub struct DiskRollBack;

/// How old.
const AGE: Param = number(
    "age_ms",
    "how old the image is when the disk is rolled back to it: it is taken when the fault is put in",
    (0.0, 60_000.0),
    2_000.0,
);
/// How it was taken.
const TAKEN: Param = Param {
    name: "taken",
    text: "running: of a node that runs, as a snapshot of its machine; or stopped: of one that was stopped for it by SIGTERM \
           and started again, so that it is rolled back to a state that says it ended well",
    kind: Kind::Word(&["running", "stopped"]),
};

/// What it is.
const ABOUT: About = About {
    name: "disk-roll-back",
    text: "an image of the disk is taken; a while later the node is turned off, the image takes the disk's place, and the node is \
           turned on and started: it has forgotten what it had promised since",
    needs: Capability::Disk,
    params: &[AGE, TAKEN, AFTERWARDS],
    heals: "nothing, or the node is turned off, gets back the disk that it had when it was rolled back, and is started",
    measures: &[
        (
            "replaced_bytes",
            "bytes on the disk that was rolled back, the most of any node",
        ),
        ("replaced_files", "files on it, the most of any node"),
        ("found_bytes", "bytes of the image, the most of any node"),
        ACCEPTS,
    ],
    program: Program::Restarts,
};

impl Fault for DiskRollBack {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let cluster = field.cluster;
            for node in &order.nodes {
                let stopped = order.params.text(TAKEN.name) == "stopped";
                if stopped {
                    ended(cluster, *node, How::Stop).await?;
                }
                cluster.swap_disk(*node, order.id, DiskSwap::TakeImage)?;
                if stopped {
                    ready::started(cluster, &[*node]).await?;
                }
            }
            tokio::time::sleep(Duration::from_secs_f64(order.params.number(AGE.name) / 1e3)).await;
            let all = disks::while_off(cluster, order, |node| {
                cluster.swap_disk(node, order.id, DiskSwap::ToImage)
            })?;
            let started = ready::started(cluster, &order.nodes).await?;
            Ok(worst(all.iter().map(swapped).chain([started])))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(heal(field, order))
    }
}
