//! Bits of what is at rest on a disk turn over.

use crate::disks::{self, ACCEPTS};
use crate::links::{number, ppm, share};
use crate::{About, Doing, Fault, Field, Kind, Measured, NotTaken, Order, Param, Program};
use clusters::{Capability, DiskEffect, DiskRuleCounts, Stripe};

/// The fault.
pub struct DiskCorrupt;

/// Where.
const PATH: Param = Param {
    name: "path",
    text: "only in this file or folder of the node's disk, and all that is in it; * stands for any part of one name; what \
           is not said is the logs of all partitions",
    kind: Kind::Text("*/*.log"),
};
/// How many chunks.
const CHUNKS: Param = share(
    "chunks_percent",
    "how many of its chunks are struck, one at least and 4096 at most",
    1.0,
);
/// How long a chunk is.
const CHUNK: Param = number("chunk_bytes", "how long a chunk is", (1.0, 1_048_576.0), 512.0);
/// How many bits.
const BITS: Param = number(
    "bits_per_chunk",
    "how many bits of a chunk turn over",
    (1.0, 8.0),
    1.0,
);
/// What is struck on several nodes.
pub(crate) const STRIPES: Param = Param {
    name: "stripes",
    text: "disjoint: the targets share the chunks out by their number in the file, so that none is bad on two of them; \
           or any: each node draws from all, so that data may be bad everywhere",
    kind: Kind::Word(&["disjoint", "any"]),
};

/// What it is.
const ABOUT: About = About {
    name: "disk-corrupt",
    text: "bits of files turn over at rest, without a word, and whoever reads meets them: the page cache is dropped; what is \
           not synced is written back first; of 64 files at most",
    needs: Capability::Disk,
    params: &[PATH, CHUNKS, CHUNK, BITS, STRIPES],
    heals: "every byte is as it was, but those that were written over meanwhile; a program that ended by it is started again",
    measures: &[
        ("struck_chunks", "chunks that were struck, on all nodes"),
        ("damaged_bytes", "bytes that were, on all nodes"),
        ("damaged_files", "files that were, on all nodes"),
        (
            "mended_bytes",
            "bytes that are as they were, the most of any node",
        ),
        (
            "let_be_bytes",
            "bytes that were written over meanwhile, the most of any node",
        ),
        ACCEPTS,
    ],
    program: Program::Restarts,
};

/// The stripe of one target.
pub(crate) fn stripe(order: &Order, index: u32) -> Stripe {
    match order.params.text(STRIPES.name) {
        "any" => Stripe::ALL,
        // A run has few nodes.
        _ => Stripe {
            index,
            of: order.nodes.len() as u32,
        },
    }
}

/// What was damaged, on all nodes together, and taken out again where one node's disk (or, where `any` will do, each)
/// has nothing that could be.
pub(crate) fn damaged(
    field: Field<'_>,
    order: &Order,
    chunks: Option<&str>,
    any: bool,
) -> Result<Measured, NotTaken> {
    let done = sum(field, order, chunks, any);
    if done.is_err() {
        for node in &order.nodes {
            // The first error says more.
            let _ = field.cluster.clear_disk_rule(*node, order.id);
        }
    }
    done
}

fn sum(field: Field<'_>, order: &Order, chunks: Option<&str>, any: bool) -> Result<Measured, NotTaken> {
    let mut sum = Measured::new();
    let counts = order
        .nodes
        .iter()
        .map(|node| field.cluster.disk_rule_counts(*node, order.id));
    let counts: Vec<DiskRuleCounts> = counts.collect::<Result<_, _>>()?;
    let some = any && counts.iter().any(|counts| counts.bytes > 0);
    for (node, counts) in order.nodes.iter().zip(counts) {
        if counts.bytes == 0 && !some {
            return Err(NotTaken::NotSeen(format!(
                "the disk of node {node} has nothing that could be damaged in its share of {:?}: name another path, \
                 smaller chunks, or stripes \"any\"",
                order.params.text(PATH.name)
            )));
        }
        let mut add = |quantity: &str, value: u64| *sum.entry(quantity.into()).or_default() += value as f64;
        if let Some(chunks) = chunks {
            add(chunks, counts.struck);
        }
        add("damaged_bytes", counts.bytes);
        add("damaged_files", counts.files);
    }
    Ok(sum)
}

/// What a heal has mended.
pub(crate) fn mended(mended: &clusters::Mended) -> Measured {
    Measured::from([
        ("mended_bytes".into(), mended.bytes as f64),
        ("let_be_bytes".into(), mended.let_be as f64),
    ])
}

impl Fault for DiskCorrupt {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        let flip = |index| DiskEffect::Flip {
            chunk_bytes: disks::count(order, CHUNK.name) as u32,
            share_ppm: ppm(order.params.number(CHUNKS.name)),
            bits: disks::count(order, BITS.name) as u32,
            stripe: stripe(order, index),
        };
        let rule = move |index| disks::rule_on(order, flip(index));
        Box::pin(async move {
            disks::put_in(field, order, rule, |_| true).await?;
            damaged(field, order, Some("struck_chunks"), false)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(disks::heal(field, order, |_, done| mended(done)))
    }
}
