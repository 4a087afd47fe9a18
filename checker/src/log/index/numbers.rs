//! From a whole number to its place in a list: a table where the numbers lie close together, a hash map otherwise.

use rustc_hash::FxHashMap;

/// No place.
pub(crate) const NONE: u32 = u32::MAX;

/// From each number of a list to its last place in it.
pub(crate) enum Numbers {
    /// Places by the distance from the least number.
    Table { least: i64, places: Vec<u32> },
    /// Places by number.
    Hashed(FxHashMap<i64, u32>),
}

impl Numbers {
    /// Indexes a list of fewer than 2^32 numbers, and tells whether one is in it twice.
    pub fn of(list: impl ExactSizeIterator<Item = i64> + Clone) -> (Numbers, bool) {
        let ends = list.clone().fold(None, |ends: Option<(i64, i64)>, number| {
            let (least, greatest) = ends.unwrap_or((number, number));
            Some((least.min(number), greatest.max(number)))
        });
        let Some((least, greatest)) = ends else {
            return (Numbers::Hashed(FxHashMap::default()), false);
        };
        let mut twice = false;
        if let Some(size) = super::table_size(least, greatest, list.len()) {
            let mut places = vec![NONE; size];
            for (place, number) in (0..).zip(list) {
                // Not out of bounds: the number is between the least and the greatest.
                let slot = &mut places[number.abs_diff(least) as usize];
                twice |= *slot != NONE;
                *slot = place;
            }
            return (Numbers::Table { least, places }, twice);
        }
        let mut hashed = FxHashMap::with_capacity_and_hasher(list.len(), Default::default());
        for (place, number) in (0..).zip(list) {
            twice |= hashed.insert(number, place).is_some();
        }
        (Numbers::Hashed(hashed), twice)
    }

    /// The last place of a number; [`NONE`] where it is not in the list.
    pub fn place(&self, number: i64) -> u32 {
        match self {
            Numbers::Table { least, places } => number
                .checked_sub(*least)
                .and_then(|slot| usize::try_from(slot).ok())
                .and_then(|slot| places.get(slot))
                .map_or(NONE, |place| *place),
            Numbers::Hashed(hashed) => hashed.get(&number).map_or(NONE, |place| *place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_and_scattered_numbers_are_found_alike() {
        for scale in [1, 1 << 40] {
            let list = [7 * scale, -3 * scale, 7 * scale, 0];
            let (numbers, twice) = Numbers::of(list.into_iter());
            assert!(twice);
            assert_eq!(numbers.place(7 * scale), 2);
            assert_eq!(numbers.place(-3 * scale), 1);
            assert_eq!(numbers.place(0), 3);
            for absent in [1, -4 * scale, 8 * scale, i64::MIN, i64::MAX] {
                assert_eq!(numbers.place(absent), NONE, "{absent}");
            }
            assert_eq!(matches!(numbers, Numbers::Table { .. }), scale == 1);
        }
    }

    #[test]
    fn the_ends_of_the_range_are_numbers_too() {
        let (numbers, twice) = Numbers::of([i64::MIN, i64::MAX].into_iter());
        assert!(!twice);
        assert_eq!((numbers.place(i64::MIN), numbers.place(i64::MAX)), (0, 1));
        assert_eq!(Numbers::of([].into_iter()).0.place(0), NONE);
    }
}
