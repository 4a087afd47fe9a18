//! What a scenario cannot mean is refused when it is read: unknown faults and names, parameters out of bounds, targets
//! that nothing resolves, conditions that no state of the cluster meets, requirements of steps that are not there.
//!
//! It refuses only what is certain: whether a leader is there when a step acts, the run shows.

use super::{Act, Condition, Count, Scenario, Step};
use crate::error::nearest;
use crate::plan::{BROKERS, CONTROLLERS};
use crate::target::{OTHERS, Place, Target};
use history::Requirement;
use std::collections::BTreeMap;

/// Where in the file a mistake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// In a step.
    Step(usize),
    /// In an act of a step.
    Act(usize, usize),
    /// In a requirement.
    Requirement(usize),
}

/// A mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where.
    pub at: At,
    /// What is wrong, and what would do.
    pub why: String,
}

/// What earlier acts gave and put in.
struct Known<'a> {
    scenario: &'a Scenario,
    controllers: Vec<i32>,
    /// Names, with how many nodes each means (where known), and whether they can be brokers.
    names: BTreeMap<&'a str, (Option<usize>, bool)>,
    /// Faults that some act has put in so far.
    used: Vec<&'a str>,
    /// Faults that are in, by a target that stays the same.
    fixed: Vec<(&'a str, &'a str)>,
    /// Texts that faults were told: a topic that a fault makes may be named later.
    texts: Vec<&'a str>,
}

/// Everything of the steps and requirements.
///
/// # Errors
/// The first mistake.
pub fn check(scenario: &Scenario) -> Result<(), Mistake> {
    let first = clusters::FIRST_CONTROLLER;
    let mut known = Known {
        scenario,
        controllers: (first..first + CONTROLLERS).collect(),
        names: BTreeMap::new(),
        used: Vec::new(),
        fixed: Vec::new(),
        texts: Vec::new(),
    };
    for (i, step) in scenario.steps.iter().enumerate() {
        let in_step = |why: String| Mistake {
            at: At::Step(i),
            why: format!("step {}: {why}", step.name),
        };
        if scenario.steps[..i]
            .iter()
            .any(|earlier| earlier.name == step.name)
        {
            return Err(in_step(format!("two steps are named {}", step.name)));
        }
        known.limits(step).map_err(in_step)?;
        known.condition("after", &step.after).map_err(in_step)?;
        for (j, act) in step.act.iter().enumerate() {
            known.act(act).map_err(|why| Mistake {
                at: At::Act(i, j),
                why: format!("step {}, act {}: {why}", step.name, j + 1),
            })?;
        }
        known.condition("until", &step.until).map_err(in_step)?;
        known
            .condition("until_with_elr", &step.until_with_elr)
            .map_err(in_step)?;
    }
    for (i, requirement) in scenario.requirements.iter().enumerate() {
        known.requirement(requirement).map_err(|why| Mistake {
            at: At::Requirement(i),
            why: format!("requirement {}: {why}", i + 1),
        })?;
    }
    Ok(())
}

impl<'a> Known<'a> {
    fn limits(&self, step: &Step) -> Result<(), String> {
        if step.limit.is_zero() {
            return Err("limit: 0 is never enough".into());
        }
        if step.limit > self.scenario.limit {
            return Err(format!(
                "limit: {:?} is more than the whole run's, {:?}",
                step.limit, self.scenario.limit
            ));
        }
        Ok(())
    }

    fn act(&mut self, act: &'a Act) -> Result<(), String> {
        let name = act.name();
        if act.fault.is_some() == act.heal.is_some() {
            return Err("an act has either fault or heal".into());
        }
        let Some(fault) = nemesis::find(name) else {
            let near = nearest(name, nemesis::ALL.iter().map(|fault| fault.about().name)).join(", ");
            return Err(format!("there is no fault {name:?}; the nearest are {near}"));
        };
        if act.target.all().is_empty() {
            return Err("target: nobody is meant; name a role, a number or a name".into());
        }
        let mut size = Some(0);
        let mut brokers = false;
        for text in act.target.all() {
            let (of, can_be_broker) = self.target(text)?;
            size = size.zip(of).map(|(a, b)| a + b);
            brokers |= can_be_broker;
        }
        if act.fault.is_some() {
            act.params(fault.about())?;
            self.used.push(name);
            for text in act.target.all() {
                if !self.stays(text) {
                    continue;
                }
                if self.fixed.contains(&(name, text)) {
                    return Err(format!(
                        "{name} is in on {text} already: heal it before it is put in again"
                    ));
                }
                self.fixed.push((name, text));
            }
            let texts = act.params.values().filter_map(|said| match said {
                super::Said::Text(text) => Some(text.as_str()),
                _ => None,
            });
            self.texts.extend(texts);
        } else {
            if !act.params.is_empty() {
                return Err("params: a heal has none; the fault was told when it was put in".into());
            }
            if !self.used.contains(&name) {
                return Err(format!("no act before it puts {name} in"));
            }
            self.fixed
                .retain(|(fault, text)| *fault != name || act.target.all().iter().all(|one| one != text));
            // Roles and sets may mean them too.
            if act.target.all().iter().any(|text| !self.stays(text)) {
                self.fixed.retain(|(fault, _)| *fault != name);
            }
        }
        if let Some(named) = &act.named {
            if named == OTHERS || named.is_empty() {
                return Err(format!("as: {named:?} is no name"));
            }
            self.names.insert(named, (size, brokers));
        }
        Ok(())
    }

    /// Whether a target means the same nodes whenever it is resolved.
    fn stays(&self, text: &str) -> bool {
        self.names.contains_key(text) || matches!(Target::parse(text), Ok(Target::Number(_)))
    }

    /// How many nodes a target means, where known, and whether they can be brokers.
    fn target(&self, text: &str) -> Result<(Option<usize>, bool), String> {
        if let Some(known) = self.names.get(text) {
            return Ok(*known);
        }
        let target = Target::parse(text)?;
        if let Target::Number(number) = target
            && !(0..BROKERS).contains(&number)
            && !self.controllers.contains(&number)
        {
            return Err(format!(
                "target: there is no node {number}; there are brokers 0 to {} and controllers {:?}",
                BROKERS - 1,
                self.controllers
            ));
        }
        let topic = &self.scenario.topic;
        if let Some(Place::Named(name, number)) = target.place() {
            let is_made = self.texts.contains(&name.as_str());
            if *name == topic.name && *number >= topic.partitions && !is_made {
                return Err(format!(
                    "target: {name} has partitions 0 to {}",
                    topic.partitions - 1
                ));
            }
            if *name != topic.name && !is_made {
                return Err(format!(
                    "target: there is no topic {name:?}; the one under load is {:?}, and no act before makes another",
                    topic.name
                ));
            }
        }
        let replicas = usize::try_from(topic.replication_factor).unwrap_or_default();
        let size = target.size(BROKERS as usize, CONTROLLERS as usize, replicas);
        if size == Some(0) {
            return Err(format!("target: {text} means nobody in a set that small"));
        }
        if replicas < 2 && (text.starts_with("follower") || text.starts_with("out-of-")) {
            return Err(format!(
                "target: with replication_factor 1 there is never a {text}"
            ));
        }
        Ok((size, target.can_be_broker(&self.controllers)))
    }

    fn condition(&self, which: &str, condition: &Condition) -> Result<(), String> {
        let never = |why: String| Err(format!("{which}: it can never hold: {why}"));
        for name in condition.names().filter(|name| *name != OTHERS) {
            match self.names.get(name) {
                Some((_, true)) => {}
                Some((_, false)) => {
                    return never(format!(
                        "{name} is a controller, which no partition and no fence knows"
                    ));
                }
                None => match Target::parse(name) {
                    Ok(Target::Number(number)) if (0..BROKERS).contains(&number) => {}
                    _ => return Err(format!("{which}: nobody is named {name:?} yet")),
                },
            }
        }
        let replicas = usize::try_from(self.scenario.topic.replication_factor).unwrap_or_default();
        if let Some(size) = condition.isr_size.filter(|size| *size > replicas) {
            return never(format!(
                "an ISR of {size} where the replication_factor is {replicas}"
            ));
        }
        if let Some(name) = condition
            .fenced
            .iter()
            .find(|name| condition.unfenced.contains(name))
        {
            return never(format!("{name} would be fenced and not"));
        }
        let leaders = condition.leader.as_deref().unwrap_or_default();
        if !leaders.is_empty() && leaders.iter().all(|name| condition.fenced.contains(name)) {
            return never(format!(
                "a broker that is fenced leads nothing, and the leader is of {leaders:?}"
            ));
        }
        if !leaders.is_empty()
            && (condition.isr_size == Some(0) || condition.isr.as_ref().is_some_and(Vec::is_empty))
        {
            return never("a leader is in the ISR, and the ISR is empty".into());
        }
        if let (Some(isr), Some(size)) = (&condition.isr, condition.isr_size) {
            let one = |name: &String| match self.names.get(name.as_str()) {
                Some((size, _)) => *size,
                None => (name != OTHERS).then_some(1),
            };
            let most = isr.iter().map(one).sum::<Option<usize>>();
            if most.is_some_and(|most| most < size) {
                return never(format!("an ISR of {isr:?} has not {size} members"));
            }
        }
        if let Some(Count::Drawn(range)) = condition.acks.filter(|count| matches!(count, Count::Drawn(_)))
            && range.high > MOST_ACKS
        {
            return never(format!("{} acks are more than any run has", range.high));
        }
        Ok(())
    }

    fn requirement(&self, requirement: &Requirement) -> Result<(), String> {
        let steps = || self.scenario.steps.iter().map(|step| step.name.as_str());
        let place = |field: &str, step: &str| {
            steps().position(|name| name == step).ok_or_else(|| {
                let near = nearest(step, steps()).join(", ");
                format!("{field}: there is no step {step:?}; the nearest are {near}")
            })
        };
        let put_in = |fault: &str| {
            if self.used.contains(&fault) {
                return Ok(());
            }
            let near = nearest(fault, self.used.iter().copied()).join(", ");
            Err(format!(
                "fault: no step puts {fault:?} in; the nearest that one does are {near}"
            ))
        };
        match requirement {
            Requirement::Acks { .. } => Ok(()),
            Requirement::AcksBefore { step, .. } => place("step", step).map(drop),
            Requirement::AcksBetween { from, to, .. } => {
                if place("from", from)? >= place("to", to)? {
                    return Err(format!("{from} does not come before {to}"));
                }
                Ok(())
            }
            Requirement::AckedRecordsTaken { fault, .. }
            | Requirement::NoAckedRecordTaken { fault }
            | Requirement::FaultApplied { fault, .. } => put_in(fault),
        }
    }
}

/// More acknowledgements than this no run of a laptop has within any limit: a slip of the pen.
const MOST_ACKS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::super::BUILT_IN;
    use super::*;

    fn why(from: &str, to: &str) -> String {
        let text = BUILT_IN[0].1.replacen(from, to, 1);
        assert_ne!(text, BUILT_IN[0].1, "{from}");
        Scenario::parse("x.toml", &text).unwrap_err().why
    }

    #[test]
    fn what_can_never_be_is_refused_with_its_line() {
        let act = "act = [{ fault = \"cut-network\", target = \"follower\", as = \"first\" }]";
        let with = |act_now: &str| why(act, act_now);
        for (error, says) in [
            (
                with("act = [{ fault = \"cut-network\", target = \"3\", as = \"first\" }]"),
                "no node 3",
            ),
            (
                with("act = [{ fault = \"cut-network\", target = \"leader:night-1\", as = \"first\" }]"),
                "partitions 0 to 0",
            ),
            (
                with("act = [{ fault = \"cut-network\", target = \"leader:day-0\", as = \"first\" }]"),
                "no topic \"day\"",
            ),
            (
                with("act = [{ fault = \"cut-netwrk\", target = \"leader\", as = \"first\" }]"),
                "cut-network",
            ),
            (
                with("act = [{ target = \"leader\", as = \"first\" }]"),
                "either fault or heal",
            ),
            (
                with("act = [{ fault = \"crash\", target = [], as = \"first\" }]"),
                "nobody is meant",
            ),
            (
                with("act = [{ heal = \"cut-network\", target = \"leader\", as = \"first\" }]"),
                "no act before it puts",
            ),
            (
                with(
                    "act = [{ fault = \"crash\", target = \"leader\", params = { hard = 1 }, as = \"first\" }]",
                ),
                "no parameters",
            ),
            (
                with(
                    "act = [{ fault = \"power-cut\", target = \"leader\", params = { remaindr = \"torn\" }, as = \"first\" }]",
                ),
                "nearest are remainder",
            ),
            (
                with(
                    "act = [{ fault = \"pause\", target = \"0\", as = \"first\" }, { fault = \"pause\", target = \"0\" }]",
                ),
                "already",
            ),
            (
                with("act = [{ fault = \"crash\", target = \"active-controller\", as = \"first\" }]"),
                "first is a controller",
            ),
            (why("isr_size = 3", "isr_size = 4"), "an ISR of 4"),
            (
                why(
                    "until = { fenced = [\"second\"], isr",
                    "until = { fenced = [\"second\"], unfenced = [\"second\"], isr",
                ),
                "fenced and not",
            ),
            (
                why("leader = [\"others\"] }", "leader = [\"second\"] }"),
                "a broker that is fenced leads nothing",
            ),
            (why("limit = \"10s\"", "limit = \"10h\""), "whole run's"),
            (why("limit = \"10s\"", "limit = \"0s\""), "never enough"),
            (why("step = \"T0\"", "step = \"T9\""), "no step \"T9\""),
            (why("from = \"T0\"", "from = \"T2\""), "does not come before"),
            (
                why("fault = \"power-cut\"\nat_least", "fault = \"crash\"\nat_least"),
                "no step puts",
            ),
        ] {
            assert!(error.contains(says), "{says}: {error}");
            assert!(error.starts_with("line "), "{error}");
        }
    }

    #[test]
    fn the_line_is_that_of_the_act() {
        let error = why(
            "act = [{ fault = \"power-cut\", target = \"last\"",
            "act = [{ fault = \"power-cut\", target = \"lost\"",
        );
        let text = BUILT_IN[0].1;
        let line = text[..text.find("fault = \"power-cut\", target").unwrap()]
            .lines()
            .count();
        assert!(
            error.starts_with(&format!("line {line}: step T2, act 1: ")),
            "{error}"
        );
    }

    #[test]
    fn several_targets_roles_and_parameters_are_taken() {
        for act in [
            "act = [{ fault = \"pause\", target = [\"follower\", \"active-controller\"], as = \"first\" }]",
            "act = [{ fault = \"power-cut\", target = \"brokers:minority\", params = { remainder = \"torn\" }, as = \"first\" }]",
            "act = [{ fault = \"pause\", target = \"0\", as = \"first\" }, { heal = \"pause\", target = \"all\" }, { fault = \"pause\", target = \"0\" }]",
        ] {
            let text = BUILT_IN[0].1.replacen(
                "act = [{ fault = \"cut-network\", target = \"follower\", as = \"first\" }]",
                act,
                1,
            );
            Scenario::parse("x.toml", &text).unwrap();
        }
    }
}
