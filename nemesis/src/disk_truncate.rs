//! The ends of files are missing when a node comes back.

use crate::disk_corrupt::{STRIPES, damaged, mended, stripe};
use crate::disks::{self, ACCEPTS};
use crate::links::number;
use crate::{About, Doing, Fault, Field, Kind, Measured, Order, Param, Program, ready, worst};
use clusters::{Capability, DiskEffect};

/// The fault.
pub struct DiskTruncate;

/// Where.
const PATH: Param = Param {
    name: "path",
    text: "only of this file or those in this folder of the node's disk; * stands for any part of one name; what is not \
           said is the logs of all partitions",
    kind: Kind::Text("*/*.log"),
};
/// How much.
const DROPPED: Param = number(
    "dropped_bytes",
    "how much of each file's end is missing; a shorter file is empty",
    (1.0, 1_048_576.0),
    64.0,
);
/// How many.
const FILES: Param = number("files", "of how many files, at most", (1.0, 64.0), 1.0);

/// What it is.
const ABOUT: About = About {
    name: "disk-truncate",
    text: "the node is turned off, all that it wrote is kept but the ends of some files, and it is turned on and started; \
           where files are shared out, it is by their paths, so that none is cut on two targets, and a target \
           without one in its share is only started again",
    needs: Capability::Disk,
    params: &[PATH, DROPPED, FILES, STRIPES],
    heals: "the node is turned off, files whose end is still where it was cut get it back, and it is turned on and started",
    measures: &[
        ("damaged_bytes", "bytes that are missing, on all nodes"),
        ("damaged_files", "files that miss them, on all nodes"),
        ("mended_bytes", "bytes that came back, the most of any node"),
        (
            "let_be_bytes",
            "bytes that did not, since their files were written to, the most of any node",
        ),
        ACCEPTS,
    ],
    program: Program::Restarts,
};

impl Fault for DiskTruncate {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let cluster = field.cluster;
            let mut index = 0;
            disks::while_off(cluster, order, |node| {
                let cut_off = DiskEffect::CutOff {
                    bytes: disks::count(order, DROPPED.name),
                    files: disks::count(order, FILES.name) as u32,
                    stripe: stripe(order, index),
                };
                let rule = disks::rule_on(order, cut_off);
                index += 1;
                cluster.set_disk_rule(node, order.id, rule)
            })?;
            let mut done = damaged(field, order, None, true)?;
            done.extend(ready::started(cluster, &order.nodes).await?);
            Ok(done)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let cluster = field.cluster;
            let all = disks::while_off(cluster, order, |node| cluster.clear_disk_rule(node, order.id))?;
            let all: Vec<Measured> = all.iter().map(mended).collect();
            let started = ready::started(cluster, &order.nodes).await?;
            Ok(worst(all.into_iter().chain([started])))
        })
    }
}
