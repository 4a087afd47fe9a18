//! The order of a partition's values: `log[k]` of the checks, with gaps between offsets left out.
//!
//! An offset's *index* is its rank among all offsets at which a value was seen, so neither a control record nor a
//! compacted stretch is a skip. Where an offset has several values the least stands for it, so that the same
//! history always has the same order; where a value stands at several offsets its index is the last of them.

use super::{NONE, Numbers, table_size};

/// A value at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pair {
    pub offset: i64,
    pub value: i64,
}

/// The values of a partition by offset. A value's *number* is the place of its last pair: it names the value, where
/// its index says where it stands.
pub(crate) struct VersionOrder {
    /// By offset, then value; each once.
    pairs: Vec<Pair>,
    /// From an offset to its index, where offsets lie close enough together for a table.
    table: Option<Numbers>,
    values: Numbers,
    /// What else is to know where an offset has several values, or a value several offsets.
    irregular: Option<Irregular>,
}

struct Irregular {
    /// The first pair of each index.
    starts: Vec<u32>,
    /// The index of each pair.
    indexes: Vec<u32>,
    /// By number: the first index at which the value stands.
    first: Vec<u32>,
    /// By number: the last index for which the value stands; [`NONE`] where others stand for all of its offsets.
    chosen: Vec<u32>,
}

impl VersionOrder {
    /// Orders what was seen: offsets, and the values there. Fewer than 2^32 of them.
    pub fn of(seen: impl Iterator<Item = Pair> + Clone) -> VersionOrder {
        let (pairs, table) = sorted(seen);
        let (values, twice) = Numbers::of(pairs.iter().map(|pair| pair.value));
        let crowded = pairs.windows(2).any(|two| two[0].offset == two[1].offset);
        let irregular = (twice || crowded).then(|| Irregular::of(&pairs, &values));
        // A table counts pairs; where an offset has several, those are no indexes.
        let table = table.filter(|_| !crowded);
        VersionOrder {
            pairs,
            table,
            values,
            irregular,
        }
    }

    /// How many pairs there are; numbers are below it.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// The number of a value; [`NONE`] where it stands nowhere. Quicker where it stands at the offset given.
    pub fn number(&self, offset: Option<i64>, value: i64) -> u32 {
        if self.irregular.is_none()
            && let Some(offset) = offset
        {
            let place = self.pair_at(offset);
            if self
                .pairs
                .get(place as usize)
                .is_some_and(|pair| pair.value == value)
            {
                return place;
            }
        }
        self.values.place(value)
    }

    /// The pair at an offset, in an order that is regular.
    fn pair_at(&self, offset: i64) -> u32 {
        match &self.table {
            Some(table) => table.place(offset),
            None => self
                .pairs
                .binary_search_by_key(&offset, |pair| pair.offset)
                .map_or(NONE, |place| place as u32),
        }
    }

    /// The index of the value with this number, or [`NONE`]; of no value, [`NONE`].
    pub fn index(&self, number: u32) -> u32 {
        match &self.irregular {
            Some(irregular) => irregular.chosen.get(number as usize).copied().unwrap_or(NONE),
            None => number,
        }
    }

    /// The number of the value that stands for each index, in order.
    pub fn chosen(&self) -> impl Iterator<Item = u32> {
        let regular = self.irregular.is_none().then_some(0..self.pairs.len() as u32);
        let starts = self.irregular.iter().flat_map(|irregular| &irregular.starts);
        let number = |start: &u32| self.values.place(self.pairs[*start as usize].value);
        regular.into_iter().flatten().chain(starts.map(number))
    }

    /// The first and the last index at which the value with this number stands.
    pub fn first_and_last(&self, number: u32) -> (u32, u32) {
        match &self.irregular {
            // A number is a place among the pairs.
            Some(irregular) => (
                irregular.first[number as usize],
                irregular.indexes[number as usize],
            ),
            None => (number, number),
        }
    }

    /// The pairs of each offset that has several values, with its index.
    pub fn inconsistent(&self) -> impl Iterator<Item = (usize, &[Pair])> {
        let starts = self.irregular.iter().flat_map(|irregular| &irregular.starts);
        let ends = starts.clone().skip(1).copied().chain([self.pairs.len() as u32]);
        let groups = starts
            .zip(ends)
            .map(|(start, end)| &self.pairs[*start as usize..end as usize]);
        groups.enumerate().filter(|(_, group)| group.len() > 1)
    }

    /// Each value that stands at several offsets, with them, by value.
    pub fn duplicates(&self) -> Vec<(i64, Vec<i64>)> {
        if self.irregular.is_none() {
            return Vec::new();
        }
        let mut by_value = self.pairs.clone();
        by_value.sort_unstable_by_key(|pair| (pair.value, pair.offset));
        by_value
            .chunk_by(|a, b| a.value == b.value)
            .filter(|group| group.len() > 1)
            .map(|group| (group[0].value, group.iter().map(|pair| pair.offset).collect()))
            .collect()
    }

    /// The values that stand for the offsets between two indexes.
    pub fn between(&self, from: u32, to: u32) -> impl Iterator<Item = i64> {
        (from.saturating_add(1)..to).filter_map(|index| {
            let pair = match &self.irregular {
                Some(irregular) => *irregular.starts.get(index as usize)?,
                None => index,
            };
            self.pairs.get(pair as usize).map(|pair| pair.value)
        })
    }

    /// Whether the pair is the last one of its value: its number.
    pub fn is_number(&self, pair: usize) -> bool {
        self.irregular.is_none() || self.values.place(self.pairs[pair].value) as usize == pair
    }
}

impl Irregular {
    fn of(pairs: &[Pair], values: &Numbers) -> Irregular {
        let mut starts: Vec<u32> = Vec::new();
        let mut indexes = Vec::with_capacity(pairs.len());
        let mut first = vec![NONE; pairs.len()];
        let mut chosen = vec![NONE; pairs.len()];
        for (place, pair) in pairs.iter().enumerate() {
            let number = values.place(pair.value) as usize;
            let opens = place == 0 || pairs[place - 1].offset != pair.offset;
            if opens {
                starts.push(place as u32);
            }
            let index = starts.len() as u32 - 1;
            if opens {
                chosen[number] = index;
            }
            if first[number] == NONE {
                first[number] = index;
            }
            indexes.push(index);
        }
        Irregular {
            starts,
            indexes,
            first,
            chosen,
        }
    }
}

/// The pairs, sorted, each once; and a table from offsets to pairs where that is not mostly empty.
fn sorted(seen: impl Iterator<Item = Pair> + Clone) -> (Vec<Pair>, Option<Numbers>) {
    let mut count = 0;
    let mut ends: Option<(i64, i64)> = None;
    for pair in seen.clone() {
        count += 1;
        let (least, greatest) = ends.unwrap_or((pair.offset, pair.offset));
        ends = Some((least.min(pair.offset), greatest.max(pair.offset)));
    }
    let Some((least, greatest)) = ends else {
        return (Vec::new(), None);
    };
    let Some(size) = table_size(least, greatest, count) else {
        let mut pairs: Vec<Pair> = seen.collect();
        pairs.sort_unstable();
        pairs.dedup();
        return (pairs, None);
    };
    let mut slots = vec![NONE; size];
    let mut met: Vec<Pair> = Vec::with_capacity(count.min(size));
    let mut others = Vec::new();
    for pair in seen {
        // Not out of bounds: the offset is between the least and the greatest.
        let slot = &mut slots[pair.offset.abs_diff(least) as usize];
        match met.get(*slot as usize) {
            None => {
                *slot = met.len() as u32;
                met.push(pair);
            }
            Some(first) if first.value != pair.value => others.push(pair),
            Some(_) => {}
        }
    }
    let in_order = met.windows(2).all(|two| two[0].offset < two[1].offset);
    if !in_order {
        let filled = slots.iter_mut().filter(|slot| **slot != NONE);
        met = (0..)
            .zip(filled)
            .map(|(rank, slot)| met[std::mem::replace(slot, rank) as usize])
            .collect();
    }
    if !others.is_empty() {
        met.append(&mut others);
        met.sort_unstable();
        met.dedup();
    }
    (met, Some(Numbers::Table { least, places: slots }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(seen: &[(i64, i64)]) -> VersionOrder {
        VersionOrder::of(seen.iter().map(|&(offset, value)| Pair { offset, value }))
    }

    #[test]
    fn gaps_do_not_count() {
        for scale in [1, 1 << 50] {
            let order = order(&[(9 * scale, 3), (0, 1), (4 * scale, 2), (4 * scale, 2)]);
            let index = |value| order.index(order.number(None, value));
            assert_eq!((index(1), index(2), index(3), index(4)), (0, 1, 2, NONE));
            assert_eq!(order.number(Some(4 * scale), 2), 1);
            assert_eq!(order.number(Some(5 * scale), 2), 1);
            assert!(order.inconsistent().next().is_none() && order.duplicates().is_empty());
            assert_eq!(order.between(0, 2).collect::<Vec<_>>(), [2]);
        }
    }

    #[test]
    fn several_values_and_several_offsets() {
        let order = order(&[(7, 20), (5, 11), (5, 10), (6, 10), (7, 11)]);
        let number = |value| order.number(None, value);
        // Value 10 stands for the offsets 5 and 6; value 11 stands for 7, where it is less than 20.
        assert_eq!(order.index(number(10)), 1);
        assert_eq!(order.index(number(11)), 2);
        assert_eq!(order.index(number(20)), NONE);
        assert_eq!(order.first_and_last(number(11)), (0, 2));
        assert_eq!(order.first_and_last(number(20)), (2, 2));
        let inconsistent: Vec<usize> = order.inconsistent().map(|(index, _)| index).collect();
        assert_eq!(inconsistent, [0, 2]);
        assert_eq!(order.duplicates(), [(10, vec![5, 6]), (11, vec![5, 7])]);
        assert_eq!(order.between(0, 2).collect::<Vec<_>>(), [10]);
    }
}
