//! Indexes over a partition's records: what stands where, without a vector up to the largest offset. Shared by the
//! rules for this project's own runs and those for foreign histories.

mod numbers;
mod version_order;

pub(crate) use numbers::{NONE, Numbers};
pub(crate) use version_order::{Pair, VersionOrder};

/// A table that is indexed by a range of whole numbers may have so many slots for each number that is in it; where
/// the range is wider, numbers are sorted or hashed. So memory goes with what a history holds.
const SLOTS_A_NUMBER: u64 = 8;
/// A table of this size is always small enough.
const SMALL_TABLE: u64 = 1024;

/// The size of a table from the least to the greatest of so many numbers; none where it would be mostly empty.
fn table_size(least: i64, greatest: i64, count: usize) -> Option<usize> {
    let size = greatest.abs_diff(least).checked_add(1)?;
    let limit = (count as u64)
        .saturating_mul(SLOTS_A_NUMBER)
        .saturating_add(SMALL_TABLE);
    (size <= limit).then(|| usize::try_from(size).ok()).flatten()
}
