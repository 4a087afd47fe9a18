//! The plan: a scenario, a seed and the command line, made concrete. It is the run folder's `plan.toml`, and all
//! that the conductor knows. A seed repeats the plan, not the run.

use crate::error::Error;
use crate::scenario::{Act, Condition, Count, Range, Said, Scenario, Step, Topic, WorkloadName};
use crate::streams::{Stream, stream};
use clusters::{Capability, System};
use ground::DiskKind;
use history::{Promise, Requirement};
use rand_core::Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The feature that switches eligible leader replicas.
pub const ELR_FEATURE: &str = "eligible.leader.replicas.version";
/// The faults that need voters which may change.
const OF_VOTERS: [&str; 2] = ["add-voter", "remove-voter"];
/// Each append is flushed where this property is 1.
pub const FLUSH_PROPERTY: &str = "log.flush.interval.messages";
/// What a power cut leaves, where nothing else is said: all that can be asked of a real disk.
const REMAINDER_DEFAULTS: [(&str, &str); 2] = [("remainder", "only-synced"), ("profile", "ext4")];
/// How many controllers a run has.
pub const CONTROLLERS: i32 = 3;
/// How many brokers a run has.
pub const BROKERS: i32 = 3;

/// What a run will do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The scenario's name.
    pub scenario: String,
    /// One sentence about it.
    pub summary: String,
    /// The seed.
    pub seed: u64,
    /// The system under test.
    pub system: String,
    /// Its version; empty, where it has none of its own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system_version: String,
    /// The version of this program.
    pub ackall_version: String,
    /// What was typed.
    pub command: String,
    /// What is promised.
    pub promises: Vec<Promise>,
    /// The run's limit, in milliseconds.
    pub limit_ms: u64,
    /// The steady part of a scenario without steps, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
    /// Whether the nodes' disks are kept after the run.
    pub keep_disks: KeepDisks,
    /// Finalised feature levels, given to the format step.
    pub features: BTreeMap<String, i16>,
    /// The bug that is switched on in every node, by name; none where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bug: Option<String>,
    /// What the nodes' disks are.
    #[serde(default, skip_serializing_if = "is_default")]
    pub disk: DiskKind,
    /// Server properties of every node.
    pub server: BTreeMap<String, String>,
    /// Where each value came from: the scenario, the seed, a flag.
    pub sources: BTreeMap<String, String>,
    /// The topic under load.
    pub topic: Topic,
    /// Replicas of each of its partitions, in assignment order.
    pub assignment: Vec<Vec<i32>>,
    /// The load.
    pub workload: Workload,
    /// What must have happened.
    pub requirements: Vec<Requirement>,
    /// The steps.
    pub steps: Vec<PlannedStep>,
}

/// The load, made concrete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// The workload.
    pub name: WorkloadName,
    /// How many producers.
    pub producers: u64,
    /// Sizes of a record's value, in bytes, drawn for each record.
    pub record_bytes: [u64; 2],
    /// How many readers.
    pub readers: u32,
    /// A producer's time-out.
    pub producer_timeout_ms: u64,
    /// The seed of its stream.
    pub seed: u64,
}

/// A step, made concrete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// Its name.
    pub name: String,
    /// What it does.
    pub text: String,
    /// Its limit in milliseconds.
    pub limit_ms: u64,
    /// Which of several possible nodes each act takes, counted from 0 and taken modulo their number.
    pub picks: Vec<u64>,
    /// Waited for before it acts.
    #[serde(default)]
    pub after: Condition,
    /// What it does.
    #[serde(default)]
    pub act: Vec<Act>,
    /// Waited for after it acted.
    #[serde(default)]
    pub until: Vec<Condition>,
}

/// When the nodes' disks stay in the run's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum KeepDisks {
    /// After every run.
    Always,
    /// After a run that did not pass.
    OnFail,
    /// Never.
    Never,
}

/// What the command line adds to a scenario.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--set`.
    pub server: BTreeMap<String, String>,
    /// `--feature`.
    pub features: BTreeMap<String, i16>,
    /// `--time`, in milliseconds.
    pub time_ms: Option<u64>,
    /// `--bug`.
    pub bug: Option<String>,
    /// `--disk`.
    pub disk: DiskKind,
    /// `--system`.
    pub system: System,
}

fn is_default(disk: &DiskKind) -> bool {
    *disk == DiskKind::default()
}

/// Where a fault has voters come and go, they must be such as may.
fn voters_change(scenario: &Scenario, features: &BTreeMap<String, i16>) -> Result<(), Error> {
    let acts = scenario.steps.iter().flat_map(|step| &step.act);
    let of_voters = acts.map(Act::name).find(|name| OF_VOTERS.contains(name));
    let feature = clusters::KRAFT_VERSION;
    let may = features.get(feature).is_some_and(|level| *level >= 1);
    match of_voters.filter(|_| !may) {
        None => Ok(()),
        Some(fault) => Err(Error::usage(
            format!("planning {}", scenario.name),
            format!("its voters are fixed, and {fault} has one come or go"),
            format!("--feature {feature}=1"),
        )),
    }
}

/// Server properties of every node: the command line's before the scenario's before the system's own.
fn server(
    scenario: &Scenario,
    overrides: &Overrides,
    sources: &mut BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let system = &overrides.system;
    let mut server = BTreeMap::new();
    let mut say = |key: &str, value: String, source: String| {
        server.insert(key.to_owned(), value);
        sources.insert(format!("server.{key}"), source);
    };
    for (key, value) in &system.server {
        say(key, value.clone(), format!("system {}", system.name));
    }
    for (key, value) in &scenario.server {
        say(key, plain(value), "scenario".into());
    }
    for (key, least) in &system.server_least {
        let said = scenario.server.get(key).map(plain);
        match said.as_deref().map(str::parse::<i64>) {
            Some(Ok(said)) if said < *least => {
                let source = format!("scenario {said}, raised for {}", system.name);
                say(key, least.to_string(), source);
            }
            Some(_) => {}
            None if system.server.contains_key(key) => {}
            None => say(key, least.to_string(), format!("system {}", system.name)),
        }
    }
    for (key, value) in &overrides.server {
        say(key, value.clone(), "--set".into());
    }
    server
}

/// Feature levels: the command line's before the system's own.
fn levels(
    scenario: &Scenario,
    overrides: &Overrides,
    sources: &mut BTreeMap<String, String>,
) -> Result<BTreeMap<String, i16>, Error> {
    let system = &overrides.system;
    let mut levels = BTreeMap::new();
    for (name, feature) in system.features().filter(|(_, feature)| feature.default > 0) {
        levels.insert(name.to_owned(), feature.default);
        sources.insert(format!("features.{name}"), format!("default of {}", system.name));
    }
    for (name, level) in &overrides.features {
        let highest = system.highest_level(name);
        // A level of 0 is that of whoever does not know the feature, so it need not be of this version.
        if !system.features.contains_key(name) || !(0..=highest).contains(level) {
            return Err(no_level(scenario, system, name, *level));
        }
        levels.insert(name.clone(), *level);
        sources.insert(format!("features.{name}"), "--feature".to_string());
    }
    Ok(levels)
}

/// Refuses a feature level that the system, or this version of it, has not.
fn no_level(scenario: &Scenario, system: &System, name: &str, level: i16) -> Error {
    let what = format!("planning {} with {name}={level}", scenario.name);
    let versioned = format!("{} {}", system.name, system.version);
    let versioned = versioned.trim();
    match system.features.get(name) {
        Some(feature) if system.highest_level(name) == 0 => Error::usage(
            what,
            format!(
                "{versioned} does not know this feature: it came with {}",
                feature.since
            ),
            format!("--feature {name}=0, or a later version"),
        ),
        Some(feature) => Error::usage(
            what,
            format!(
                "there is no such feature level: {versioned} has 0 to {}",
                feature.highest
            ),
            format!("--feature {name}=0 to ={}", feature.highest),
        ),
        None => {
            let names: Vec<&str> = system.features().map(|(name, _)| name).collect();
            Error::usage(
                what,
                format!("there is no such feature level: {versioned} has no feature of that name"),
                format!("--feature NAME=0 or =1, of {}", names.join(" and ")),
            )
        }
    }
}

impl Plan {
    /// Makes a plan.
    ///
    /// # Errors
    /// Usage, where `--time` is given to a scenario made of steps, or a feature is unknown.
    pub fn new(
        scenario: &Scenario,
        seed: u64,
        overrides: &Overrides,
        keep_disks: KeepDisks,
        command: &str,
    ) -> Result<Plan, Error> {
        if overrides.time_ms.is_some() && !scenario.steps.is_empty() {
            return Err(Error::usage(
                format!("planning {}", scenario.name),
                "it is made of steps, which end when their states are reached: --time has no meaning in it",
                "leave --time out, or run `calm`",
            ));
        }
        real_disk_takes(scenario, overrides.disk)?;
        let mut draw = Draw {
            plan: stream(seed, Stream::Plan),
            sources: BTreeMap::new(),
        };
        let assignment = draw.assignment(&scenario.topic);
        let producers = draw.range("workload.producers", scenario.workload.producers);
        let record_bytes = draw.sizes(scenario.workload.record_bytes);
        let mut sources = BTreeMap::new();
        let server = server(scenario, overrides, &mut sources);
        let features = levels(scenario, overrides, &mut sources)?;
        if overrides.bug.is_some() {
            sources.insert("bug".to_string(), "--bug".to_string());
        }
        if !is_default(&overrides.disk) {
            sources.insert("disk".to_string(), "--disk".to_string());
        }
        let elr = features.get(ELR_FEATURE).is_some_and(|level| *level >= 1);
        if let Some(target) = scenario
            .targets()
            .find(|target| !elr && target.starts_with("in-elr"))
        {
            return Err(Error::usage(
                format!("planning {} with {ELR_FEATURE}=0", scenario.name),
                format!("without eligible leader replicas nobody is ever {target}"),
                "leave --feature out, or name another target",
            ));
        }
        voters_change(scenario, &features)?;
        let steps = scenario.steps.iter().map(|step| draw.step(step, elr));
        let times = u64::from(overrides.system.limits_times);
        let longer = |step: PlannedStep| PlannedStep {
            limit_ms: step.limit_ms * times,
            ..step
        };
        let steps = steps.map(longer).collect();
        sources.append(&mut draw.sources);
        if times > 1 {
            let word = format!("scenario, {times} times for {}", overrides.system.name);
            sources.insert("limits".to_string(), word);
        }
        let flushed = server.get(FLUSH_PROPERTY).is_some_and(|value| value == "1");
        Ok(Plan {
            scenario: scenario.name.clone(),
            summary: scenario.summary.clone(),
            seed,
            system: overrides.system.name.clone(),
            system_version: overrides.system.version.clone(),
            ackall_version: env!("CARGO_PKG_VERSION").into(),
            command: command.into(),
            promises: promises(scenario, flushed),
            limit_ms: scenario.limit.as_millis() as u64 * times + overrides.time_ms.unwrap_or(0),
            time_ms: overrides
                .time_ms
                .or(scenario.time.map(|time| time.as_millis() as u64)),
            keep_disks,
            features,
            bug: overrides.bug.clone(),
            disk: overrides.disk,
            server,
            sources,
            topic: scenario.topic.clone(),
            assignment,
            workload: Workload {
                name: scenario.workload.name,
                producers,
                record_bytes,
                readers: scenario.workload.readers,
                producer_timeout_ms: scenario.workload.producer_timeout_ms,
                seed,
            },
            requirements: requirements(scenario, flushed),
            steps,
        })
    }
}

impl Plan {
    /// The plan of a cluster by hand: nodes as a scenario has them, and nothing that happens to them.
    ///
    /// # Errors
    /// Usage, where a feature is unknown.
    pub fn by_hand(
        seed: u64,
        overrides: &Overrides,
        keep_disks: KeepDisks,
        command: &str,
    ) -> Result<Plan, Error> {
        let calm = Scenario::find("calm")?;
        let scenario = Scenario {
            name: "by-hand".into(),
            summary: "A cluster by hand.".into(),
            promises: Vec::new(),
            requirements: Vec::new(),
            time: None,
            topic: Topic {
                name: String::new(),
                partitions: 0,
                replication_factor: 0,
                min_insync_replicas: 0,
            },
            ..calm
        };
        Plan::new(&scenario, seed, overrides, keep_disks, command)
    }
}

/// Refuses what a real disk cannot do: faults of our own disk, and remainders of a cut other than the default.
fn real_disk_takes(scenario: &Scenario, disk: DiskKind) -> Result<(), Error> {
    if disk.mode().is_some() {
        return Ok(());
    }
    let what = format!("planning {} with --disk {}", scenario.name, disk.word());
    let acts = scenario.steps.iter().flat_map(|step| &step.act);
    for (act, fault) in acts.filter_map(|act| Some((act, act.fault.as_deref()?))) {
        if nemesis::find(fault).is_some_and(|found| found.about().needs == Capability::Disk) {
            let why = format!("{fault} is a fault of ackall's own disk; a real one serves itself");
            return Err(Error::usage(what, why, "leave --disk out"));
        }
        for (name, default) in REMAINDER_DEFAULTS {
            let Some(Said::Text(said)) = act.params.get(name) else {
                continue;
            };
            if said != default {
                let why = format!(
                    "{fault} is told {name} {said}: a real file system decides itself what a cut leaves"
                );
                return Err(Error::usage(what, why, "leave --disk out"));
            }
        }
    }
    Ok(())
}

/// Where each append is flushed the scenario also promises `fsync`.
fn promises(scenario: &Scenario, flushed: bool) -> Vec<Promise> {
    let mut promises = scenario.promises.clone();
    if flushed && !promises.contains(&Promise::Fsync) {
        promises.push(Promise::Fsync);
    }
    promises
}

/// Where each append is flushed a power cut takes no acknowledged record, and must not.
fn requirements(scenario: &Scenario, flushed: bool) -> Vec<Requirement> {
    let change = |requirement: &Requirement| match requirement {
        Requirement::AckedRecordsTaken { fault, .. } if flushed => {
            Requirement::NoAckedRecordTaken { fault: fault.clone() }
        }
        other => other.clone(),
    };
    scenario.requirements.iter().map(change).collect()
}

fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Draws from the plan's stream, in the order of the scenario, noting each.
struct Draw {
    plan: rand_chacha::ChaCha8Rng,
    sources: BTreeMap<String, String>,
}

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        // The bias of the remainder is below 2^-50 for the ranges of a scenario.
        self.plan.next_u64() % bound
    }

    fn range(&mut self, what: &str, range: Range) -> u64 {
        self.sources
            .insert(what.into(), format!("seed, from [{}, {}]", range.low, range.high));
        range.low + self.below(range.high - range.low + 1)
    }

    /// A narrower range within the scenario's, so that runs differ in their mean size too.
    fn sizes(&mut self, range: Range) -> [u64; 2] {
        let a = self.range("workload.record_bytes", range);
        let b = self.range("workload.record_bytes", range);
        [a.min(b), a.max(b)]
    }

    /// Replicas in an order of the seed's, each partition its own.
    fn assignment(&mut self, topic: &Topic) -> Vec<Vec<i32>> {
        self.sources.insert("assignment".into(), "seed".into());
        let mut one = || {
            let mut brokers: Vec<i32> = (0..BROKERS).collect();
            for i in (1..brokers.len()).rev() {
                let j = self.below(i as u64 + 1) as usize;
                brokers.swap(i, j);
            }
            brokers.truncate(topic.replication_factor.max(1) as usize);
            brokers
        };
        (0..topic.partitions).map(|_| one()).collect()
    }

    fn step(&mut self, step: &Step, elr: bool) -> PlannedStep {
        /// Enough for any number of candidates to be picked from evenly.
        const PICKS: u64 = 720_720;
        let after = self.condition(&format!("steps.{}.after", step.name), &step.after);
        let picks = step.act.iter().map(|_| self.below(PICKS)).collect();
        self.sources
            .insert(format!("steps.{}.picks", step.name), "seed".into());
        let until = self.condition(&format!("steps.{}.until", step.name), &step.until);
        let with_elr = self.condition(
            &format!("steps.{}.until_with_elr", step.name),
            &step.until_with_elr,
        );
        let act = step
            .act
            .iter()
            .enumerate()
            .map(|(n, act)| self.act(&step.name, n, act));
        let act = act.collect();
        let both = [until, with_elr];
        let until = both.into_iter().take(if elr { 2 } else { 1 });
        PlannedStep {
            name: step.name.clone(),
            text: step.text.clone(),
            limit_ms: step.limit.as_millis() as u64,
            picks,
            after,
            act,
            until: until
                .filter(|condition| *condition != Condition::default())
                .collect(),
        }
    }

    /// An act with its parameters drawn and completed; a heal is told nothing.
    fn act(&mut self, step: &str, n: usize, act: &Act) -> Act {
        let fault = act.fault.as_deref().and_then(nemesis::find);
        let Some(fault) = fault else { return act.clone() };
        let mut sources = BTreeMap::new();
        let mut from = |param: &str, text: String| {
            sources.insert(format!("steps.{step}.act.{n}.params.{param}"), text);
        };
        let act = act.made_concrete(fault.about(), &mut |bound| self.below(bound), &mut from);
        self.sources.append(&mut sources);
        act
    }

    fn condition(&mut self, what: &str, condition: &Condition) -> Condition {
        let acks = condition.acks.map(|count| match count {
            Count::Exactly(n) => Count::Exactly(n),
            Count::Drawn(range) => Count::Exactly(self.range(&format!("{what}.acks"), range)),
        });
        Condition {
            acks,
            ..condition.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(seed: u64, overrides: &Overrides) -> Result<Plan, Error> {
        let scenario = Scenario::find("last-replica-standing").unwrap();
        Plan::new(&scenario, seed, overrides, KeepDisks::Never, "test")
    }

    #[test]
    fn a_seed_repeats_the_plan_and_twenty_seeds_give_twenty_plans() {
        let none = Overrides::default();
        assert_eq!(plan(7, &none).unwrap(), plan(7, &none).unwrap());
        let varied = |p: &Plan| {
            let acks: Vec<_> = p.steps.iter().map(|s| (s.after.acks, s.until.clone())).collect();
            (
                p.assignment.clone(),
                p.workload.producers,
                p.workload.record_bytes,
                acks,
            )
        };
        let plans: Vec<_> = (1..=20).map(|seed| varied(&plan(seed, &none).unwrap())).collect();
        for (i, a) in plans.iter().enumerate() {
            assert!(
                plans[..i].iter().all(|b| a != b),
                "seed {} repeats another",
                i + 1
            );
        }
    }

    #[test]
    fn switching_elr_off_shifts_no_draw() {
        let off = Overrides {
            features: BTreeMap::from([(ELR_FEATURE.into(), 0)]),
            ..Overrides::default()
        };
        let (on, off) = (plan(3, &Overrides::default()).unwrap(), plan(3, &off).unwrap());
        assert_eq!(on.assignment, off.assignment);
        assert_eq!(on.workload, off.workload);
        assert_eq!(on.steps[4], off.steps[4]);
        assert_eq!((on.steps[3].until.len(), off.steps[3].until.len()), (2, 1));
        assert_eq!(on.promises, off.promises);
    }

    #[test]
    fn a_plan_survives_its_file() {
        let plan = plan(1, &Overrides::default()).unwrap();
        let text = toml::to_string(&plan).unwrap();
        assert_eq!(toml::from_str::<Plan>(&text).unwrap(), plan);
    }

    #[test]
    fn a_bug_stands_in_the_plan_and_shifts_no_draw() {
        let with = Overrides {
            bug: Some("b".into()),
            ..Overrides::default()
        };
        let (without, with) = (plan(3, &Overrides::default()).unwrap(), plan(3, &with).unwrap());
        let text = |plan: &Plan| toml::to_string(plan).unwrap();
        assert!(!text(&without).contains("bug"));
        assert!(text(&with).contains("bug = \"b\"") && text(&with).contains("bug = \"--bug\""));
        assert_eq!(toml::from_str::<Plan>(&text(&with)).unwrap(), with);
        let mut same = with.clone();
        same.bug = None;
        same.sources.remove("bug");
        assert_eq!(same, without);
    }

    #[test]
    fn a_real_disk_stands_in_the_plan_and_takes_no_fault_of_ours() {
        let with = Overrides {
            disk: DiskKind::Ext4,
            ..Overrides::default()
        };
        let (without, real) = (plan(3, &Overrides::default()).unwrap(), plan(3, &with).unwrap());
        let text = |plan: &Plan| toml::to_string(plan).unwrap();
        assert!(!text(&without).contains("disk = "));
        assert!(text(&real).contains("disk = \"ext4\"") && text(&real).contains("disk = \"--disk\""));
        assert_eq!(toml::from_str::<Plan>(&text(&real)).unwrap(), real);
        let refused = |act: &str| {
            let mut scenario = Scenario::find("last-replica-standing").unwrap();
            let act: Act = toml::from_str(act).unwrap();
            scenario.steps[0].act = vec![act];
            real_disk_takes(&scenario, DiskKind::Xfs)
                .err()
                .map(|error| error.why)
        };
        let cut = "fault = \"power-cut\"\ntarget = \"101\"\n";
        assert_eq!(refused(cut), None);
        assert_eq!(
            refused(&format!("{cut}params = {{ remainder = \"only-synced\" }}")),
            None
        );
        let torn = refused(&format!("{cut}params = {{ remainder = \"torn\" }}")).unwrap();
        assert!(torn.contains("decides itself"), "{torn}");
        let ours = nemesis::ALL
            .iter()
            .find(|fault| fault.about().needs == Capability::Disk)
            .unwrap();
        let name = ours.about().name;
        let why = refused(&format!("fault = \"{name}\"\ntarget = \"101\"")).unwrap();
        assert!(why.contains("serves itself"), "{why}");
    }

    #[test]
    fn flushing_each_message_turns_the_requirement_round() {
        let flush = Overrides {
            server: BTreeMap::from([(FLUSH_PROPERTY.into(), "1".into())]),
            ..Overrides::default()
        };
        let plan = plan(1, &flush).unwrap();
        assert!(plan.promises.contains(&Promise::Fsync));
        assert!(plan.requirements.contains(&Requirement::NoAckedRecordTaken {
            fault: "power-cut".into()
        }));
    }

    #[test]
    fn voters_come_and_go_only_where_they_may_change() {
        let mut scenario = Scenario::find("last-replica-standing").unwrap();
        scenario.steps[0].act[0].fault = Some("remove-voter".into());
        let plan = |features: &[(&str, i16)]| {
            let features = features.iter().map(|(name, level)| (name.to_string(), *level));
            let overrides = Overrides {
                features: features.collect(),
                ..Overrides::default()
            };
            Plan::new(&scenario, 1, &overrides, KeepDisks::Never, "test")
        };
        let refused = plan(&[]).unwrap_err();
        assert!(
            refused.to_string().contains("--feature kraft.version=1"),
            "{refused}"
        );
        assert!(plan(&[("kraft.version", 0)]).is_err());
        assert_eq!(
            plan(&[("kraft.version", 1)]).unwrap().features["kraft.version"],
            1
        );
        assert!(plan(&[("kraft.version", 2)]).is_err());
    }

    #[test]
    fn time_for_steps_and_unknown_features_are_refused() {
        let time = Overrides {
            time_ms: Some(1),
            ..Overrides::default()
        };
        assert_eq!(plan(1, &time).unwrap_err().status, crate::error::Status::Usage);
        let feature = Overrides {
            features: BTreeMap::from([("x".into(), 1)]),
            ..Overrides::default()
        };
        assert_eq!(plan(1, &feature).unwrap_err().status, crate::error::Status::Usage);
    }
}
