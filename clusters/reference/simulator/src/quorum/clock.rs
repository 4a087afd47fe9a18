//! A node's clock: it never goes back, and it runs at a rate of its own.

use raft::Nanos;

use crate::Random;

/// The rate of a clock that is right: parts in a million.
const RIGHT: u64 = 1_000_000;

/// A clock.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    rate: u64,
    /// What it showed, and when.
    shown: Nanos,
    at: Nanos,
}

impl Clock {
    /// One that shows that now, and is right.
    pub(super) fn new(shown: Nanos) -> Self {
        Self {
            rate: RIGHT,
            shown,
            at: 0,
        }
    }

    /// What it shows.
    pub(super) fn read(&self, now: Nanos) -> Nanos {
        self.shown + (now - self.at) * self.rate / RIGHT
    }

    /// How long it takes until it shows that.
    pub(super) fn wait(&self, now: Nanos, shown: Nanos) -> Nanos {
        let left = shown.saturating_sub(self.read(now));
        // One more for what was rounded away in reading.
        left.saturating_mul(RIGHT) / self.rate + 2
    }

    fn run_at(&mut self, now: Nanos, rate: u64) {
        (self.shown, self.at) = (self.read(now), now);
        self.rate = rate;
    }

    /// A few in a hundred fast or slow.
    pub(super) fn drift(&mut self, now: Nanos, random: &mut Random) {
        self.run_at(now, random.between(RIGHT - RIGHT / 20, RIGHT + RIGHT / 20));
    }

    /// From half to twice as fast as it should be.
    pub(super) fn run_wild(&mut self, now: Nanos, random: &mut Random) {
        self.run_at(now, random.between(RIGHT / 2, 2 * RIGHT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_what_was_waited_for_and_never_goes_back() {
        let mut random = Random::new(1);
        let mut clock = Clock::new(77);
        let (mut now, mut last) = (0, 77);
        for _ in 0..200 {
            let wanted = clock.read(now) + random.below(50_000_000);
            now += clock.wait(now, wanted);
            assert!(clock.read(now) >= wanted.max(last));
            last = clock.read(now);
            clock.run_wild(now, &mut random);
            assert_eq!(clock.read(now), last);
        }
    }
}
