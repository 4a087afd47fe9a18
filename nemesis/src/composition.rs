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
//! 6. On a node whose disk fails, is full or hangs by another fault: a fault of the disk's calls (none might come to it),
//!    or of a program that is started again (it might not come up); nor is such a one healed before the disk is. The
//!    disk itself may be healed while the node is down.
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

/// Whether calls to the disk may not be done by a fault.
fn blocks_the_disk(about: &About) -> bool {
    matches!(about.name, "disk-error" | "disk-full" | "disk-hang")
}

/// Whether healing is of the disk alone: it goes on whether the node's program runs or not.
fn heals_the_disk_alone(about: &About) -> bool {
    let turns_off = matches!(about.name, "disk-truncate" | "disk-replace" | "disk-roll-back")
        || matches!(about.program, Program::Ends | Program::LosesPower);
    about.needs == Capability::Disk && !turns_off
}

/// Whether a program is started when a fault is healed, at once or perhaps.
fn starts_a_program(about: &About) -> bool {
    ends_programs(about)
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
        let blocked = |other: &&InForce<'_>| blocks_the_disk(other.about) && other.nodes.contains(node);
        let wants_the_disk = about.needs == Capability::Disk || about.program == Program::Restarts;
        if let Some(other) = in_force.iter().find(blocked).filter(|_| wants_the_disk) {
            return Err(format!(
                "the disk of node {node} does not do all calls by {}: heal that first, then {} can be seen to take",
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
            .filter(|_| !heals_the_disk_alone(about))
        {
            return Err(format!(
                "node {node} is down by {}: heal that first, then {}",
                other.about.name, about.name
            ));
        }
        let blocked = |other: &&InForce<'_>| blocks_the_disk(other.about) && other.nodes.contains(node);
        if let Some(other) = others.iter().find(blocked).filter(|_| starts_a_program(about)) {
            return Err(format!(
                "the disk of node {node} does not do all calls by {}: heal that first, then {} can start its program",
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
    fn a_disk_that_fails_or_hangs_is_healed_before_what_needs_it() {
        for name in ["disk-error", "disk-full", "disk-hang"] {
            let blocked = [in_force(name, &[0])];
            for other in [
                "disk-slow",
                "disk-sync-lies",
                "disk-replace",
                "disk-cut-at-call",
                "restart",
                "memory-limit",
            ] {
                assert!(
                    may_inject(about(other), &[0], &blocked).is_err(),
                    "{other} on {name}"
                );
                assert_eq!(may_inject(about(other), &[1], &blocked), Ok(()));
            }
            assert_eq!(may_inject(about("power-cut"), &[0], &blocked), Ok(()));
            assert_eq!(may_inject(about("delay"), &[0], &blocked), Ok(()));
            // The node is down, and its disk is healed all the same, and first.
            let down = [in_force("power-cut", &[0])];
            assert!(may_heal(about("power-cut"), &[0], &blocked).is_err());
            assert_eq!(may_heal(about(name), &[0], &down), Ok(()));
        }
        let down = [in_force("power-cut", &[0])];
        assert!(may_heal(about("disk-replace"), &[0], &down).is_err());
        let slow = [in_force("disk-slow", &[0])];
        assert_eq!(may_inject(about("disk-error"), &[0], &slow), Ok(()));
        assert_eq!(may_heal(about("power-cut"), &[0], &slow), Ok(()));
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
