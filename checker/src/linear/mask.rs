//! Sets of slots: which operations of a window are meant. One machine word, two, or as many as it takes.

use std::hash::Hash;

/// A set of slots below a width that is fixed when it is made.
pub(crate) trait Mask: Clone + Eq + Hash + Send + Sync {
    /// The widest window that it holds.
    const MOST: usize;

    /// The empty set.
    fn empty(width: usize) -> Self;
    /// Whether a slot is in it.
    fn has(&self, slot: usize) -> bool;
    /// Puts a slot in.
    fn put(&mut self, slot: usize);
    /// Takes a slot out.
    fn cut(&mut self, slot: usize);
    /// Whether it is empty.
    fn is_empty(&self) -> bool;
    /// How many slots it has.
    fn count(&self) -> u32;
    /// What is in it but not in another.
    fn without(&self, other: &Self) -> Self;
    /// What is in either.
    fn or(&self, other: &Self) -> Self;
    /// Calls `visit` with each slot, ascending.
    fn each(&self, visit: impl FnMut(usize));
    /// Its bits, mixed.
    fn mixed(&self) -> u64;
    /// Bytes that it holds outside of itself.
    fn outside(&self) -> u64;

    /// Whether all of it is in another.
    fn within(&self, other: &Self) -> bool {
        self.without(other).is_empty()
    }
}

macro_rules! word {
    ($word:ty, $mix:expr) => {
        impl Mask for $word {
            const MOST: usize = <$word>::BITS as usize;

            #[inline(always)]
            fn empty(_: usize) -> Self {
                0
            }
            #[inline(always)]
            fn has(&self, slot: usize) -> bool {
                self >> slot & 1 == 1
            }
            #[inline(always)]
            fn put(&mut self, slot: usize) {
                *self |= 1 << slot;
            }
            #[inline(always)]
            fn cut(&mut self, slot: usize) {
                *self &= !(1 << slot);
            }
            #[inline(always)]
            fn is_empty(&self) -> bool {
                *self == 0
            }
            #[inline(always)]
            fn count(&self) -> u32 {
                self.count_ones()
            }
            #[inline(always)]
            fn without(&self, other: &Self) -> Self {
                self & !other
            }
            #[inline(always)]
            fn or(&self, other: &Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn each(&self, mut visit: impl FnMut(usize)) {
                let mut rest = *self;
                while rest != 0 {
                    visit(rest.trailing_zeros() as usize);
                    rest &= rest - 1;
                }
            }
            #[inline(always)]
            fn mixed(&self) -> u64 {
                $mix(*self)
            }
            fn outside(&self) -> u64 {
                0
            }
        }
    };
}

word!(u64, |bits: u64| bits
    .wrapping_mul(0x94D0_49BB_1331_11EB)
    .rotate_left(29));
word!(u128, |bits: u128| {
    let low = (bits as u64).wrapping_mul(0x94D0_49BB_1331_11EB).rotate_left(29);
    low ^ ((bits >> 64) as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93)
});

/// A window wider than two words.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Wide(Box<[u64]>);

impl Wide {
    fn zip(&self, other: &Wide, word: impl Fn(u64, u64) -> u64) -> Wide {
        Wide(self.0.iter().zip(&other.0).map(|(a, b)| word(*a, *b)).collect())
    }
}

// Slots are below the width, so that their words exist.
impl Mask for Wide {
    const MOST: usize = usize::MAX;

    fn empty(width: usize) -> Self {
        Wide(vec![0; width.div_ceil(64)].into())
    }
    fn has(&self, slot: usize) -> bool {
        self.0[slot / 64] >> (slot % 64) & 1 == 1
    }
    fn put(&mut self, slot: usize) {
        self.0[slot / 64] |= 1 << (slot % 64);
    }
    fn cut(&mut self, slot: usize) {
        self.0[slot / 64] &= !(1 << (slot % 64));
    }
    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }
    fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
    fn without(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }
    fn or(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b)
    }
    fn each(&self, mut visit: impl FnMut(usize)) {
        for (place, word) in self.0.iter().enumerate() {
            word.each(|slot| visit(place * 64 + slot));
        }
    }
    fn mixed(&self) -> u64 {
        self.0.iter().fold(0, |mixed: u64, word| {
            (mixed.rotate_left(5) ^ word).wrapping_mul(0x94D0_49BB_1331_11EB)
        })
    }
    fn outside(&self) -> u64 {
        self.0.len() as u64 * 8
    }
}
