//! Which faults may be in together.
//!
//! Faults overlap: on other nodes always, on one node where each can still be measured and healed for itself. What is
//! refused, and why:
//! 1. The same fault on the same node twice: healing one would leave the other, and nobody could tell which was
//!    measured. It is refused, not queued: a queued fault would strike at a moment that no step names.
//! 2. A fault of a program (a signal, an end, a limit) on a node whose program does not run by another fault.
//! 3. A fault of a program on a node whose program stands still: it could not end by itself, and once started again it
//!    would go on. Only a loss of power ends it; the pause has nothing left to heal then.
//! 4. Healing a fault of a program while its node is down by another: what is down is healed first.
//! 5. A fault of links on a node whose links are silent by another (no power, a machine that stands still, a cut): no
//!    frame would meet it, so nobody could tell whether it took. Nor do those of connections where the program is
//!    down: nothing is connected, and what is refused comes too seldom to overtake.
//!
//! A refusal at run time is a step that was not reached: the run is unknown, and says why.

use crate::{About, Program};
use clusters::Capability;

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

impl InForce<'_> {
    fn silences(&self, node: i32) -> bool {
        let of_links = self.about.needs == Capability::Links;
        let silences = self.about.program == Program::LosesPower
            || (of_links && self.about.program == Program::StandsStill)
            || self.about.name == "cut-network";
        silences && self.nodes.contains(&node)
    }
}

/// Whether a fault is of a node's program, which must run for it.
fn is_of_a_program(about: &About) -> bool {
    about.program != Program::GoesOn
        || matches!(
            about.needs,
            Capability::Process | Capability::Resources(_) | Capability::Clock | Capability::Disk
        )
}

/// Whether a fault is seen on established connections alone: a node whose program is down has none.
fn is_of_connections(about: &About) -> bool {
    matches!(about.name, "reset" | "reorder")
}

/// Whether a fault is measured by what the program itself says, or asks of its disk: one that stands still says nothing.
fn speaks(about: &About) -> bool {
    matches!(about.needs, Capability::Clock | Capability::Disk)
}

/// Whether a fault ends programs, at once or perhaps.
pub fn ends_programs(about: &About) -> bool {
    matches!(
        about.program,
        Program::Ends | Program::LosesPower | Program::Restarts
    )
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
            .find(|other| (is_of_a_program(about) || is_of_connections(about)) && other.takes_down(*node))
        {
            return Err(format!(
                "node {node} is down by {}: {} has no program to strike there",
                other.about.name, about.name
            ));
        }
        let silent = |other: &&InForce<'_>| other.silences(*node);
        if let Some(other) = in_force
            .iter()
            .find(silent)
            .filter(|_| about.needs == Capability::Links)
        {
            return Err(format!(
                "the links of node {node} are silent by {}: nobody could tell whether {} takes",
                other.about.name, about.name
            ));
        }
        let still =
            |other: &&InForce<'_>| other.about.program == Program::StandsStill && other.nodes.contains(node);
        let strikes = speaks(about) || !matches!(about.program, Program::GoesOn | Program::LosesPower);
        if let Some(other) = in_force.iter().find(still).filter(|_| strikes) {
            return Err(format!(
                "node {node} stands still by {}: heal that first, then {} can strike",
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
            .find(|other| (is_of_a_program(about) || is_of_connections(about)) && other.takes_down(*node))
        {
            return Err(format!(
                "node {node} is down by {}: heal that first, then {}",
                other.about.name, about.name
            ));
        }
        let still = |other: &&InForce<'_>| {
            speaks(about) && other.about.program == Program::StandsStill && other.nodes.contains(node)
        };
        if let Some(other) = others.iter().find(still) {
            return Err(format!(
                "node {node} stands still by {}: heal that first, then {}",
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
        crate::find(name).unwrap().about()
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
        assert_eq!(may_inject(about("delay"), &[0], &others[..1]), Ok(()));
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
    fn what_stands_still_loses_its_power_and_nothing_else_happens_to_it() {
        let still = [in_force("machine-pause", &[0])];
        for name in ["pause", "crash", "stop", "restart", "crash-loop", "slow-start"] {
            assert!(may_inject(about(name), &[0], &still).is_err(), "{name}");
            assert_eq!(may_inject(about(name), &[1], &still), Ok(()));
        }
        assert_eq!(may_inject(about("power-cut"), &[0], &still), Ok(()));
        assert!(!ends_programs(about("pause")) && ends_programs(about("crash-loop")));
    }

    #[test]
    fn a_node_that_is_down_has_no_program_to_strike_or_to_heal() {
        let down = [in_force("crash", &[0])];
        for name in ["pause", "power-cut"] {
            assert!(may_inject(about(name), &[0], &down).is_err(), "{name}");
            assert_eq!(may_inject(about(name), &[1], &down), Ok(()));
        }
        assert_eq!(may_inject(about("cut-network"), &[0], &down), Ok(()));
        for name in ["power-cut", "machine-pause", "cut-network"] {
            let silent = [in_force(name, &[0])];
            assert!(may_inject(about("delay"), &[0], &silent).is_err(), "{name}");
            assert_eq!(may_inject(about("delay"), &[1], &silent), Ok(()));
        }
        assert!(may_heal(about("pause"), &[0], &down).is_err());
        assert_eq!(may_heal(about("cut-network"), &[0], &down), Ok(()));
    }
}
