//! Whether a map or set has something twice.

use crate::Value;

/// Up to so many, each is held against each: that is faster than sorting.
const FEW: usize = 16;

/// Whether two of these are equal.
pub(super) fn any_twice<'a>(values: impl Iterator<Item = &'a Value> + Clone) -> bool {
    let mut left = values.clone();
    if values.clone().nth(FEW).is_none() {
        while let Some(value) = left.next() {
            if left.clone().any(|other| other == value) {
                return true;
            }
        }
        return false;
    }
    let mut sorted: Vec<&Value> = values.collect();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| matches!(pair, [a, b] if a == b))
}
