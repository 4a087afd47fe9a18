//! Partitions: which nodes hear each other no longer. Pure: nodes and a seed in, directed pairs out.
//!
//! A pair `(from, to)` means that what `from` sends does not reach `to`. Pairs come in no order that means anything,
//! each once, and never from a node to itself.

/// Directed pairs of nodes that are cut.
pub type Pairs = Vec<(i32, i32)>;

/// Each target is alone: cut from every other node, targets too, both ways.
pub fn isolate(targets: &[i32], all: &[i32]) -> Pairs {
    pairs(all, |from, to| targets.contains(&from) || targets.contains(&to))
}

/// The targets keep each other, and are cut from all the rest, both ways.
pub fn split(targets: &[i32], all: &[i32]) -> Pairs {
    pairs(all, |from, to| targets.contains(&from) != targets.contains(&to))
}

/// Two halves that do not hear each other; of an odd number the first is the smaller.
///
/// # Errors
/// Where there are fewer than two nodes.
pub fn halves(nodes: &[i32], seed: u64) -> Result<Pairs, String> {
    let shuffled = at_least(2, nodes, seed)?;
    Ok(split(&shuffled[..shuffled.len() / 2], nodes))
}

/// Each node hears a majority, itself included, and no two hear the same one: on a ring, its nearest neighbours. Of an
/// odd majority that is as many on either side, so both ends of a pair agree; of an even one a node may hear one that
/// does not hear it.
///
/// # Errors
/// Where there are fewer than three nodes.
pub fn majorities_ring(nodes: &[i32], seed: u64) -> Result<Pairs, String> {
    let ring = at_least(3, nodes, seed)?;
    let (length, others) = (ring.len(), ring.len() / 2);
    let (before, after) = (others / 2, others - others / 2);
    let mut cut = Vec::new();
    for (place, to) in ring.iter().enumerate() {
        for distance in 1..length {
            let heard = distance <= after || distance >= length - before;
            if !heard {
                cut.push((ring[(place + distance) % length], *to));
            }
        }
    }
    Ok(cut)
}

/// Two halves that do not hear each other, and one node between them that both hear.
///
/// # Errors
/// Where there are fewer than three nodes.
pub fn bridge(nodes: &[i32], seed: u64) -> Result<Pairs, String> {
    let shuffled = at_least(3, nodes, seed)?;
    halves(&shuffled[1..], seed)
}

/// All directed pairs of which something holds.
fn pairs(nodes: &[i32], of: impl Fn(i32, i32) -> bool) -> Pairs {
    let all = nodes.iter().flat_map(|from| nodes.iter().map(|to| (*from, *to)));
    all.filter(|(from, to)| from != to && of(*from, *to)).collect()
}

/// The nodes in the order that the seed gives them.
fn at_least(least: usize, nodes: &[i32], seed: u64) -> Result<Vec<i32>, String> {
    if nodes.len() < least {
        return Err(format!(
            "this shape takes {least} nodes at the least, and {} are targets",
            nodes.len()
        ));
    }
    let mut shuffled = nodes.to_vec();
    let mut state = seed;
    for place in (1..shuffled.len()).rev() {
        // Knuth's generator, of whose state the upper bits are used; the bias of a few nodes is of no account.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let other = (state >> 33) as usize % (place + 1);
        shuffled.swap(place, other);
    }
    Ok(shuffled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const FIVE: [i32; 5] = [0, 1, 2, 100, 101];

    /// Whom a node hears, itself included.
    fn heard(cut: &Pairs, nodes: &[i32], by: i32) -> BTreeSet<i32> {
        nodes
            .iter()
            .copied()
            .filter(|from| !cut.contains(&(*from, by)))
            .collect()
    }

    fn is_sound(cut: &Pairs) {
        assert!(cut.iter().all(|(from, to)| from != to));
        assert_eq!(
            cut.iter().collect::<BTreeSet<_>>().len(),
            cut.len(),
            "each once: {cut:?}"
        );
    }

    fn is_symmetric(cut: &Pairs) -> bool {
        cut.iter().all(|(from, to)| cut.contains(&(*to, *from)))
    }

    #[test]
    fn who_is_isolated_hears_and_is_heard_by_nobody() {
        let cut = isolate(&[0, 1], &FIVE);
        is_sound(&cut);
        assert!(is_symmetric(&cut));
        assert_eq!(heard(&cut, &FIVE, 0), [0].into());
        assert_eq!(heard(&cut, &FIVE, 1), [1].into());
        assert_eq!(heard(&cut, &FIVE, 2), [2, 100, 101].into());
    }

    #[test]
    fn who_is_split_off_keeps_company() {
        let cut = split(&[0, 1], &FIVE);
        is_sound(&cut);
        assert!(is_symmetric(&cut));
        assert_eq!(heard(&cut, &FIVE, 0), [0, 1].into());
        assert_eq!(heard(&cut, &FIVE, 100), [2, 100, 101].into());
    }

    #[test]
    fn halves_differ_by_one_at_most_and_by_the_seed() {
        let mut seen = BTreeSet::new();
        for seed in 0..50 {
            let cut = halves(&FIVE, seed).unwrap();
            is_sound(&cut);
            assert!(is_symmetric(&cut));
            let sizes: Vec<usize> = FIVE.iter().map(|node| heard(&cut, &FIVE, *node).len()).collect();
            assert_eq!(sizes.iter().filter(|size| **size == 2).count(), 2, "{sizes:?}");
            assert_eq!(sizes.iter().filter(|size| **size == 3).count(), 3, "{sizes:?}");
            assert_eq!(cut, halves(&FIVE, seed).unwrap());
            seen.insert(cut.into_iter().collect::<BTreeSet<_>>());
        }
        assert!(seen.len() >= 8, "of the ten ways that there are, {}", seen.len());
    }

    #[test]
    fn on_a_ring_everyone_hears_a_majority_and_no_two_the_same() {
        for size in 3..=9 {
            let nodes: Vec<i32> = (0..size).collect();
            for seed in 0..20 {
                let cut = majorities_ring(&nodes, seed).unwrap();
                is_sound(&cut);
                let all: BTreeSet<BTreeSet<i32>> =
                    nodes.iter().map(|node| heard(&cut, &nodes, *node)).collect();
                assert_eq!(all.len(), nodes.len(), "no two the same");
                assert!(all.iter().all(|heard| heard.len() == nodes.len() / 2 + 1));
                assert_eq!(is_symmetric(&cut), (size / 2) % 2 == 0, "{size} nodes");
            }
        }
    }

    #[test]
    fn a_bridge_is_heard_by_all_and_the_halves_hear_nothing_of_each_other() {
        for seed in 0..50 {
            let cut = bridge(&FIVE, seed).unwrap();
            is_sound(&cut);
            assert!(is_symmetric(&cut));
            let sizes: Vec<usize> = FIVE.iter().map(|node| heard(&cut, &FIVE, *node).len()).collect();
            assert_eq!(sizes.iter().filter(|size| **size == 5).count(), 1, "{sizes:?}");
            assert_eq!(sizes.iter().filter(|size| **size == 3).count(), 4, "{sizes:?}");
        }
    }

    #[test]
    fn too_few_nodes_are_refused() {
        assert!(halves(&[1], 0).is_err() && halves(&[1, 2], 0).is_ok());
        assert!(bridge(&[1, 2], 0).is_err() && bridge(&[1, 2, 3], 0).is_ok());
        assert!(majorities_ring(&[1, 2], 0).is_err() && majorities_ring(&[1, 2, 3], 0).is_ok());
    }
}
