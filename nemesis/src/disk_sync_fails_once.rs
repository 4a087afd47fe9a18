//! A sync fails once, and the next ones succeed though the pages are gone: what a Linux kernel makes of a failed write.

use crate::disks::{self, ACCEPTS, MET, PATH, SEEN, SKIP};
use crate::links::number;
use crate::{About, Doing, Fault, Field, Measured, Order, Param, Program};
use clusters::{Capability, DiskEffect, DiskRule};

/// The fault.
pub struct DiskSyncFailsOnce;

/// How often.
const FAILURES: Param = number(
    "times",
    "so many syncs fail on each node; those after them succeed",
    (1.0, 1e6),
    1.0,
);

/// What it is.
const ABOUT: About = About {
    name: "disk-sync-fails-once",
    text: "a sync fails with EIO, and the ones after it succeed, though what was not synced of that file is never saved \
           unless it is written again: reads show it, out of the page cache, until the power goes (a power-cut shows the loss)",
    needs: Capability::Disk,
    params: &[PATH, SKIP, FAILURES],
    heals: "no more syncs fail; the pages that are gone stay gone, since nobody has them but the page cache",
    measures: &[
        MET,
        ("failed_calls", "syncs that failed"),
        (
            "gone_bytes",
            "bytes that were not synced then, the most of any node",
        ),
        SEEN,
        ACCEPTS,
    ],
    program: Program::Restarts,
};

impl Fault for DiskSyncFailsOnce {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        let rule = |_| DiskRule {
            skip: disks::count(order, SKIP.name),
            times: Some(disks::count(order, FAILURES.name)),
            ..disks::rule_on(order, DiskEffect::LosePages)
        };
        Box::pin(async move {
            let (counts, seen_ms) = disks::put_in(field, order, rule, |counts| counts.struck > 0).await?;
            let mut measured = crate::worst(counts.iter().map(measured));
            measured.insert(SEEN.0.into(), seen_ms);
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(disks::heal(field, order, |counts, _| measured(counts)))
    }
}

fn measured(counts: &clusters::DiskRuleCounts) -> Measured {
    Measured::from([
        (MET.0.into(), counts.met as f64),
        ("failed_calls".into(), counts.struck as f64),
        ("gone_bytes".into(), counts.bytes as f64),
    ])
}
