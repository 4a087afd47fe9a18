//! A disk is full: what would take more room fails, all else goes on, and removals make room.

use crate::disks::{self, ACCEPTS, MET, MIB, PATH, SEEN};
use crate::links::number;
use crate::{About, Doing, Fault, Field, Measured, Order, Param, Program};
use clusters::{Capability, DiskEffect, DiskRuleCounts};

/// The fault.
pub struct DiskFull;

/// How much is left.
const ROOM: Param = number(
    "room_mib",
    "so much room is left when it begins; what is removed or cut short adds to it",
    (0.0, 1_048_576.0),
    0.0,
);

/// What it is.
const ABOUT: About = About {
    name: "disk-full",
    text: "the disk is full: writes that would lengthen a file fail with ENOSPC; reads go on, so do writes over what is \
           there, and removals make room",
    needs: Capability::Disk,
    params: &[ROOM, PATH],
    heals: "there is room again; a program that ended by it is started again",
    measures: &[
        MET,
        (
            "failed_calls",
            "calls that found no room; with room left when it begins, none may have by then",
        ),
        ("room_bytes", "room that was left, the most of any node"),
        SEEN,
        ACCEPTS,
    ],
    program: Program::Restarts,
};

impl Fault for DiskFull {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        let room_bytes = (order.params.number(ROOM.name) * MIB).round() as u64;
        let rule = move |_| disks::rule_on(order, DiskEffect::Full { room_bytes });
        // With room left it has taken once room is counted.
        let took = move |counts: &DiskRuleCounts| counts.struck > 0 || (room_bytes > 0 && counts.met > 0);
        Box::pin(async move {
            let (counts, seen_ms) = disks::put_in(field, order, rule, took).await?;
            let mut measured = crate::worst(counts.iter().map(measured));
            measured.insert(SEEN.0.into(), seen_ms);
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(disks::heal(field, order, |counts, _| measured(counts)))
    }
}

fn measured(counts: &DiskRuleCounts) -> Measured {
    Measured::from([
        (MET.0.into(), counts.met as f64),
        ("failed_calls".into(), counts.struck as f64),
        ("room_bytes".into(), counts.room_bytes as f64),
    ])
}
