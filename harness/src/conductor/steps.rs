//! The steps: wait, act, wait for the state that the act should bring. States, never seconds; each step has a limit.

use super::boot::Booted;
use super::condition::{Now, lacks};
use super::faults::{Acted, Undone};
use super::nodes::Alarm;
use super::progress::Progress;
use super::{Ending, alarm_error};
use crate::error::Error;
use crate::plan::{Plan, PlannedStep};
use crate::scenario::{Act, Condition};
use crate::target::{Place, World};
use clusters::RoleKind;
use history::PartitionState;
use results::grouped;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Carries out the plan's steps, or its steady time.
pub async fn steps(plan: &Plan, booted: &mut Booted, progress: Progress) -> Result<Ending, Error> {
    if let Some(time) = plan.time_ms {
        return steady(booted, Duration::from_millis(time), progress).await;
    }
    for step in &plan.steps {
        match one(plan, step, booted).await? {
            Reached::Yes(text) => {
                let acks = grouped(booted.counters.borrow().acked);
                progress.line(&format!("{} {text} · {acks} acks", step.name));
                booted.step(&step.name, true, &text)?;
            }
            Reached::No(why) => {
                progress.line(&format!("{} was not reached: {why}", step.name));
                booted.step(&step.name, false, &format!("not reached: {why}"))?;
                return Ok(Ending::Stuck);
            }
            Reached::Interrupted(signal) => return Ok(Ending::Interrupted(signal)),
        }
    }
    Ok(Ending::Done)
}

enum Reached {
    Yes(String),
    No(String),
    Interrupted(i32),
}

async fn steady(booted: &mut Booted, time: Duration, progress: Progress) -> Result<Ending, Error> {
    booted.step("steady", false, &format!("load and no fault for {time:?}"))?;
    let until = Instant::now() + time;
    loop {
        match timeout_at(until, booted.alarms.next()).await {
            Err(_) => break,
            Ok(Alarm::Interrupted(signal)) => return Ok(Ending::Interrupted(signal)),
            Ok(alarm @ Alarm::Full(_)) => return Err(alarm_error(&alarm)),
            Ok(Alarm::NodeDied { node, how }) => progress.line(&format!("node {node} died: {how}")),
        }
    }
    let acks = grouped(booted.counters.borrow().acked);
    progress.line(&format!("{time:?} of load · {acks} acks"));
    booted.step("steady", true, &format!("{acks} acks"))?;
    Ok(Ending::Done)
}

async fn one(plan: &Plan, step: &PlannedStep, booted: &mut Booted) -> Result<Reached, Error> {
    let deadline = Instant::now() + Duration::from_millis(step.limit_ms);
    let before = booted.counters.borrow().acked;
    if let Some(end) = reach(plan, booted, &step.after, before, deadline).await? {
        return Ok(end);
    }
    booted.step(&step.name, false, &step.text)?;
    let mut said = Vec::new();
    for (act, pick) in step.act.iter().zip(&step.picks) {
        let nodes = match resolve(plan, booted, act, *pick) {
            Ok(nodes) => nodes,
            Err(why) => return Ok(Reached::No(why)),
        };
        if let Some(name) = &act.named {
            booted.names.give(name, &nodes);
        }
        said.push(told_act(act, &nodes));
        let acted = match act.fault {
            Some(_) => booted.inject(act, nodes).await,
            None => booted.heal(act.name(), &nodes).await,
        };
        match acted {
            Ok(Acted::Done) => {}
            Ok(Acted::Refused(why)) => return Ok(Reached::No(why)),
            Err(Undone::NotStarted(error)) => return Ok(Reached::No(not_up_again(&error))),
            Err(Undone::Failed(error)) => return Err(error),
        }
    }
    let acted = booted.counters.borrow().acked;
    for condition in &step.until {
        if let Some(end) = reach(plan, booted, condition, acted, deadline).await? {
            return Ok(end);
        }
    }
    let state = partition(plan, booted).map_or(String::new(), |partition| told(&partition));
    Ok(Reached::Yes(format!("{}: {state}", said.join(", "))))
}

/// The nodes that an act's targets mean now.
pub(super) fn resolve(plan: &Plan, booted: &Booted, act: &Act, pick: u64) -> Result<Vec<i32>, String> {
    let of = |role| {
        booted
            .cluster
            .of_role(role)
            .map(|node| node.id)
            .collect::<Vec<i32>>()
    };
    let (brokers, controllers) = (of(RoleKind::Broker), of(RoleKind::Controller));
    let view = booted.view.borrow();
    let partition = |place: &Place| match place {
        Place::UnderLoad => view.partition(&plan.topic.name, 0).cloned(),
        Place::Named(topic, number) => view.partition(topic, *number).cloned(),
    };
    let having = booted.having(act.name());
    // A fault is drawn for those that have it not, a heal for those that have it.
    let is_taken = |node: &&clusters::Node| having.contains(&node.id) == act.fault.is_some();
    let taken: BTreeSet<i32> = booted
        .cluster
        .nodes()
        .iter()
        .filter(is_taken)
        .map(|node| node.id)
        .collect();
    let world = World {
        brokers: &brokers,
        controllers: &controllers,
        active_controller: Some(view.quorum.leader).filter(|leader| *leader >= 0),
        partition: &partition,
        taken: &taken,
    };
    booted.names.resolve(act.target.all(), &world, pick)
}

/// A node that does not come up again, as a person reads it.
pub(super) fn not_up_again(error: &Error) -> String {
    format!("{}: {}", error.what, error.why)
}

/// What an act did, as a person reads it: "cut-network on broker 0".
fn told_act(act: &Act, nodes: &[i32]) -> String {
    let is_broker = |node: &i32| (0..crate::plan::BROKERS).contains(node);
    let word = match (nodes.iter().all(is_broker), nodes.len()) {
        (true, 1) => "broker",
        (true, _) => "brokers",
        (false, 1) => "node",
        (false, _) => "nodes",
    };
    let nodes: Vec<String> = nodes.iter().map(i32::to_string).collect();
    let nodes = nodes.join(", ");
    match act.fault {
        Some(_) => format!("{} on {word} {nodes}", act.name()),
        None => format!("{} of {word} {nodes} healed", act.name()),
    }
}

/// The state as a person reads it.
fn told(partition: &PartitionState) -> String {
    let list = |nodes: &[i32]| {
        let nodes: Vec<String> = nodes.iter().map(i32::to_string).collect();
        format!("[{}]", nodes.join(","))
    };
    let leader = if partition.leader < 0 {
        "none".into()
    } else {
        partition.leader.to_string()
    };
    format!(
        "leader {leader}, ISR {}, ELR {}",
        list(&partition.isr),
        list(&partition.elr)
    )
}

fn partition(plan: &Plan, booted: &Booted) -> Option<PartitionState> {
    booted.view.borrow().partition(&plan.topic.name, 0).cloned()
}

/// Waits for a state until the deadline; none where it was reached.
async fn reach(
    plan: &Plan,
    booted: &mut Booted,
    condition: &Condition,
    acks_before: u64,
    deadline: Instant,
) -> Result<Option<Reached>, Error> {
    loop {
        let missing = missing(plan, booted, condition, acks_before);
        let Some(missing) = missing else { return Ok(None) };
        tokio::select! {
            changed = booted.view.changed() => {
                if changed.is_err() {
                    return Ok(Some(Reached::No(format!("the observer ended; {missing}"))));
                }
            }
            changed = booted.counters.changed() => {
                if changed.is_err() {
                    return Err(Error::internal(
                        "keeping the load up",
                        "the workload ended by itself",
                        "`df` shows whether a disk is full; the run's log may say more",
                    ));
                }
            }
            alarm = booted.alarms.next() => match alarm {
                Alarm::Interrupted(signal) => return Ok(Some(Reached::Interrupted(signal))),
                Alarm::Full(_) => return Err(alarm_error(&alarm)),
                Alarm::NodeDied { node, how } => {
                    let log = booted.cluster.log_tail(node);
                    return Ok(Some(Reached::No(format!("node {node} {how}, unasked; its log ends: {log}"))));
                }
            },
            () = tokio::time::sleep_until(deadline) => return Ok(Some(Reached::No(missing))),
        }
    }
}

fn missing(plan: &Plan, booted: &Booted, condition: &Condition, acks_before: u64) -> Option<String> {
    let acks = booted.counters.borrow().acked.saturating_sub(acks_before);
    let view = booted.view.borrow();
    let Some(partition) = view.partition(&plan.topic.name, 0) else {
        return (*condition != Condition::default())
            .then(|| "the partition is not in the metadata log".into());
    };
    lacks(
        condition,
        &Now {
            view: &view,
            partition,
            names: &booted.names,
            acks,
        },
    )
}
