//! Chance, from a seed.

/// Numbers that look random and repeat (Steele and others' SplitMix64): not for secrets.
#[derive(Debug)]
pub(crate) struct Draw(u64);

impl Draw {
    /// A stream of its own for each key, so that a draw in one shifts no other.
    pub(crate) fn new(seed: u64, key: u64) -> Draw {
        Draw(mixed(seed) ^ mixed(!key))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed(self.0)
    }

    /// A number below `n`; 0 where `n` is 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        // The bias is below n / 2^64.
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// True `of` times in 8.
    pub(crate) fn eighths(&mut self, of: u64) -> bool {
        self.below(8) < of
    }
}

fn mixed(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_keys_differ() {
        let of = |seed, key| {
            let mut draw = Draw::new(seed, key);
            (0..8).map(|_| draw.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(of(1, 2), of(1, 2));
        assert_ne!(of(1, 2), of(1, 3));
        assert_ne!(of(1, 2), of(2, 2));
        assert!(of(7, 7).iter().all(|n| *n < 1000));
        assert_eq!(Draw::new(0, 0).below(0), 0);
    }
}
