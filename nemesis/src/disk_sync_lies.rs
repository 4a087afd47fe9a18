//! Syncs are answered well, and nothing is durable by them: a disk whose cache forgets.

use crate::disks::{self, ACCEPTS, MET, PATH, SEEN, SKIP, TIMES};
use crate::{About, Doing, Fault, Field, Measured, Order, Program};
use clusters::{Capability, DiskEffect, DiskRule};

/// The fault.
pub struct DiskSyncLies;

/// What it is.
const ABOUT: About = About {
    name: "disk-sync-lies",
    text: "syncs are answered well and nothing is durable by them, as by a disk that loses its cache; what is older than \
           30 s (names: 5 s) is written back all the same, and a power-cut takes the rest",
    needs: Capability::Disk,
    params: &[PATH, SKIP, TIMES],
    heals: "a sync is a sync again, and saves what the lies left out",
    measures: &[MET, ("lied_calls", "syncs that were lied to"), SEEN, ACCEPTS],
    program: Program::GoesOn,
};

impl Fault for DiskSyncLies {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        let rule = |_| DiskRule {
            skip: disks::count(order, SKIP.name),
            times: disks::times(order),
            ..disks::rule_on(order, DiskEffect::LieAboutSyncs)
        };
        Box::pin(disks::inject(field, order, rule, "lied_calls"))
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(disks::heal(field, order, |counts, _| {
            Measured::from([
                (MET.0.into(), counts.met as f64),
                ("lied_calls".into(), counts.struck as f64),
            ])
        }))
    }
}
