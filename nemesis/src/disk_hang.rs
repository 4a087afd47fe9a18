//! Calls to a disk are not answered, until the fault is healed, the program killed or the power cut.

use crate::disks::{self, ACCEPTS, CALLS, MET, PATH, SEEN, SKIP, TIMES};
use crate::{About, Doing, Fault, Field, Measured, Order, Program};
use clusters::{Capability, DiskEffect};

/// The fault.
pub struct DiskHang;

/// What it is.
const ABOUT: About = About {
    name: "disk-hang",
    text: "calls to the disk are not answered: threads that make them stand still, and not even SIGKILL would end them; \
           where the run itself kills the node or cuts its power, the disk lets go of them",
    needs: Capability::Disk,
    params: &[CALLS, PATH, SKIP, TIMES],
    heals: "what hangs is done and answered, in the order in which it came",
    measures: &[
        MET,
        ("held_calls", "calls that hung, by then"),
        ("waiting_calls", "calls that still hung when it was healed"),
        SEEN,
        ACCEPTS,
    ],
    program: Program::StandsStill,
};

impl Fault for DiskHang {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        let rule = |_| disks::rule(order, DiskEffect::Hang);
        Box::pin(disks::inject(field, order, rule, "held_calls"))
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(disks::heal(field, order, |counts, _| {
            Measured::from([
                (MET.0.into(), counts.met as f64),
                ("held_calls".into(), counts.struck as f64),
                ("waiting_calls".into(), counts.waiting as f64),
            ])
        }))
    }
}
