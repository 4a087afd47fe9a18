//! Edges to all who sent within a range of a partition's order, without one edge for each: a binary tree of joints, of
//! which every range is a few.

use crate::txn::cycle::EdgeKind;
use crate::txn::graph::GraphBuilder;
use std::ops::Range;

/// The tree: levels from the writers up, each half as long as the one below.
pub(super) struct Ranges {
    /// Who leads to the writers below: at the lowest level the writers themselves.
    levels: Vec<Vec<Option<u32>>>,
}

impl Ranges {
    /// Of the writers by index.
    pub fn new(writers: &[Option<u32>], graph: &mut GraphBuilder) -> Ranges {
        let mut levels = vec![writers.to_vec()];
        while let Some(below) = levels.last().filter(|below| below.len() > 1) {
            let level = below.chunks(2).map(|pair| join(pair, graph)).collect();
            levels.push(level);
        }
        Ranges { levels }
    }

    /// Adds an edge from an operation to each writer in a range of indexes.
    pub fn edges(&self, from: u32, range: Range<usize>, kind: EdgeKind, graph: &mut GraphBuilder) {
        let Range { mut start, mut end } = range;
        for level in &self.levels {
            if start >= end {
                return;
            }
            let mut edge = |place: usize| {
                if let Some(Some(to)) = level.get(place) {
                    graph.edge(from, *to, kind);
                }
            };
            // What is no whole pair is taken here, the rest one level up.
            if start % 2 == 1 {
                edge(start);
                start += 1;
            }
            if end % 2 == 1 && start < end {
                end -= 1;
                edge(end);
            }
            (start, end) = (start / 2, end / 2);
        }
    }
}

/// One that leads to both; where there is only one, that one.
fn join(pair: &[Option<u32>], graph: &mut GraphBuilder) -> Option<u32> {
    match *pair {
        [Some(one), Some(other)] if one != other => {
            let joint = graph.joint();
            graph.onward(joint, one);
            graph.onward(joint, other);
            Some(joint)
        }
        [one, None] | [None, one] | [one, Some(_)] | [one] => one,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_range_leads_to_its_writers_and_to_no_others() {
        let writers = [
            Some(1),
            None,
            Some(2),
            Some(3),
            Some(3),
            None,
            Some(1),
            Some(4),
            Some(5),
        ];
        for length in 0..=writers.len() {
            for start in 0..=length {
                for end in start..=length {
                    let mut builder = GraphBuilder::new(6);
                    let ranges = Ranges::new(&writers[..length], &mut builder);
                    ranges.edges(0, start..end, EdgeKind::Rw, &mut builder);
                    let graph = builder.build();
                    let (mut met, mut next) = (vec![0], 0);
                    while let Some(node) = met.get(next) {
                        next += 1;
                        met.extend(graph.edges(*node).map(|(to, _)| to).collect::<Vec<_>>());
                    }
                    let met: BTreeSet<u32> = met[1..].iter().copied().filter(|node| *node < 6).collect();
                    let expected: BTreeSet<u32> = writers[start..end].iter().flatten().copied().collect();
                    assert_eq!(met, expected, "{start}..{end} of {length}");
                }
            }
        }
    }
}
