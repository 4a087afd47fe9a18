//! Nodes lose their power, all at one instant: silent, and what their disks had not synced is gone. In a quiet moment, or
//! in a bad one: while they stop, and while they start.

use crate::ended::{How, ended};
use crate::links::number;
use crate::{
    About, Doing, Fault, Field, Kind, Measured, NotTaken, Order, Param, Params, Program, ready, worst,
};
use clusters::{Capability, Policy, Signal};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// The fault.
pub struct PowerCut;

/// The fault, while a node stops.
pub struct PowerCutStopping;

/// The fault, while a node starts.
pub struct PowerCutStarting;

/// What is left.
pub(crate) const REMAINDER: Param = Param {
    name: "remainder",
    text: "what is left of what was not synced; each disk draws for itself",
    kind: Kind::Word(&[
        "only-synced",
        "all-but-the-tail",
        "random-pages",
        "random-prefix",
        "torn",
        "names-without-data",
        "data-without-names",
        "everything",
    ]),
};

/// By which rules.
pub(crate) const PROFILE: Param = Param {
    name: "profile",
    text: "which states are legal: as ext4's one journal has it, or each name only with a sync of its folder",
    kind: Kind::Word(&["ext4", "posix-strict"]),
};

const HEALS: &str =
    "power comes back in a new network namespace, the program is started and accepts a connection";

/// How long after the signal, or the start, the power goes.
const AFTER: Param = number(
    "after_ms",
    "how long after the signal, or after the start, the power goes; the least that can be done is under a millisecond",
    (0.0, 10_000.0),
    0.0,
);

const SILENT_FIRST: (&str, &str) = (
    "silent_first_ms",
    "from the cut of the wire, at one instant for all nodes, until the first of them was dead: every link had stopped before",
);
const DEAD: (&str, &str) = (
    "dead_ms",
    "from the cut of the wire until every process of the nodes was gone",
);
const LOST_BYTES: (&str, &str) = ("lost_bytes", "bytes that the disks lost");
const LOST_FILES: (&str, &str) = ("lost_files", "files that lost bytes, or their names");
const KEPT: (&str, &str) = (
    "kept_unsynced_bytes",
    "bytes that were not synced, and are there all the same",
);
const ACCEPTS: (&str, &str) = ("accepts_ms", "from the start until it accepts a connection");

/// What it is while a node stops.
const STOPPING: About = About {
    name: "power-cut-stopping",
    text: "the node loses its power in the middle of a controlled shutdown: its program got SIGTERM, and has not ended",
    needs: Capability::Power,
    params: &[AFTER, REMAINDER, PROFILE],
    heals: HEALS,
    measures: &[
        ("stopping_ms", "from the signal until the cut of the wire"),
        SILENT_FIRST,
        DEAD,
        LOST_BYTES,
        LOST_FILES,
        KEPT,
        ACCEPTS,
    ],
    program: Program::LosesPower,
};

/// What it is while a node starts.
const STARTING: About = About {
    name: "power-cut-starting",
    text: "the node's program gets SIGKILL and is started again, and loses its power while it recovers",
    needs: Capability::Power,
    params: &[AFTER, REMAINDER, PROFILE],
    heals: HEALS,
    measures: &[
        ("ended_ms", "from SIGKILL until the old process was seen to end"),
        (
            "starting_ms",
            "from the exec of the new one until the cut of the wire",
        ),
        (
            "listened",
            "1 where it accepted a connection just before the cut, so that it had recovered; else 0",
        ),
        SILENT_FIRST,
        DEAD,
        LOST_BYTES,
        LOST_FILES,
        KEPT,
        ACCEPTS,
    ],
    program: Program::LosesPower,
};

/// What it is.
const ABOUT: About = About {
    name: "power-cut",
    text: "the node loses its power, silently, and what its disk had not synced",
    needs: Capability::Power,
    params: &[REMAINDER, PROFILE],
    heals: HEALS,
    measures: &[SILENT_FIRST, DEAD, LOST_BYTES, LOST_FILES, KEPT, ACCEPTS],
    program: Program::LosesPower,
};

/// What is asked of the disks.
pub(crate) fn policy(order: &Order) -> Result<Policy, NotTaken> {
    let unknown = |why: String| NotTaken::NotSeen(format!("a power cut was asked for in vain: {why}"));
    Ok(Policy {
        remainder: word(&order.params, "remainder").map_err(unknown)?,
        profile: word(&order.params, "profile").map_err(unknown)?,
        seed: order.seed,
    })
}

fn word<T: std::str::FromStr<Err: ToString>>(params: &Params, name: &str) -> Result<T, String> {
    params.text(name).parse().map_err(|why: T::Err| why.to_string())
}

impl Fault for PowerCut {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move { Ok(cut(field, order).await?.0) })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(back(field, order))
    }
}

impl Fault for PowerCutStopping {
    fn about(&self) -> &'static About {
        &STOPPING
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            for node in &order.nodes {
                if !field.cluster.runs(*node) {
                    return Err(NotTaken::NotSeen(format!(
                        "node {node} runs no program that could stop"
                    )));
                }
            }
            let asked = Instant::now();
            for node in &order.nodes {
                field.cluster.signal(*node, Signal::Terminate)?;
            }
            sleep(after(order)).await;
            let gone = order
                .nodes
                .iter()
                .find(|node| !field.cluster.runs(**node))
                .copied();
            let stopping_ms = asked.elapsed().as_secs_f64() * 1e3;
            let (mut measured, _) = cut(field, order).await?;
            if let Some(node) = gone {
                return Err(NotTaken::NotSeen(format!(
                    "node {node} had ended before its power went, {stopping_ms:.1} ms after the signal: ask for less"
                )));
            }
            measured.insert("stopping_ms".into(), stopping_ms);
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(back(field, order))
    }
}

impl Fault for PowerCutStarting {
    fn about(&self) -> &'static About {
        &STARTING
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let mut ends = Vec::new();
            for node in &order.nodes {
                let ended_ms = ended(field.cluster, *node, How::Crash).await?;
                ends.push(Measured::from([("ended_ms".into(), ended_ms)]));
            }
            let mut last_exec_ns = 0;
            for node in &order.nodes {
                last_exec_ns = field.cluster.start(*node)?.1;
            }
            let wait = after(order);
            let mut listened = false;
            if !wait.is_zero() {
                sleep(wait).await;
                for node in &order.nodes {
                    listened |= ready::accepts_now(field.cluster, *node).await?;
                }
            }
            let gone = order
                .nodes
                .iter()
                .find(|node| !field.cluster.runs(**node))
                .copied();
            let (mut measured, cut_at_ns) = cut(field, order).await?;
            if let Some(node) = gone {
                return Err(NotTaken::NotSeen(format!(
                    "node {node} had ended by itself before its power went; its log ends: {}",
                    field.cluster.log_tail(node)
                )));
            }
            let starting_ms = cut_at_ns.saturating_sub(last_exec_ns) as f64 / 1e6;
            measured.extend(worst(ends));
            measured.insert("starting_ms".into(), starting_ms);
            measured.insert("listened".into(), f64::from(u8::from(listened)));
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(back(field, order))
    }
}

fn after(order: &Order) -> Duration {
    Duration::from_secs_f64(order.params.number("after_ms") / 1e3)
}

/// Cuts all of them at one instant; what was measured, and that instant.
async fn cut(field: Field<'_>, order: &Order) -> Result<(Measured, u64), NotTaken> {
    let cuts = field.cluster.power_off(&order.nodes, order.id, policy(order)?)?;
    let at_ns = cuts.first().map_or(0, |cut| cut.cut_at_ns);
    if cuts.len() != order.nodes.len() || cuts.iter().any(|cut| cut.cut_at_ns != at_ns) {
        return Err(NotTaken::NotSeen(format!(
            "{} cuts were made where {} were asked, at one instant: {cuts:?}",
            cuts.len(),
            order.nodes.len()
        )));
    }
    let dead = || {
        cuts.iter()
            .map(|cut| cut.dead_at_ns.saturating_sub(at_ns) as f64 / 1e6)
    };
    let sum = |of: fn(&clusters::PowerCut) -> u64| cuts.iter().map(of).sum::<u64>() as f64;
    let measured = Measured::from([
        ("silent_first_ms".into(), dead().fold(f64::INFINITY, f64::min)),
        ("dead_ms".into(), dead().fold(0.0, f64::max)),
        ("lost_bytes".into(), sum(|cut| cut.loss.bytes)),
        ("lost_files".into(), sum(|cut| cut.loss.files)),
        ("kept_unsynced_bytes".into(), sum(|cut| cut.loss.kept_unsynced)),
    ]);
    Ok((measured, at_ns))
}

/// Gives the nodes power, and starts their programs. A cut that was refused has left them as they were, and a heal that
/// failed may have given some of them power already.
async fn back(field: Field<'_>, order: &Order) -> Result<Measured, NotTaken> {
    let cluster = field.cluster;
    for node in &order.nodes {
        if !cluster.has_power(*node) {
            cluster.power_on(*node)?;
        }
    }
    let (up, down): (Vec<i32>, Vec<i32>) = order.nodes.iter().partition(|node| cluster.runs(**node));
    Ok(worst([
        ready::started(cluster, &down).await?,
        ready::all_accept(cluster, &up).await?,
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clusters::{Profile, Remainder};

    #[test]
    fn the_words_are_those_of_the_disk_and_the_seed_is_the_order_s() {
        let words = |name: &str| {
            let param = ABOUT.params.iter().find(|param| param.name == name);
            match param.unwrap().kind {
                Kind::Word(words) => words.to_vec(),
                _ => panic!("{name}"),
            }
        };
        let remainders: Vec<_> = Remainder::ALL.iter().map(|one| one.word()).collect();
        assert_eq!(words("remainder"), remainders);
        let profiles: Vec<_> = Profile::ALL.iter().map(|one| one.word()).collect();
        assert_eq!(words("profile"), profiles);
        let said = [("remainder", "torn"), ("profile", "posix-strict")];
        let said = said.map(|(name, word)| (name.to_string(), crate::Value::Text(word.into())));
        let order = Order {
            id: 1,
            nodes: vec![1],
            params: Params::check(ABOUT.params, &said.into()).unwrap(),
            seed: 9,
        };
        let expected = Policy {
            remainder: Remainder::Torn,
            profile: Profile::PosixStrict,
            seed: 9,
        };
        assert_eq!(policy(&order).unwrap(), expected);
        let order = Order {
            params: Params::check(ABOUT.params, &Default::default()).unwrap(),
            ..order
        };
        assert_eq!(policy(&order).unwrap().remainder, Remainder::OnlySynced);
    }
}
