//! A stream of draws from a seed (splitmix64): the same seed, the same draws, on every machine.

/// The stream.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// A draw brought evenly below a bound; 0 where that is 0.
pub fn below(draw: u64, bound: u64) -> u64 {
    // The upper half of the product; it is below `bound`.
    ((u128::from(draw) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_stream_and_another_has_its_own() {
        let stream = |seed| {
            let mut random = Random::new(seed);
            [(); 8].map(|()| random.draw())
        };
        assert_eq!(stream(7), stream(7));
        assert_ne!(stream(7), stream(8));
    }

    #[test]
    fn draws_below_a_bound_reach_all_of_it_and_no_more() {
        let mut random = Random::new(1);
        let mut seen = [0u32; 5];
        for _ in 0..10_000 {
            seen[below(random.draw(), 5) as usize] += 1;
        }
        assert!(seen.iter().all(|n| (1800..2200).contains(n)), "{seen:?}");
        assert_eq!(below(u64::MAX, 0), 0);
    }
}
