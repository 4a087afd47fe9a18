//! A node's processes get a share of one processor, all together: a noisy neighbour, a throttled container.

use crate::links::number;
use crate::{About, Doing, Fault, Field, Measured, Order, Param, Program, limits};
use clusters::{Capability, Limit, Resource};

/// The fault.
pub struct CpuLimit;

/// How much.
const SHARE: Param = number(
    "share_percent",
    "of one processor, for all processes of the node together",
    (1.0, 1_000.0),
    10.0,
);

/// What it is.
const ABOUT: About = About {
    name: "cpu-limit",
    text: "the node's processes get only a share of one processor: having used it up they wait for the next tenth of a second",
    needs: Capability::Resources(Resource::Cpu),
    params: &[SHARE],
    heals: "the processes are taken out of the limit's cgroup, and the cgroup away; the program accepts a connection",
    measures: &[
        (
            "processes",
            "processes of a node that the kernel has under the limit",
        ),
        (
            "throttled_times",
            "how often they had used up their share, until the heal",
        ),
        (
            "throttled_ms",
            "how long they waited for it in all, until the heal",
        ),
        (
            "accepts_ms",
            "from the heal until the program accepts a connection",
        ),
    ],
    program: Program::GoesOn,
};

impl Fault for CpuLimit {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        // Within the bounds of the parameter, so whole and small.
        let permille = (order.params.number(SHARE.name) * 10.0).round() as u32;
        Box::pin(limits::put_on(field, order, Limit::Cpu { permille }))
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(limits::lift(field, order, |seen| {
            Measured::from([
                ("throttled_times".into(), seen.throttled as f64),
                ("throttled_ms".into(), seen.throttled_ns as f64 / 1e6),
            ])
        }))
    }
}
