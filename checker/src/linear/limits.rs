//! When a search pauses or gives up.

use crate::Budget;
use std::sync::atomic::{AtomicBool, Ordering};

/// How far a search may go in one slice.
pub(crate) struct Limits<'a> {
    /// Steps.
    pub(crate) steps: u64,
    /// Bytes that it may hold.
    pub(crate) memory: u64,
    /// Time, and all memory.
    pub(crate) budget: &'a Budget,
    /// Set where somebody else has the answer.
    pub(crate) stop: &'a AtomicBool,
}

/// Steps between two looks at the clock.
const STRIDE: u32 = 1024;

/// Counts a slice's steps.
pub(crate) struct Meter<'a> {
    limits: &'a Limits<'a>,
    left: u64,
    until_look: u32,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(limits: &'a Limits<'a>) -> Meter<'a> {
        Meter {
            limits,
            left: limits.steps,
            until_look: STRIDE,
        }
    }

    /// Counts a step. Whether the slice is over.
    #[inline(always)]
    pub(crate) fn step(&mut self) -> bool {
        self.steps(1)
    }

    /// Counts what takes as long as so many steps. Whether the slice is over.
    #[inline(always)]
    pub(crate) fn steps(&mut self, steps: u32) -> bool {
        let steps = steps.min(STRIDE);
        self.left = self.left.saturating_sub(u64::from(steps));
        self.until_look = self.until_look.saturating_sub(steps);
        self.left == 0 || (self.until_look == 0 && self.look())
    }

    #[cold]
    fn look(&mut self) -> bool {
        self.until_look = STRIDE;
        self.limits.stop.load(Ordering::Relaxed) || self.limits.budget.spent().is_some()
    }
}
