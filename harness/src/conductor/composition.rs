//! Which faults may be in together.
//!
//! Faults overlap: on other nodes always, on one node where each can still be measured and healed for itself. What is
//! refused, and why:
//! 1. The same fault on the same node twice: healing one would leave the other, and nobody could tell which was
//!    measured. It is refused, not queued: a queued fault would strike at a moment that no step names.
//! 2. A fault of a program (a signal, an end, a limit) on a node whose program does not run by another fault.
//! 3. Healing a fault of a program while its node is down by another: what is down is healed first.
//!
//! A refusal at run time is a step that was not reached: the run is unknown, and says why.

use clusters::Capability;
use nemesis::{About, Program};

/// A fault that is in.
pub struct InForce<'a> {
    /// What it is.
    pub about: &'a About,
    /// On whom.
    pub nodes: &'a [i32],
}

impl InForce<'_> {
    fn takes_down(&self, node: i32) -> bool {
        matches!(self.about.program, Program::Ends | Program::LosesPower) && self.nodes.contains(&node)
    }
}

/// Whether a fault is of a node's program, which must run for it.
fn is_of_a_program(about: &About) -> bool {
    about.program != Program::GoesOn || matches!(about.needs, Capability::Process | Capability::Resources(_))
}

/// Whether a fault may be put in.
///
/// # Errors
/// Why not.
pub fn may_inject(about: &About, nodes: &[i32], in_force: &[InForce<'_>]) -> Result<(), String> {
    for node in nodes {
        if in_force
            .iter()
            .any(|other| other.about.name == about.name && other.nodes.contains(node))
        {
            return Err(format!(
                "{} is in on node {node} already, and the same fault is never in twice on one node",
                about.name
            ));
        }
        if let Some(other) = in_force
            .iter()
            .find(|other| is_of_a_program(about) && other.takes_down(*node))
        {
            return Err(format!(
                "node {node} is down by {}: {} has no program to strike there",
                other.about.name, about.name
            ));
        }
    }
    Ok(())
}

/// Whether a fault may be healed while these others are in.
///
/// # Errors
/// Why not.
pub fn may_heal(about: &About, nodes: &[i32], others: &[InForce<'_>]) -> Result<(), String> {
    for node in nodes {
        if let Some(other) = others
            .iter()
            .find(|other| is_of_a_program(about) && other.takes_down(*node))
        {
            return Err(format!(
                "node {node} is down by {}: heal that first, then {}",
                other.about.name, about.name
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(name: &str) -> &'static About {
        nemesis::find(name).unwrap().about()
    }

    fn in_force(name: &str, nodes: &'static [i32]) -> InForce<'static> {
        InForce {
            about: about(name),
            nodes,
        }
    }

    #[test]
    fn faults_of_other_nodes_and_of_other_kinds_overlap() {
        let others = [in_force("pause", &[0]), in_force("cut-network", &[0, 1])];
        assert_eq!(may_inject(about("pause"), &[1, 2], &others), Ok(()));
        assert_eq!(may_inject(about("crash"), &[0], &others), Ok(()));
        assert_eq!(may_inject(about("power-cut"), &[0, 1, 2], &others), Ok(()));
        assert_eq!(may_heal(about("pause"), &[0], &others[1..]), Ok(()));
    }

    #[test]
    fn the_same_fault_is_never_in_twice_on_one_node() {
        let others = [in_force("cut-network", &[0, 1])];
        assert!(may_inject(about("cut-network"), &[1, 2], &others).is_err());
        assert_eq!(may_inject(about("cut-network"), &[2], &others), Ok(()));
    }

    #[test]
    fn a_node_that_is_down_has_no_program_to_strike_or_to_heal() {
        let down = [in_force("crash", &[0])];
        for name in ["pause", "power-cut"] {
            assert!(may_inject(about(name), &[0], &down).is_err(), "{name}");
            assert_eq!(may_inject(about(name), &[1], &down), Ok(()));
        }
        assert_eq!(may_inject(about("cut-network"), &[0], &down), Ok(()));
        assert!(may_heal(about("pause"), &[0], &down).is_err());
        assert_eq!(may_heal(about("cut-network"), &[0], &down), Ok(()));
    }
}
