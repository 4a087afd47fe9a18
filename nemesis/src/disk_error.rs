//! Calls to a node's disk fail.

use crate::disks::{self, ACCEPTS, CALLS, MET, PATH, SEEN, SKIP, TIMES};
use crate::{About, Doing, Fault, Field, Kind, Measured, Order, Param, Program};
use clusters::{Capability, DiskEffect, Errors};

/// The fault.
pub struct DiskError;

/// With what.
const ERROR: Param = Param {
    name: "error",
    text: "with what they fail: EIO, of a broken disk; or ENOSPC, though there is room (disk-full is honest about it)",
    kind: Kind::Word(&["io", "no-space"]),
};

/// What it is.
const ABOUT: About = About {
    name: "disk-error",
    text: "calls to the disk fail, once or lastingly, on all of it or on one of several log folders; what fails is not done",
    needs: Capability::Disk,
    params: &[CALLS, ERROR, PATH, SKIP, TIMES],
    heals: "calls are done as before; a program that ended by it is started again",
    measures: &[MET, ("failed_calls", "calls that failed"), SEEN, ACCEPTS],
    program: Program::Restarts,
};

impl Fault for DiskError {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        let errors = match order.params.text(ERROR.name) {
            "no-space" => Errors::NoSpace,
            _ => Errors::Io,
        };
        let rule = move |_| disks::rule(order, DiskEffect::Fail(errors));
        Box::pin(disks::inject(field, order, rule, "failed_calls"))
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(disks::heal(field, order, |counts, _| {
            Measured::from([
                (MET.0.into(), counts.met as f64),
                ("failed_calls".into(), counts.struck as f64),
            ])
        }))
    }
}
