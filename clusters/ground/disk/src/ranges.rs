//! A set of bytes, as disjoint ranges that do not touch.
use std::collections::BTreeMap;

/// Half-open ranges of byte offsets; neighbours are merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds `[from, to)`.
    pub fn add(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        let (mut from, mut to) = (from, to);
        // Whatever overlaps or touches is swallowed, last first; an append meets one neighbour.
        while let Some((&a, &z)) = self.0.range(..=to).next_back() {
            if z < from {
                break;
            }
            self.0.remove(&a);
            from = from.min(a);
            to = to.max(z);
        }
        self.0.insert(from, to);
    }

    /// One range.
    pub fn of(from: u64, to: u64) -> Ranges {
        let mut one = Ranges::default();
        one.add(from, to);
        one
    }

    /// Removes `[from, to)`.
    pub fn remove(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        while let Some((&a, &z)) = self.0.range(..to).next_back() {
            if z <= from {
                break;
            }
            self.0.remove(&a);
            if z > to {
                self.0.insert(to, z);
            }
            if a < from {
                self.0.insert(a, from);
            }
        }
    }

    /// What is in this set and in `[from, to)`.
    pub fn within(&self, from: u64, to: u64) -> Ranges {
        let mut part = self.clone();
        part.cut_off(to);
        part.remove(0, from);
        part
    }

    /// What is in this set and in the other.
    pub fn and(&self, other: &Ranges) -> Ranges {
        let (mut ours, mut theirs) = (self.iter().peekable(), other.iter().peekable());
        let mut both = Ranges::default();
        while let (Some(&(a, z)), Some(&(b, y))) = (ours.peek(), theirs.peek()) {
            both.add(a.max(b), z.min(y));
            if z <= y {
                ours.next()
            } else {
                theirs.next()
            };
        }
        both
    }

    /// What is in this set and not in the other.
    pub fn but(&self, other: &Ranges) -> Ranges {
        let mut rest = self.clone();
        for (from, to) in other.iter() {
            rest.remove(from, to);
        }
        rest
    }

    /// The offset after the last byte; 0 where there is none.
    pub fn end(&self) -> u64 {
        self.0.last_key_value().map_or(0, |(_, z)| *z)
    }

    /// Removes everything at and after `at`.
    pub fn cut_off(&mut self, at: u64) {
        self.0.split_off(&at);
        if let Some((_, z)) = self.0.iter_mut().next_back() {
            *z = (*z).min(at);
        }
    }

    /// The ranges, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(a, z)| (*a, *z))
    }

    /// How many ranges there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no byte is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many bytes are in the set.
    pub fn bytes(&self) -> u64 {
        self.iter().map(|(a, z)| z - a).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(u64, u64)]) -> Ranges {
        let mut r = Ranges::default();
        pairs.iter().for_each(|(a, z)| r.add(*a, *z));
        r
    }

    #[test]
    fn appends_become_one_range() {
        assert_eq!(
            of(&[(0, 4), (4, 9), (9, 10)]).iter().collect::<Vec<_>>(),
            [(0, 10)]
        );
    }

    #[test]
    fn gaps_stay_gaps() {
        let r = of(&[(0, 4), (5, 9)]);
        assert_eq!((r.len(), r.bytes()), (2, 8));
    }

    #[test]
    fn a_bridge_joins_what_it_touches() {
        assert_eq!(
            of(&[(0, 2), (8, 10), (4, 6), (2, 8)]).iter().collect::<Vec<_>>(),
            [(0, 10)]
        );
    }

    #[test]
    fn empty_adds_nothing() {
        assert!(of(&[(3, 3)]).is_empty());
    }

    #[test]
    fn removing_splits_and_trims() {
        let mut r = of(&[(0, 10), (20, 30), (40, 50)]);
        r.remove(5, 7);
        r.remove(25, 45);
        r.remove(60, 70);
        r.remove(3, 3);
        let left: Vec<_> = r.iter().collect();
        assert_eq!(left, [(0, 5), (7, 10), (20, 25), (45, 50)]);
        assert_eq!(r.within(8, 47), of(&[(8, 10), (20, 25), (45, 47)]));
        assert_eq!((r.end(), Ranges::default().end()), (50, 0));
    }

    #[test]
    fn both_and_rest_are_the_whole() {
        let (a, b) = (of(&[(0, 10), (20, 30)]), of(&[(5, 22), (29, 40)]));
        assert_eq!(a.and(&b), of(&[(5, 10), (20, 22), (29, 30)]));
        assert_eq!(a.but(&b), of(&[(0, 5), (22, 29)]));
        assert_eq!(a.and(&b).bytes() + a.but(&b).bytes(), a.bytes());
    }

    #[test]
    fn cutting_off_trims_the_last() {
        let mut r = of(&[(0, 4), (6, 9), (12, 14)]);
        r.cut_off(7);
        assert_eq!(r.iter().collect::<Vec<_>>(), [(0, 4), (6, 7)]);
        r.cut_off(4);
        assert_eq!(r.iter().collect::<Vec<_>>(), [(0, 4)]);
        r.cut_off(0);
        assert!(r.is_empty());
    }
}
