//! Whether a state is reached, and if not, what is missing.

use crate::scenario::{Condition, Count};
use crate::target::Names;
use client::observer::ClusterView;
use history::PartitionState;

/// What a condition is judged by.
pub struct Now<'a> {
    /// The committed metadata.
    pub view: &'a ClusterView,
    /// The partition under load.
    pub partition: &'a PartitionState,
    /// Names given so far.
    pub names: &'a Names,
    /// Acknowledgements since the count began.
    pub acks: u64,
}

/// The first thing that a condition lacks; none where it holds.
pub fn lacks(condition: &Condition, now: &Now<'_>) -> Option<String> {
    set_is(condition, now)
        .or_else(|| leader_is(condition, now))
        .or_else(|| fencing_is(condition, now))
        .or_else(|| acks_are(condition, now))
}

fn set_is(condition: &Condition, now: &Now<'_>) -> Option<String> {
    let isr = sorted(&now.partition.isr);
    if let Some(size) = condition.isr_size
        && isr.len() != size
    {
        return Some(format!("the ISR is {isr:?}, {size} members are waited for"));
    }
    let wanted = match now.names.set(condition.isr.as_ref()?, now.partition) {
        Ok(wanted) => wanted,
        Err(why) => return Some(why),
    };
    (isr != wanted).then(|| format!("the ISR is {isr:?}, {wanted:?} is waited for"))
}

fn leader_is(condition: &Condition, now: &Now<'_>) -> Option<String> {
    let wanted = match now.names.set(condition.leader.as_ref()?, now.partition) {
        Ok(wanted) => wanted,
        Err(why) => return Some(why),
    };
    let leader = now.partition.leader;
    let reached = if wanted.is_empty() {
        leader < 0
    } else {
        wanted.contains(&leader)
    };
    (!reached).then(|| format!("the leader is {leader}, one of {wanted:?} is waited for (none: no leader)"))
}

fn fencing_is(condition: &Condition, now: &Now<'_>) -> Option<String> {
    for (names, fenced) in [(&condition.fenced, true), (&condition.unfenced, false)] {
        let nodes = match now.names.set(names, now.partition) {
            Ok(nodes) => nodes,
            Err(why) => return Some(why),
        };
        for node in nodes {
            let known = now.view.brokers.get(&node).map(|broker| broker.fenced);
            if known != Some(fenced) {
                let word = if fenced { "fenced" } else { "unfenced" };
                return Some(format!("broker {node} is not yet {word}"));
            }
        }
    }
    None
}

fn acks_are(condition: &Condition, now: &Now<'_>) -> Option<String> {
    let wanted = match condition.acks? {
        Count::Exactly(n) => n,
        // A plan has no range left; the least of one is the honest reading.
        Count::Drawn(range) => range.low,
    };
    (now.acks < wanted).then(|| format!("{} acks came, {wanted} are waited for", now.acks))
}

fn sorted(nodes: &[i32]) -> Vec<i32> {
    let mut nodes = nodes.to_vec();
    nodes.sort_unstable();
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::partition_for_tests as partition;
    use client::observer::BrokerView;

    fn check(condition: Condition, isr: &[i32], leader: i32, acks: u64) -> Option<String> {
        let mut view = ClusterView::default();
        let broker = |fenced| BrokerView {
            epoch: 1,
            incarnation: String::new(),
            fenced,
            in_controlled_shutdown: false,
        };
        view.brokers.insert(0, broker(true));
        view.brokers.insert(1, broker(false));
        let mut names = Names::default();
        names.give("first", &[0]);
        names.give("second", &[1]);
        let partition = partition(isr, leader);
        lacks(
            &condition,
            &Now {
                view: &view,
                partition: &partition,
                names: &names,
                acks,
            },
        )
    }

    #[test]
    fn each_part_is_waited_for() {
        let none = Condition::default();
        let named = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(check(none.clone(), &[], -1, 0), None);
        for (condition, isr, leader, acks) in [
            (
                Condition {
                    isr: Some(named(&["others"])),
                    ..none.clone()
                },
                vec![2],
                2,
                0,
            ),
            (
                Condition {
                    isr_size: Some(2),
                    ..none.clone()
                },
                vec![1, 2],
                2,
                0,
            ),
            (
                Condition {
                    leader: Some(named(&["first", "second"])),
                    ..none.clone()
                },
                vec![],
                1,
                0,
            ),
            (
                Condition {
                    leader: Some(vec![]),
                    ..none.clone()
                },
                vec![],
                -1,
                0,
            ),
            (
                Condition {
                    fenced: named(&["first"]),
                    ..none.clone()
                },
                vec![],
                0,
                0,
            ),
            (
                Condition {
                    unfenced: named(&["second"]),
                    ..none.clone()
                },
                vec![],
                0,
                0,
            ),
            (
                Condition {
                    acks: Some(Count::Exactly(5)),
                    ..none.clone()
                },
                vec![],
                0,
                5,
            ),
        ] {
            assert_eq!(
                check(condition.clone(), &isr, leader, acks),
                None,
                "{condition:?}"
            );
        }
        for (condition, isr, leader, acks) in [
            (
                Condition {
                    isr: Some(named(&["others"])),
                    ..none.clone()
                },
                vec![2, 1],
                2,
                0,
            ),
            (
                Condition {
                    isr_size: Some(2),
                    ..none.clone()
                },
                vec![1],
                2,
                0,
            ),
            (
                Condition {
                    leader: Some(named(&["first"])),
                    ..none.clone()
                },
                vec![],
                1,
                0,
            ),
            (
                Condition {
                    leader: Some(vec![]),
                    ..none.clone()
                },
                vec![],
                0,
                0,
            ),
            (
                Condition {
                    fenced: named(&["second"]),
                    ..none.clone()
                },
                vec![],
                0,
                0,
            ),
            (
                Condition {
                    unfenced: named(&["first"]),
                    ..none.clone()
                },
                vec![],
                0,
                0,
            ),
            (
                Condition {
                    unfenced: named(&["others"]),
                    ..none.clone()
                },
                vec![],
                0,
                0,
            ),
            (
                Condition {
                    acks: Some(Count::Exactly(5)),
                    ..none.clone()
                },
                vec![],
                0,
                4,
            ),
        ] {
            assert!(
                check(condition.clone(), &isr, leader, acks).is_some(),
                "{condition:?}"
            );
        }
    }
}
