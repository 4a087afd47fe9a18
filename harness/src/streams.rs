//! One seed, one named stream of randomness for each consumer: a new draw in one shifts no other.

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// Who draws. The numbers are part of what a seed means: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The plan.
    Plan = 1,
    /// What faults draw by chance.
    Faults = 2,
}

/// The stream of this name under this seed.
pub fn stream(seed: u64, stream: Stream) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream as u64);
    random
}
