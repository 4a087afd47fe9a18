//! A radix tree of texts: all that they begin with, each once (Morrison's PATRICIA, 1968, a byte at a time).

use std::sync::Arc;

/// The tree. The empty text is always in it.
#[derive(Clone, Debug)]
pub(crate) struct Prefixes {
    nodes: Vec<Node>,
}

/// A stretch of a text: bytes from one length to another.
#[derive(Clone, Debug)]
struct Node {
    text: Arc<str>,
    from: usize,
    to: usize,
    below: Vec<u32>,
    /// The nodes below this one, this one included, are those numbered from `first` up to `last` in the tree's order.
    first: u32,
    last: u32,
}

/// A text that others begin with: its last node, and its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    node: u32,
    length: usize,
}

impl Default for Prefixes {
    fn default() -> Prefixes {
        let root = Node {
            text: "".into(),
            from: 0,
            to: 0,
            below: Vec::new(),
            first: 0,
            last: 0,
        };
        Prefixes { nodes: vec![root] }
    }
}

impl Prefixes {
    /// Of these texts.
    pub(crate) fn of<'a>(texts: impl Iterator<Item = &'a Arc<str>>) -> Prefixes {
        let mut tree = Prefixes::default();
        for text in texts {
            tree.insert(text);
        }
        tree.number();
        tree
    }

    // Numbers of nodes, and lengths within them, come from this tree alone: what they index is there.

    fn bytes(&self, node: u32, from: usize) -> &[u8] {
        let node = &self.nodes[node as usize];
        &node.text.as_bytes()[from..node.to]
    }

    fn below(&self, node: u32, byte: u8) -> Option<u32> {
        let begins = |below: &&u32| {
            let node = &self.nodes[**below as usize];
            node.text.as_bytes()[node.from] == byte
        };
        self.nodes[node as usize].below.iter().find(begins).copied()
    }

    /// As far as bytes lead from a place: there, and how many of them led there.
    fn follow(&self, from: Place, bytes: &[u8]) -> (Place, usize) {
        let mut place = from;
        let mut done = 0;
        loop {
            let stretch = self.bytes(place.node, place.length);
            let rest = &bytes[done..];
            let same = stretch.len().min(rest.len());
            // Comparing whole stretches is faster than byte by byte, and they are mostly equal.
            let same = match stretch[..same] == rest[..same] {
                true => same,
                false => stretch.iter().zip(rest).take_while(|(a, b)| a == b).count(),
            };
            place.length += same;
            done += same;
            let next = bytes.get(done).filter(|_| same == stretch.len());
            match next.and_then(|byte| self.below(place.node, *byte)) {
                Some(node) => place.node = node,
                None => return (place, done),
            }
        }
    }

    fn insert(&mut self, text: &Arc<str>) {
        let (place, done) = self.follow(Place::default(), text.as_bytes());
        if done == text.len() {
            return;
        }
        if place.length < self.nodes[place.node as usize].to {
            self.split(place);
        }
        let leaf = self.add(text.clone(), done, text.len());
        self.nodes[place.node as usize].below.push(leaf);
    }

    fn add(&mut self, text: Arc<str>, from: usize, to: usize) -> u32 {
        self.nodes.push(Node {
            text,
            from,
            to,
            below: Vec::new(),
            first: 0,
            last: 0,
        });
        self.nodes.len() as u32 - 1
    }

    /// Ends a node at a place within it; what lay beyond lies below.
    fn split(&mut self, place: Place) {
        let (text, to) = {
            let upper = &self.nodes[place.node as usize];
            (upper.text.clone(), upper.to)
        };
        let lower = self.add(text, place.length, to);
        let upper = &mut self.nodes[place.node as usize];
        upper.to = place.length;
        let below = std::mem::replace(&mut upper.below, vec![lower]);
        self.nodes[lower as usize].below = below;
    }

    /// Numbers the nodes in the tree's order.
    fn number(&mut self) {
        let mut open = vec![(0u32, 0usize)];
        let mut next = 0;
        while let Some((node, child)) = open.pop() {
            if child == 0 {
                self.nodes[node as usize].first = next;
                next += 1;
            }
            match self.nodes[node as usize].below.get(child).copied() {
                Some(below) => open.extend([(node, child + 1), (below, 0)]),
                None => self.nodes[node as usize].last = next - 1,
            }
        }
    }

    /// What a text leads to from a place; none where nothing in the tree begins so.
    pub(crate) fn walk(&self, from: Place, bytes: &[u8]) -> Option<Place> {
        let (place, done) = self.follow(from, bytes);
        (done == bytes.len()).then_some(place)
    }

    /// Where a text ends; none where nothing in the tree begins so.
    pub(crate) fn end(&self, text: &str) -> Option<Place> {
        self.walk(Place::default(), text.as_bytes())
    }

    /// Whether what ends at the second place begins with what ends at the first.
    pub(crate) fn leads(&self, from: Place, to: Place) -> bool {
        let (above, below) = (&self.nodes[from.node as usize], &self.nodes[to.node as usize]);
        from.length <= to.length && (above.first..=above.last).contains(&below.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_one_place_and_others_none() {
        let texts: Vec<Arc<str>> = ["abcd", "abxy", "ab", "q", "abcdef", "abxz"]
            .iter()
            .map(|text| (*text).into())
            .collect();
        let tree = Prefixes::of(texts.iter());
        let find = |text: &str| tree.end(text);
        for text in &texts {
            for length in 0..=text.len() {
                let (head, tail) = text.as_bytes().split_at(length);
                let middle = tree.walk(Place::default(), head).unwrap();
                assert_eq!(tree.walk(middle, tail), tree.end(text), "{text} at {length}");
                assert!(tree.leads(middle, tree.end(text).unwrap()));
                assert_eq!(tree.leads(tree.end(text).unwrap(), middle), length == text.len());
            }
        }
        for absent in ["b", "abd", "abcdefg", "qq", "abx0"] {
            assert_eq!(find(absent), None, "{absent}");
        }
        assert!(!tree.leads(find("abc").unwrap(), find("abxy").unwrap()));
        assert!(!tree.leads(find("abxy").unwrap(), find("abxz").unwrap()));
        assert!(tree.leads(find("").unwrap(), find("abxz").unwrap()));
    }
}
