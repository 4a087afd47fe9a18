//! A node's processes may open only so many files and sockets.

use crate::links::number;
use crate::{About, Doing, Fault, Field, Measured, Order, Param, Program, limits};
use clusters::{Capability, Limit, Resource};

/// The fault.
pub struct DescriptorLimit;

/// How many.
const COUNT: Param = number(
    "descriptors",
    "open files and sockets of each process; those that are open stay so, and the next open fails where they are more",
    (3.0, 1_048_576.0),
    128.0,
);

/// What it is.
const ABOUT: About = About {
    name: "descriptor-limit",
    text: "each of the node's processes may have only so many descriptors: past that no file opens and no connection is accepted (EMFILE)",
    needs: Capability::Resources(Resource::Descriptors),
    params: &[COUNT],
    heals: "each process has its former limit; the program accepts a connection",
    measures: &[
        ("processes", "processes of a node whose limit was read back"),
        (
            "accepts_ms",
            "from the heal until the program accepts a connection",
        ),
    ],
    program: Program::Restarts,
};

impl Fault for DescriptorLimit {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        // Within the bounds of the parameter, so small.
        let count = order.params.number(COUNT.name).round() as u64;
        Box::pin(limits::put_on(field, order, Limit::Descriptors { count }))
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(limits::lift(field, order, |_| Measured::new()))
    }
}
