//! Who is meant: roles and names resolved to nodes. The resolution is written into the history.

use crate::scenario::OTHERS;
use history::PartitionState;
use std::collections::BTreeMap;

/// The names that acts gave to nodes.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<String, i32>);

impl Names {
    /// Gives a node a name.
    pub fn give(&mut self, name: &str, node: i32) {
        self.0.insert(name.to_string(), node);
    }

    /// The replicas that no act named.
    fn others(&self, partition: &PartitionState) -> Vec<i32> {
        partition
            .replicas
            .iter()
            .copied()
            .filter(|id| !self.0.values().any(|named| named == id))
            .collect()
    }

    /// The nodes that a condition's names mean.
    ///
    /// # Errors
    /// The name that nobody has.
    pub fn set(&self, names: &[String], partition: &PartitionState) -> Result<Vec<i32>, String> {
        let mut nodes = Vec::new();
        for name in names {
            match self.0.get(name) {
                Some(node) => nodes.push(*node),
                None if name == OTHERS => nodes.extend(self.others(partition)),
                None => return Err(format!("nobody is named {name:?}")),
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        Ok(nodes)
    }

    /// The one node that an act's target means; of several, the `pick`-th.
    ///
    /// # Errors
    /// Why nobody is meant: the run's state has no such node.
    pub fn target(&self, target: &str, partition: &PartitionState, pick: u64) -> Result<i32, String> {
        if let Some(node) = self.0.get(target) {
            return Ok(*node);
        }
        let candidates = match target {
            "leader" => vec![partition.leader].into_iter().filter(|id| *id >= 0).collect(),
            "follower" => {
                let follows = |id: &i32| partition.isr.contains(id) && *id != partition.leader;
                partition.replicas.iter().copied().filter(follows).collect()
            }
            "last" => self.others(partition),
            _ => return Err(format!("nobody is named {target:?}")),
        };
        match (target, candidates.len() as u64) {
            (_, 0) => Err(format!(
                "there is no {target} now: leader {}, ISR {:?}",
                partition.leader, partition.isr
            )),
            ("last", 2..) => Err(format!("{candidates:?} are left, not one")),
            (_, n) => Ok(candidates[(pick % n) as usize]),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
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

    #[test]
    fn roles_mean_the_nodes_of_now() {
        let mut names = Names::default();
        let now = partition(&[0, 1, 2], 2);
        assert_eq!(names.target("leader", &now, 5), Ok(2));
        assert_eq!(names.target("follower", &now, 0), Ok(0));
        assert_eq!(names.target("follower", &now, 3), Ok(1));
        assert!(names.target("last", &now, 0).is_err());
        names.give("first", 0);
        names.give("second", 2);
        assert_eq!(names.target("last", &now, 0), Ok(1));
        assert_eq!(names.target("first", &now, 0), Ok(0));
        assert_eq!(
            names.set(&["others".into(), "first".into()], &now),
            Ok(vec![0, 1])
        );
        assert!(names.set(&["nobody".into()], &now).is_err());
        assert!(names.target("leader", &partition(&[], -1), 0).is_err());
    }
}
