//! A node's processes get no more memory than so much: past it the kernel kills.

use crate::links::number;
use crate::{About, Doing, Fault, Field, Measured, Order, Param, Program, limits};
use clusters::{Capability, Limit, Resource};

/// The fault.
pub struct MemoryLimit;

/// How much.
const MEMORY: Param = number(
    "memory_mib",
    "of what its processes take from now on, together; what they have is theirs until they start anew",
    (4.0, 1_048_576.0),
    256.0,
);

/// What it is.
const ABOUT: About = About {
    name: "memory-limit",
    text: "the node's processes get no more memory than so much; past it the kernel kills them (its out-of-memory killer)",
    needs: Capability::Resources(Resource::Memory),
    params: &[MEMORY],
    heals: "the limit's cgroup is taken away; a program that it has ended is started again, and accepts a connection",
    measures: &[
        (
            "processes",
            "processes of a node that the kernel has under the limit",
        ),
        ("memory_bytes", "what they had of it, at the heal"),
        ("refused_times", "how often they met the limit, until the heal"),
        (
            "accepts_ms",
            "from the heal until the program accepts a connection",
        ),
    ],
    program: Program::Restarts,
};

impl Fault for MemoryLimit {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        /// Bytes of a MiB.
        const MIB: f64 = (1 << 20) as f64;
        let bytes = (order.params.number(MEMORY.name) * MIB).round() as u64;
        Box::pin(limits::put_on(field, order, Limit::Memory { bytes }))
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(limits::lift(field, order, |seen| {
            Measured::from([
                ("memory_bytes".into(), seen.memory_bytes as f64),
                ("refused_times".into(), seen.memory_refused as f64),
            ])
        }))
    }
}
