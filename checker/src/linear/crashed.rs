//! Which pending operations a search has used: how many of each kind, not which ones. Equal pending operations are
//! interchangeable once they are invoked, so that k of them give k + 1 choices, not 2^k.

use rustc_hash::FxHashMap;

/// Multisets of kinds, each held once. The empty one is number 0.
pub(crate) struct Multisets {
    held: Vec<Box<[(u32, u32)]>>,
    by_content: FxHashMap<Box<[(u32, u32)]>, u32>,
    after: FxHashMap<(u32, u32), u32>,
    bytes: u64,
}

/// The multiset that nothing is in.
pub(crate) const NONE_USED: u32 = 0;

impl Multisets {
    pub(crate) fn new() -> Multisets {
        Multisets {
            held: vec![Box::default()],
            by_content: FxHashMap::from_iter([(Box::default(), NONE_USED)]),
            after: FxHashMap::default(),
            bytes: 0,
        }
    }

    /// How many of a kind are in one.
    pub(crate) fn count(&self, set: u32, kind: u32) -> u32 {
        let content = &self.held[set as usize];
        content
            .binary_search_by_key(&kind, |(kind, _)| *kind)
            .map_or(0, |place| content[place].1)
    }

    /// One with one more of a kind.
    pub(crate) fn with(&mut self, set: u32, kind: u32) -> u32 {
        if let Some(known) = self.after.get(&(set, kind)) {
            return *known;
        }
        let mut content = self.held[set as usize].to_vec();
        match content.binary_search_by_key(&kind, |(kind, _)| *kind) {
            Ok(place) => content[place].1 += 1,
            Err(place) => content.insert(place, (kind, 1)),
        }
        let content: Box<[(u32, u32)]> = content.into();
        let number = *self.by_content.entry(content.clone()).or_insert_with(|| {
            // Twice the content, a slot in each map, and the number.
            self.bytes += content.len() as u64 * 16 + 80;
            self.held.push(content);
            self.held.len() as u32 - 1
        });
        self.after.insert((set, kind), number);
        number
    }

    /// Whether one is part of another.
    pub(crate) fn within(&self, small: u32, large: u32) -> bool {
        if small == large || small == NONE_USED {
            return true;
        }
        let (small, large) = (&self.held[small as usize], &self.held[large as usize]);
        let mut rest = large.iter();
        small
            .iter()
            .all(|(kind, count)| rest.any(|(other, most)| other == kind && most >= count))
    }

    /// Bytes that all of them hold, about.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_use_does_not_matter() {
        let mut sets = Multisets::new();
        let (seven, nine) = (sets.with(NONE_USED, 7), sets.with(NONE_USED, 9));
        let both = sets.with(seven, 9);
        assert_eq!(both, sets.with(nine, 7));
        assert_eq!(sets.count(both, 7), 1);
        assert_eq!(sets.count(both, 8), 0);
        let two = sets.with(both, 9);
        assert!(sets.within(nine, two) && sets.within(both, two) && sets.within(NONE_USED, two));
        assert!(!sets.within(two, both) && !sets.within(seven, nine));
    }
}
