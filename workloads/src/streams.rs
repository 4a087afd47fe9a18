//! Streams of randomness, one a client.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The pause after a failure, in milliseconds: an outage must not flood the history, nor its end go unnoticed.
const BACK_OFF_MS: RangeInclusive<u64> = 20..=50;

/// The kinds of clients, as the upper half of a stream's number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    Producer = 1,
    Reader = 2,
    FinalReader = 3,
}

/// A stream of its own for each (role, number) of one seed.
pub(crate) struct Stream(ChaCha8Rng);

impl Stream {
    pub(crate) fn new(seed: u64, role: Role, number: u32) -> Stream {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream((role as u64) << 32 | u64::from(number));
        Stream(rng)
    }

    /// A number of the range, each as likely as the others (to within 2^-64 of the range's size).
    pub(crate) fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (low, high) = range.into_inner();
        let size = u128::from(high.saturating_sub(low)) + 1;
        low + ((u128::from(self.0.next_u64()) * size) >> 64) as u64
    }

    /// How long to wait after a failure.
    pub(crate) fn back_off(&mut self) -> Duration {
        Duration::from_millis(self.within(BACK_OFF_MS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ() {
        let draws = |seed, role, number| {
            let mut stream = Stream::new(seed, role, number);
            (0..8).map(|_| stream.within(0..=u64::MAX)).collect::<Vec<_>>()
        };
        assert_eq!(draws(7, Role::Producer, 1), draws(7, Role::Producer, 1));
        assert_ne!(draws(7, Role::Producer, 1), draws(7, Role::Producer, 2));
        assert_ne!(draws(7, Role::Producer, 1), draws(7, Role::Reader, 1));
        assert_ne!(draws(7, Role::Producer, 1), draws(8, Role::Producer, 1));
    }

    #[test]
    fn draws_stay_within_their_range() {
        let mut stream = Stream::new(1, Role::Reader, 0);
        let draws: Vec<u64> = (0..1000).map(|_| stream.within(3..=5)).collect();
        assert!((3..=5).all(|number| draws.contains(&number)));
        assert!(draws.iter().all(|draw| (3..=5).contains(draw)));
    }
}
