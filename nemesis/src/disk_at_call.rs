//! A node is struck at the very moment of a call to its disk: its power goes, or its program is killed.

use crate::disks::{self, CALLS, PATH};
use crate::links::{ms, number};
use crate::power_cut::{PROFILE, REMAINDER, policy};
use crate::{About, Doing, Fault, Field, Kind, Measured, NotTaken, Order, Param, Program, ready, worst};
use clusters::{Capability, Crash, DiskEffect, DiskRule, Event, PowerCut};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// Power goes at a call.
pub struct DiskCutAtCall;
/// The program is killed at a call.
pub struct DiskKillAtCall;

/// How long the call may take to come.
const LIMIT: Duration = Duration::from_secs(60);

/// Which call.
const NUMBER: Param = number(
    "call_number",
    "at which of the calls that meet it, counted from 1",
    (1.0, 1e9),
    1.0,
);
/// Before or after.
const MOMENT: Param = Param {
    name: "moment",
    text: "before: the call is not done; or after: it is done and answered, and nothing that comes after it",
    kind: Kind::Word(&["before", "after"]),
};
/// What is measured of both.
const MET: (&str, &str) = ("met_calls", "calls that met it, with the one at which it struck");
const ACCEPTS: (&str, &str) = ("accepts_ms", "from the start until it accepts a connection");

/// What the first is.
const CUT: About = About {
    name: "disk-cut-at-call",
    text: "the node loses its power at the n-th of certain calls to its disk, before or after it: from that call on nothing \
           becomes durable and no call is answered; some milliseconds later its wire is silent",
    needs: Capability::Disk,
    params: &[CALLS, PATH, NUMBER, MOMENT, REMAINDER, PROFILE],
    heals: "power comes back in a new network namespace, the program is started and accepts a connection",
    measures: &[
        MET,
        ("silent_ms", "from the call until the wire was silent"),
        (
            "dead_ms",
            "from the call until every process of the node was gone",
        ),
        ("lost_bytes", "bytes that the disk lost"),
        ("lost_files", "files that lost bytes, or their names"),
        ACCEPTS,
    ],
    program: Program::LosesPower,
};

/// What the second is.
const KILL: About = About {
    name: "disk-kill-at-call",
    text: "every process of the node is killed at the n-th of certain calls to its disk, before or after it: no call is answered \
           from there on, and the page cache is kept",
    needs: Capability::Disk,
    params: &[CALLS, PATH, NUMBER, MOMENT],
    heals: "the program is started again, and accepts a connection",
    measures: &[
        MET,
        (
            "dead_ms",
            "from the call until the program was seen to end by signal 9",
        ),
        ACCEPTS,
    ],
    program: Program::Ends,
};

/// What became of one target.
struct Struck {
    at_ns: u64,
    cut: Option<PowerCut>,
    ended_at_ns: Option<u64>,
}

impl Struck {
    fn is_over(&self, how: Crash) -> bool {
        match how {
            Crash::Power(_) => self.cut.is_some(),
            Crash::Kill => self.ended_at_ns.is_some(),
        }
    }

    fn measured(&self) -> Measured {
        let since = |at_ns: u64| ms(at_ns.saturating_sub(self.at_ns));
        let mut measured = Measured::new();
        if let Some(cut) = &self.cut {
            measured.extend([
                ("silent_ms".into(), since(cut.cut_at_ns)),
                ("dead_ms".into(), since(cut.dead_at_ns)),
                ("lost_bytes".into(), cut.loss.bytes as f64),
                ("lost_files".into(), cut.loss.files as f64),
            ]);
        }
        measured.extend(self.ended_at_ns.map(|at_ns| ("dead_ms".into(), since(at_ns))));
        measured
    }
}

async fn inject(field: Field<'_>, order: &Order, how: Crash) -> Result<Measured, NotTaken> {
    let cluster = field.cluster;
    let mut events = cluster.events();
    let rule = |_| DiskRule {
        calls: disks::calls(order),
        skip: disks::count(order, NUMBER.name) - 1,
        ..disks::rule_on(
            order,
            DiskEffect::Crash {
                after: order.params.text(MOMENT.name) == "after",
                how,
            },
        )
    };
    disks::put_in(field, order, rule, |_| true).await?;
    let mut struck = BTreeMap::new();
    let all = all_struck(&mut events, order, how, &mut struck);
    if tokio::time::timeout(LIMIT, all).await.is_err() {
        for node in &order.nodes {
            cluster.clear_disk_rule(*node, order.id)?;
        }
        let missing: Vec<i32> = order
            .nodes
            .iter()
            .copied()
            .filter(|node| !struck.contains_key(node))
            .collect();
        return Err(NotTaken::NotSeen(format!(
            "no such call was met {} times within {LIMIT:?} by the disks of nodes {missing:?}: give them load, or name other \
             calls or another path",
            disks::count(order, NUMBER.name)
        )));
    }
    let mut measured: Vec<Measured> = struck.values().map(Struck::measured).collect();
    for node in &order.nodes {
        let counts = cluster.disk_rule_counts(*node, order.id)?;
        measured.push(Measured::from([(MET.0.into(), counts.met as f64)]));
    }
    Ok(worst(measured))
}

/// Hears of every target's end.
async fn all_struck(
    events: &mut Receiver<Event>,
    order: &Order,
    how: Crash,
    struck: &mut BTreeMap<i32, Struck>,
) {
    let mut ended = BTreeMap::new();
    while !order
        .nodes
        .iter()
        .all(|node| struck.get(node).is_some_and(|one| one.is_over(how)))
    {
        match events.recv().await {
            Ok(Event::DiskCrashed {
                node,
                fault,
                at_ns,
                cut,
                ..
            }) if fault == order.id => {
                let ended_at_ns = ended.get(&node).copied();
                let one = Struck {
                    at_ns,
                    cut,
                    ended_at_ns,
                };
                struck.insert(node, one);
            }
            Ok(Event::ProgramEnded {
                node,
                signal: Some(_),
                at_ns,
                ..
            }) => {
                // It may be told before what struck it.
                ended.insert(node, at_ns);
                if let Some(one) = struck.get_mut(&node) {
                    one.ended_at_ns = Some(at_ns);
                }
            }
            Err(RecvError::Closed) => return std::future::pending().await,
            _ => {}
        }
    }
}

impl Fault for DiskCutAtCall {
    fn about(&self) -> &'static About {
        &CUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move { inject(field, order, Crash::Power(policy(order)?)).await })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            for node in &order.nodes {
                disks::take_out(field.cluster, order, *node, |_, _| Measured::new())?;
                field.cluster.power_on(*node)?;
            }
            ready::started(field.cluster, &order.nodes).await
        })
    }
}

impl Fault for DiskKillAtCall {
    fn about(&self) -> &'static About {
        &KILL
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(inject(field, order, Crash::Kill))
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            for node in &order.nodes {
                disks::take_out(field.cluster, order, *node, |_, _| Measured::new())?;
            }
            ready::started(field.cluster, &order.nodes).await
        })
    }
}
