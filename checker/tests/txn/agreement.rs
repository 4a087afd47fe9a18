//! The checker against literal ones, on small random histories.

use crate::literal::random::Random;
use crate::literal::txn::agree;

#[test]
fn lists_agree() {
    for seed in 0..6_000 {
        agree(true, &mut Random::new(seed)).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
}

#[test]
fn registers_agree() {
    for seed in 0..6_000 {
        agree(false, &mut Random::new(seed)).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
}
