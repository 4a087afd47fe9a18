//! The searches. Each is a machine that runs for a slice and can be run on.

pub(crate) mod seen;
pub(crate) mod states;
pub(crate) mod window;

use super::limits::Limits;

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// An order of all operations.
    Order,
    /// That there is none: no order of what came before takes in the operation that completes at this event.
    Stuck {
        /// The place among the events.
        event: usize,
    },
}

/// A search.
pub(crate) trait Search: Send {
    /// Runs on; none where the slice was over first.
    fn run(&mut self, limits: &Limits<'_>) -> Option<Found>;

    /// Bytes that it holds.
    fn bytes(&self) -> u64;

    /// The order that it found, or is at.
    fn order(&self) -> Vec<usize>;
}
