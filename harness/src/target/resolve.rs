//! A target, resolved to nodes by the state of now.

use super::{HowMany, OTHERS, Part, Place, Set, Target};
use history::PartitionState;
use std::collections::{BTreeMap, BTreeSet};

/// What a target is resolved by.
pub struct World<'a> {
    /// The brokers' numbers.
    pub brokers: &'a [i32],
    /// The controllers' numbers.
    pub controllers: &'a [i32],
    /// Who leads the metadata quorum, where that is known.
    pub active_controller: Option<i32>,
    /// The state of a partition, where it has one.
    pub partition: &'a dyn Fn(&Place) -> Option<PartitionState>,
    /// Nodes that are not drawn where others are left: they have the same fault in already.
    pub taken: &'a BTreeSet<i32>,
}

/// The names that acts gave to nodes.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<String, Vec<i32>>);

impl Names {
    /// Gives nodes a name.
    pub fn give(&mut self, name: &str, nodes: &[i32]) {
        self.0.insert(name.to_string(), nodes.to_vec());
    }

    /// The replicas that no act named.
    fn others(&self, partition: &PartitionState) -> Vec<i32> {
        let named: BTreeSet<i32> = self.0.values().flatten().copied().collect();
        let replicas = partition.replicas.iter().copied();
        replicas.filter(|id| !named.contains(id)).collect()
    }

    /// The nodes that a condition's names mean.
    ///
    /// # Errors
    /// The name that nobody has.
    pub fn set(&self, names: &[String], partition: &PartitionState) -> Result<Vec<i32>, String> {
        let mut nodes = Vec::new();
        for name in names {
            match self.0.get(name) {
                Some(named) => nodes.extend(named),
                None if name == OTHERS => nodes.extend(self.others(partition)),
                None => match Target::parse(name) {
                    Ok(Target::Number(number)) => nodes.push(number),
                    _ => return Err(format!("nobody is named {name:?}")),
                },
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        Ok(nodes)
    }

    /// The nodes that an act's targets mean, each once, in rising order. What is drawn, `pick` draws.
    ///
    /// # Errors
    /// Why nobody is meant: the run's state has no such node.
    pub fn resolve(&self, targets: &[String], world: &World<'_>, pick: u64) -> Result<Vec<i32>, String> {
        let mut nodes = BTreeSet::new();
        for text in targets {
            match self.0.get(text) {
                Some(named) => nodes.extend(named.iter().copied()),
                None => nodes.extend(self.one(text, &Target::parse(text)?, world, pick)?),
            }
        }
        Ok(nodes.into_iter().collect())
    }

    fn one(&self, text: &str, target: &Target, world: &World<'_>, pick: u64) -> Result<Vec<i32>, String> {
        let partition = |place: &Place| {
            (world.partition)(place).ok_or_else(|| format!("{text}: {place} is not in the metadata log"))
        };
        let (set, how_many) = match target {
            Target::Number(number) => return Ok(vec![*number]),
            Target::ActiveController => {
                let nobody = || "nobody is known to lead the metadata quorum now".to_string();
                return world.active_controller.map(|id| vec![id]).ok_or_else(nobody);
            }
            Target::Leader(place) => {
                let state = partition(place)?;
                return if state.leader >= 0 {
                    Ok(vec![state.leader])
                } else {
                    Err(nobody(text, &state))
                };
            }
            Target::Last(place) => return self.last(text, &partition(place)?),
            Target::Of(set, how_many) => (set, *how_many),
        };
        let candidates = match set {
            Set::Brokers => world.brokers.to_vec(),
            Set::Controllers => world.controllers.to_vec(),
            Set::Nodes => world.brokers.iter().chain(world.controllers).copied().collect(),
            Set::Replicas(part, place) => {
                let state = partition(place)?;
                let candidates = replicas(*part, &state);
                if candidates.is_empty() {
                    return Err(nobody(text, &state));
                }
                candidates
            }
        };
        drawn(text, candidates, how_many, world.taken, pick)
    }

    /// The one replica that no act named, else the only member of the ISR.
    fn last(&self, text: &str, state: &PartitionState) -> Result<Vec<i32>, String> {
        let others = self.others(state);
        match (others.len(), &state.isr[..]) {
            (1, _) => Ok(others),
            (_, [only]) => Ok(vec![*only]),
            (0, _) => Err(nobody(text, state)),
            _ => Err(format!(
                "{text}: {others:?} are left, not one; the ISR is {:?}",
                state.isr
            )),
        }
    }
}

fn nobody(text: &str, state: &PartitionState) -> String {
    format!(
        "there is no {text} now: leader {}, ISR {:?}, ELR {:?}, replicas {:?}",
        state.leader, state.isr, state.elr, state.replicas
    )
}

fn replicas(part: Part, state: &PartitionState) -> Vec<i32> {
    let is_meant = |id: &i32| match part {
        Part::All => true,
        Part::Follower => state.isr.contains(id) && *id != state.leader,
        Part::InIsr => state.isr.contains(id),
        Part::OutOfIsr => !state.isr.contains(id),
        Part::InElr => state.elr.contains(id),
        Part::OutOfElr => !state.isr.contains(id) && !state.elr.contains(id),
    };
    state.replicas.iter().copied().filter(is_meant).collect()
}

/// So many of the candidates. How many is counted over all of them; those that have the fault already are left out of
/// the draw.
fn drawn(
    text: &str,
    candidates: Vec<i32>,
    how_many: HowMany,
    taken: &BTreeSet<i32>,
    pick: u64,
) -> Result<Vec<i32>, String> {
    if how_many == HowMany::All {
        return Ok(candidates);
    }
    let all = candidates.len();
    let mut free: Vec<i32> = candidates.into_iter().filter(|id| !taken.contains(id)).collect();
    let wanted = match how_many.of(all) {
        Some(wanted) => wanted,
        None if free.is_empty() => 1,
        None => 1 + (mixed(pick, 0) % free.len() as u64) as usize,
    };
    if wanted == 0 {
        return Err(format!("{text}: of {all} nodes that is none"));
    }
    if free.len() < wanted {
        return Err(format!(
            "{text}: {wanted} nodes are meant, and all but {free:?} have this fault already"
        ));
    }
    if wanted == 1 {
        return Ok(vec![free[(pick % free.len() as u64) as usize]]);
    }
    for i in 0..wanted {
        let j = i + (mixed(pick, i as u64 + 1) % (free.len() - i) as u64) as usize;
        free.swap(i, j);
    }
    free.truncate(wanted);
    Ok(free)
}

/// A number of the pick's and the draw's, well mixed (the finaliser of SplitMix64).
fn mixed(pick: u64, draw: u64) -> u64 {
    let mut z = pick
        .wrapping_add(draw.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use history::{Key, LogPlace};

    pub fn partition(isr: &[i32], leader: i32) -> PartitionState {
        PartitionState {
            key: Key {
                topic: "t".into(),
                id: "i".into(),
                partition: 0,
            },
            replicas: vec![2, 0, 1],
            isr: isr.to_vec(),
            elr: vec![],
            last_known_elr: vec![],
            leader,
            leader_epoch: 0,
            partition_epoch: 0,
            recovering: false,
            elects: false,
            at: LogPlace::of(0, 0),
        }
    }

    fn resolved(
        names: &Names,
        text: &str,
        now: &PartitionState,
        taken: &[i32],
        pick: u64,
    ) -> Result<Vec<i32>, String> {
        let of = |place: &Place| (*place != Place::Named("gone".into(), 0)).then(|| now.clone());
        let world = World {
            brokers: &[0, 1, 2],
            controllers: &[100, 101, 102],
            active_controller: (now.leader >= 0).then_some(101),
            partition: &of,
            taken: &taken.iter().copied().collect(),
        };
        names.resolve(&[text.to_string()], &world, pick)
    }

    #[test]
    fn roles_mean_the_nodes_of_now() {
        let mut names = Names::default();
        let now = partition(&[0, 1, 2], 2);
        let of = |names: &Names, text: &str, pick| resolved(names, text, &now, &[], pick);
        assert_eq!(of(&names, "leader", 5), Ok(vec![2]));
        assert_eq!(of(&names, "follower", 0), Ok(vec![0]));
        assert_eq!(of(&names, "follower", 3), Ok(vec![1]));
        assert_eq!(of(&names, "follower:all", 3), Ok(vec![0, 1]));
        assert_eq!(of(&names, "active-controller", 3), Ok(vec![101]));
        assert_eq!(of(&names, "102", 3), Ok(vec![102]));
        assert!(of(&names, "last", 0).is_err());
        assert!(of(&names, "out-of-isr", 0).is_err());
        assert!(of(&names, "leader:gone-0", 0).unwrap_err().contains("gone-0"));
        names.give("first", &[0]);
        names.give("second", &[2]);
        assert_eq!(of(&names, "last", 0), Ok(vec![1]));
        assert_eq!(of(&names, "first", 0), Ok(vec![0]));
        assert_eq!(
            names.set(&["others".into(), "first".into()], &now),
            Ok(vec![0, 1])
        );
        assert_eq!(names.set(&["2".into()], &now), Ok(vec![2]));
        assert!(names.set(&["nobody".into()], &now).is_err());
        let none = partition(&[], -1);
        for gone in ["leader", "active-controller"] {
            assert!(resolved(&names, gone, &none, &[], 0).is_err());
        }
        names.give("last", &[2]);
        assert_eq!(of(&names, "last", 0), Ok(vec![2]), "a name goes before a role");
    }

    #[test]
    fn isr_and_elr_part_the_replicas() {
        let mut now = partition(&[1], 1);
        now.elr = vec![2];
        let of = |text: &str| resolved(&Names::default(), text, &now, &[], 7);
        assert_eq!(of("in-isr:all"), Ok(vec![1]));
        assert_eq!(of("out-of-isr:all"), Ok(vec![0, 2]));
        assert_eq!(of("in-elr"), Ok(vec![2]));
        assert_eq!(of("out-of-elr:all"), Ok(vec![0]));
        assert_eq!(of("replicas:all"), Ok(vec![0, 1, 2]));
        assert_eq!(of("last"), Ok(vec![1]), "the only member of the ISR");
        assert!(of("follower").is_err());
    }

    #[test]
    fn so_many_are_drawn_and_every_subset_can_be() {
        let now = partition(&[0, 1, 2], 2);
        for (text, sizes, subsets) in [
            ("one", vec![1], 3),
            ("minority", vec![1], 3),
            ("controllers:majority", vec![2], 3),
            ("any", vec![1, 2, 3], 7),
            ("all", vec![3], 1),
            ("nodes:minority", vec![2], 15),
            ("nodes:majority", vec![4], 15),
        ] {
            let mut seen = BTreeSet::new();
            for pick in 0..2_000 {
                let nodes = resolved(&Names::default(), text, &now, &[], pick).unwrap();
                assert!(sizes.contains(&nodes.len()), "{text}: {nodes:?}");
                seen.insert(nodes);
            }
            assert_eq!(seen.len(), subsets, "{text}");
        }
    }

    #[test]
    fn who_has_the_fault_already_is_not_drawn_again() {
        let now = partition(&[0, 1, 2], 2);
        for pick in 0..20 {
            let of = |text: &str, taken: &[i32]| resolved(&Names::default(), text, &now, taken, pick);
            assert_eq!(of("one", &[0, 2]), Ok(vec![1]));
            assert_eq!(of("majority", &[1]), Ok(vec![0, 2]));
            assert!(of("majority", &[0, 1]).is_err());
            assert!(of("one", &[0, 1, 2]).is_err());
            assert!(of("any", &[0, 1, 2]).is_err());
        }
    }
}
