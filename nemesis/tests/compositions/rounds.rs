//! Random compositions: some faults put in, one after the other; some healed, the others seen to be in still; the rest
//! healed; nothing left over.

use super::left::{memory, stands_still};
use super::stage::Stage;
use clusters::{Capability, Resource};
use nemesis::composition::{InForce, may_heal, may_inject};
use nemesis::{Fault, Order, Program};

/// The most faults that are in at once.
const MOST: u64 = 3;
/// The first fault's number: those before it are the single faults'.
const FIRST: u64 = 1_000;
/// What memory of a role may grow by after the first quarter, in KiB: an allocator's arenas, the ledger of power cuts.
const GROWTH_KIB: u64 = 6 << 10;
/// Faster than the defaults: the campaign is of how faults meet, not of how long they last.
const FASTER: [(&str, &[(&str, f64)]); 2] = [
    ("slow-start", &[("delay_ms", 50.0)]),
    ("crash-loop", &[("times", 2.0), ("life_ms", 10.0)]),
];

/// Those that nodes which only talk cannot show.
const OF_A_CLUSTER: [&str; 6] = [
    // They have nothing to put in order, and are gone before their power could.
    "power-cut-stopping",
    "remove-broker",
    "resign-controller",
    "rolling-restart",
    "set-property",
    "twin",
];

/// A number from a seed, well mixed (SplitMix64).
pub struct Random(pub u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// A fault that is in.
struct In {
    fault: &'static dyn Fault,
    order: Order,
    /// Which start of each node's program it met.
    starts: Vec<u32>,
}

/// So many rounds.
pub async fn all(stage: &Stage, seed: u64, count: usize) -> Result<(), String> {
    let mut random = Random(seed);
    let mut id = FIRST;
    let mut seen = std::collections::BTreeMap::<&str, usize>::new();
    let mut warm = memory();
    for round in 0..count {
        let names = one(stage, &mut random, &mut id)
            .await
            .map_err(|why| format!("round {round} of seed {seed}: {why}"))?;
        stage
            .is_whole()
            .await
            .map_err(|why| format!("round {round} of seed {seed}: {names:?} have left: {why}"))?;
        for name in names {
            *seen.entry(name).or_default() += 1;
        }
        if round == count / 4 {
            warm = memory();
        }
        if (round + 1) % 50 == 0 {
            eprintln!("{} rounds · {:?} KiB", round + 1, memory());
        }
    }
    let now = memory();
    for (role, kib) in &now {
        let before = warm.get(role).copied().unwrap_or(0);
        if *kib > before + GROWTH_KIB {
            return Err(format!("{role} grew from {before} to {kib} KiB"));
        }
    }
    println!("{count} rounds, nothing left over · faults {seen:?} · memory {warm:?}, then {now:?} KiB");
    Ok(())
}

async fn one(stage: &Stage, random: &mut Random, id: &mut u64) -> Result<Vec<&'static str>, String> {
    let mut in_force: Vec<In> = Vec::new();
    let mut names = Vec::new();
    for _ in 0..=random.below(MOST as usize) {
        let Some((fault, order)) = drawn(stage, random, *id, &in_force) else {
            continue;
        };
        *id += 1;
        let name = fault.about().name;
        let with = told(&in_force);
        stage
            .inject(name, &order)
            .await
            .map_err(|why| format!("{name} on {:?} beside {with}: {why}", order.nodes))?;
        names.push(name);
        let starts = order
            .nodes
            .iter()
            .map(|node| stage.cluster.last_start(*node))
            .collect();
        in_force.push(In { fault, order, starts });
    }
    while !in_force.is_empty() {
        let may = |at: &usize| {
            let one = &in_force[*at];
            may_heal(one.fault.about(), &one.order.nodes, &others(&in_force, Some(*at))).is_ok()
        };
        let healable: Vec<usize> = (0..in_force.len()).filter(may).collect();
        if healable.is_empty() {
            return Err(format!("nothing can be healed of {names:?}"));
        }
        let In { fault, order, .. } = in_force.remove(healable[random.below(healable.len())]);
        let name = fault.about().name;
        let others = told(&in_force);
        stage
            .heal(name, &order)
            .await
            .map_err(|why| format!("healing {name} of {:?} beside {others}: {why}", order.nodes))?;
        for other in &in_force {
            still_in(stage, other)
                .map_err(|why| format!("{name} healed, and {} is out: {why}", other.fault.about().name))?;
        }
    }
    Ok(names)
}

fn told(in_force: &[In]) -> String {
    let told = in_force
        .iter()
        .map(|one| format!("{} on {:?}", one.fault.about().name, one.order.nodes));
    told.collect::<Vec<_>>().join(", ")
}

fn others(in_force: &[In], but: Option<usize>) -> Vec<InForce<'_>> {
    let others = in_force.iter().enumerate().filter(|(at, _)| Some(*at) != but);
    others
        .map(|(_, one)| InForce {
            about: one.fault.about(),
            nodes: &one.order.nodes,
        })
        .collect()
}

/// A fault that may be put in beside the others, if one is found.
fn drawn(
    stage: &Stage,
    random: &mut Random,
    id: u64,
    in_force: &[In],
) -> Option<(&'static dyn Fault, Order)> {
    /// So many draws are enough where one is allowed at all.
    const DRAWS: usize = 30;
    let is_ours = |fault: &&&dyn Fault| match fault.about().needs {
        _ if OF_A_CLUSTER.contains(&fault.about().name) => false,
        Capability::Process
        | Capability::Links
        | Capability::Power
        | Capability::Disk
        | Capability::Clock => true,
        Capability::Resources(Resource::Cpu) => stage.no_cgroups.is_none(),
        Capability::Resources(Resource::Descriptors) => true,
        _ => false,
    };
    let faults: Vec<&'static dyn Fault> = nemesis::ALL.iter().filter(is_ours).copied().collect();
    let ids: Vec<i32> = stage.cluster.nodes().iter().map(|node| node.id).collect();
    for _ in 0..DRAWS {
        let fault = faults[random.below(faults.len())];
        let mut nodes = vec![ids[random.below(ids.len())]];
        if random.below(4) == 0 {
            nodes.push(ids[random.below(ids.len())]);
        }
        nodes.sort_unstable();
        nodes.dedup();
        let about = fault.about();
        if may_inject(about, &nodes, &others(in_force, None)).is_err() {
            continue;
        }
        let said = FASTER
            .iter()
            .find(|(name, _)| *name == about.name)
            .map_or(&[][..], |(_, said)| *said);
        return Some((fault, stage.order(about.name, id, &nodes, said)));
    }
    None
}

/// Whether a fault that was not healed is in still.
fn still_in(stage: &Stage, one: &In) -> Result<(), String> {
    let (about, cluster) = (one.fault.about(), &stage.cluster);
    if about.needs == Capability::Links {
        cluster.rule_counts(one.order.id).map_err(|why| why.to_string())?;
    }
    for (node, start) in one.order.nodes.iter().zip(&one.starts) {
        if about.name == "clock-step" && cluster.runs(*node) {
            let seen = cluster.clock_seen(*node).map_err(|why| why.to_string())?;
            if seen.processes.iter().any(|process| process.wall_asked_ns == 0) {
                return Err(format!("the clock of node {node} is true: {seen:?}"));
            }
        }
        if matches!(about.needs, Capability::Resources(_)) {
            cluster
                .limit_seen(*node, one.order.id)
                .map_err(|why| why.to_string())?;
        }
        let is_down = matches!(about.program, Program::Ends | Program::LosesPower);
        if is_down && cluster.runs(*node) {
            return Err(format!("node {node} runs"));
        }
        // A pause ends with its process, which a loss of power has ended.
        let same = cluster.last_start(*node) == *start && cluster.runs(*node);
        let of_processes = about.needs != Capability::Disk;
        if about.program == Program::StandsStill && of_processes && same && !stands_still(cluster, *node) {
            return Err(format!("node {node} goes on"));
        }
    }
    Ok(())
}
