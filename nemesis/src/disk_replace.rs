//! A node's disk is replaced by an empty one.

use crate::disks::{self, ACCEPTS};
use crate::{About, Doing, Fault, Field, Kind, Measured, NotTaken, Order, Param, Program, ready, worst};
use clusters::{Capability, DiskSwap, Swapped};

/// The fault.
pub struct DiskReplace;

/// What is done to the new disk.
const PREPARED: Param = Param {
    name: "prepared",
    text: "formatted: by the system's own tool, as an operator does before the node starts; or bare: the node finds nothing at \
           all, and may refuse to start: a step that is not reached then",
    kind: Kind::Word(&["formatted", "bare"]),
};
/// What healing does.
pub(crate) const AFTERWARDS: Param = Param {
    name: "afterwards",
    text: "what healing does: the node keeps the disk that it has; or it gets the old one back, as it was, which is a disk of \
           the past by then",
    kind: Kind::Word(&["keep", "put-back"]),
};

/// What it is.
const ABOUT: About = About {
    name: "disk-replace",
    text: "the node is turned off, an empty disk takes the place of its own, and it is turned on and started",
    needs: Capability::Disk,
    params: &[PREPARED, AFTERWARDS],
    heals: "nothing, or the node is turned off, gets its old disk back, and is started; the other disk is thrown away",
    measures: &[
        (
            "replaced_bytes",
            "bytes on the disk that was replaced, the most of any node",
        ),
        ("replaced_files", "files on it, the most of any node"),
        (
            "found_bytes",
            "bytes on the disk that took its place, the most of any node",
        ),
        ACCEPTS,
    ],
    program: Program::Restarts,
};

/// What a swap measures.
pub(crate) fn swapped(swapped: &Swapped) -> Measured {
    Measured::from([
        ("replaced_bytes".into(), swapped.old_bytes as f64),
        ("replaced_files".into(), swapped.old_files as f64),
        ("found_bytes".into(), swapped.bytes as f64),
    ])
}

/// Heals a replaced disk, as [`AFTERWARDS`] says.
pub(crate) async fn heal(field: Field<'_>, order: &Order) -> Result<Measured, NotTaken> {
    let cluster = field.cluster;
    if order.params.text(AFTERWARDS.name) == "put-back" {
        let all = disks::while_off(cluster, order, |node| {
            cluster.swap_disk(node, order.id, DiskSwap::Back)
        })?;
        let started = ready::started(cluster, &order.nodes).await?;
        return Ok(worst(all.iter().map(swapped).chain([started])));
    }
    let mut measured = Vec::new();
    for node in &order.nodes {
        cluster.swap_disk(*node, order.id, DiskSwap::Forget)?;
        measured.push(disks::runs_again(cluster, *node).await?);
    }
    Ok(worst(measured))
}

impl Fault for DiskReplace {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let cluster = field.cluster;
            let all = disks::while_off(cluster, order, |node| {
                cluster.swap_disk(node, order.id, DiskSwap::ToEmpty)
            })?;
            if all.iter().any(|one| one.files > 0) {
                return Err(NotTaken::NotSeen(format!("an empty disk is not empty: {all:?}")));
            }
            if order.params.text(PREPARED.name) == "formatted" {
                for node in &order.nodes {
                    cluster.format_one(*node).await?;
                }
            }
            let started = ready::started(cluster, &order.nodes).await?;
            Ok(worst(all.iter().map(swapped).chain([started])))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(heal(field, order))
    }
}
