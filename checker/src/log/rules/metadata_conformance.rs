//! `metadata-conformance`: a committed metadata record that the rules do not allow from the state before it, as far as
//! records of partitions and brokers show. Nothing excuses it but a quorum that lost its disks. Each breach of a rule
//! by a record is one instance.
//!
//! Not this: what the rules of ELR and of elections forbid, which have names of their own; what was not seen.

use super::{Case, Finding, instance, of_cluster};
use crate::Instance;
use crate::log::facts::Partition;
use crate::log::metadata::Step;
use std::collections::BTreeSet;

/// The anomaly.
pub(super) const NAME: &str = "metadata-conformance";

pub(super) fn find(case: &Case<'_>, partition: &Partition<'_>) -> Vec<Finding> {
    let judged = case
        .metadata
        .steps(&partition.key)
        .iter()
        .filter(|step| step.is_judged);
    judged
        .flat_map(|step| {
            let broken = [of_state(step), of_change(step)].concat();
            broken.into_iter().map(move |what| (step, what))
        })
        .map(|(step, what)| {
            let text = format!(
                "the record at offset {} of the metadata log, of {}: {what}",
                step.state.at.log_offset, partition.key
            );
            Finding {
                span: case.unless_quorum_void(step.seen.time),
                follows: None,
                instance: Instance {
                    epoch: Some(step.state.leader_epoch),
                    ..instance(partition, &[step.seen.index], text)
                },
            }
        })
        .collect()
}

/// Records of brokers.
pub(super) fn find_in_brokers(case: &Case<'_>) -> Vec<Finding> {
    let offences = case.metadata.offences.iter();
    offences
        .map(|offence| Finding {
            span: case.unless_quorum_void(offence.seen.time),
            follows: None,
            instance: of_cluster(&[offence.seen.index], offence.text.clone()),
        })
        .collect()
}

/// What no state may be.
fn of_state(step: &Step<'_>) -> Vec<String> {
    let state = step.state;
    let mut broken = Vec::new();
    for (name, list) in [
        ("replicas", &state.replicas),
        ("ISR", &state.isr),
        ("ELR", &state.elr),
    ] {
        let mut once = BTreeSet::new();
        if let Some(twice) = list.iter().find(|id| !once.insert(**id)) {
            broken.push(format!("broker {twice} is in its {name} twice"));
        }
        if let Some(stranger) = list.iter().find(|id| !state.replicas.contains(id)) {
            broken.push(format!("broker {stranger} is in its {name} and holds no replica"));
        }
    }
    if state.leader >= 0 && !state.isr.contains(&state.leader) {
        broken.push(format!(
            "its leader {} is not in the ISR {:?}",
            state.leader, state.isr
        ));
    }
    let was_empty = step.before.is_some_and(|before| before.isr.is_empty());
    if state.isr.is_empty() && !was_empty && step.elr_level == (Some(0), Some(0)) {
        broken.push("its ISR is empty, which eligible leader replicas alone allow".to_owned());
    }
    if state.recovering && state.isr.len() > 1 {
        broken.push(format!(
            "it has to recover, with the ISR {:?} instead of its leader alone",
            state.isr
        ));
    }
    broken
}

/// What no record may do.
fn of_change(step: &Step<'_>) -> Vec<String> {
    let state = step.state;
    let Some(before) = step.before else {
        return Vec::new();
    };
    let mut broken = Vec::new();
    if state.recovering && !state.elects {
        broken.push("it has to recover, and no leader is elected".to_owned());
    }
    if step.elects_another() && !step.active.contains(&state.leader) {
        broken.push(format!(
            "it elects broker {}, which is fenced or shuts down",
            state.leader
        ));
    }
    for id in state.isr.iter().filter(|id| !before.isr.contains(id)) {
        if !step.active.contains(id) {
            broken.push(format!("broker {id} joins the ISR, and is fenced or shuts down"));
        }
        if before.leader < 0 && state.leader != *id {
            broken.push(format!(
                "broker {id} joins the ISR, and no leader could have asked for it"
            ));
        }
    }
    if let Some(id) = state.elr.iter().find(|id| !step.was_member(**id)) {
        broken.push(format!(
            "broker {id} joins the ELR, and was in neither ISR nor ELR"
        ));
    }
    broken
}
