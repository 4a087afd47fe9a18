//! What a plan's faults need of this machine, beside what every run needs: tried before the run begins, so that a run
//! that could not break what it is to break never starts.

use crate::error::{Error, Status};
use crate::plan::Plan;
use clusters::{Capability, Resource};
use ground::Probe;
use std::collections::BTreeSet;

/// The mechanisms, by the names that `doctor` has for them, that a capability needs beside the ground itself; any one
/// of them will do.
pub fn mechanisms(needs: Capability) -> &'static [&'static str] {
    match needs {
        Capability::Resources(Resource::Cpu) => &["cgroup cpu"],
        Capability::Resources(Resource::Memory) => &["cgroup memory"],
        Capability::Resources(Resource::Descriptors) => &["descriptor limits"],
        Capability::Clock => &["clock shim"],
        Capability::Process => &["signals"],
        // The ground itself, which a run cannot start without.
        _ => &[],
    }
}

/// Refuses a plan one of whose faults this machine has no means for.
///
/// # Errors
/// 69, with doctor's words.
pub fn check(plan: &Plan) -> Result<(), Error> {
    let acts = plan.steps.iter().flat_map(|step| &step.act);
    let names: BTreeSet<&str> = acts.filter_map(|act| act.fault.as_deref()).collect();
    let needed =
        |name: &&str| nemesis::find(name).is_some_and(|fault| !mechanisms(fault.about().needs).is_empty());
    if !names.iter().any(needed) {
        return Ok(());
    }
    let probes = ground::doctor::probe_faults();
    names.into_iter().try_for_each(|name| lacking(name, &probes))
}

/// Refuses a fault that this machine has no means for.
///
/// # Errors
/// 69, with doctor's words.
pub fn check_fault(name: &str) -> Result<(), Error> {
    let needs = nemesis::find(name).map_or(&[][..], |fault| mechanisms(fault.about().needs));
    if needs.is_empty() {
        return Ok(());
    }
    lacking(name, &ground::doctor::probe_faults())
}

/// The mechanism that a fault lacks among those that were tried.
fn lacking(name: &str, probes: &[Probe]) -> Result<(), Error> {
    let needs = nemesis::find(name).map_or(&[][..], |fault| mechanisms(fault.about().needs));
    let tried: Vec<&Probe> = probes
        .iter()
        .filter(|probe| needs.contains(&probe.name.as_str()))
        .collect();
    match tried.first() {
        Some(first) if tried.iter().all(|probe| !probe.available) => Err(Error::new(
            Status::Unavailable,
            format!("preparing the fault {name}, which needs {}", needs.join(" or ")),
            format!("{}: {}", first.name, first.why_not),
            &first.remedy,
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(name: &str, available: bool) -> Probe {
        Probe {
            name: name.into(),
            available,
            how: "tried".into(),
            why_not: if available {
                String::new()
            } else {
                "it is closed".into()
            },
            remedy: if available {
                String::new()
            } else {
                "sudo open it".into()
            },
        }
    }

    #[test]
    fn a_fault_without_its_mechanism_is_69_with_doctor_s_words() {
        let probes = [
            probe("cgroup cpu", false),
            probe("cgroup memory", true),
            probe("signals", true),
        ];
        let error = lacking("cpu-limit", &probes).unwrap_err();
        assert_eq!(error.status, Status::Unavailable);
        assert!(
            error.why.contains("it is closed") && error.next == "sudo open it",
            "{error}"
        );
        for name in ["memory-limit", "crash", "cut-network", "power-cut"] {
            assert_eq!(lacking(name, &probes), Ok(()), "{name}");
        }
    }
}
