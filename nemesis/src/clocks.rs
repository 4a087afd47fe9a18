//! What the faults of clocks have in common: putting a rule on nodes' clocks, and measuring it in their processes.
//!
//! The measure is each process's own: when it next asks for a clock, the shim in it notes what the process was shown,
//! and what the kernel says. A node whose processes the rule does not reach is an error that says so, at once where
//! a process has no shim in it, and after [`LIMIT`] where nobody asked for a clock.

use crate::{Field, Kind, Measured, NotTaken, Order, Param, ready};
use clusters::{ClockRule, ClockSeen, Cluster, ProcessClock};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long a node's processes may take to ask for a clock. A server does many times a second.
const LIMIT: Duration = Duration::from_secs(10);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);
/// For so long a process may be without the shim: between its exec and its first library.
const LOADING: Duration = Duration::from_secs(1);
/// For so long all processes that have not spoken are waited for, where another has.
const OTHERS: Duration = Duration::from_millis(500);
/// What a process is shown may differ by so much from what was asked, and by what passed while it looked.
const BOUND_NS: i64 = 1_000_000;
/// So often a node that says nothing is called on: an idle server has nothing to look at its clock for.
const CALL_AGAIN: Duration = Duration::from_millis(200);
/// A millisecond, in nanoseconds.
const MS: f64 = 1e6;

/// Which clocks a fault is about.
pub(crate) const CLOCKS: Param = Param {
    name: "clocks",
    text: "\"wall\", or the monotonic clock with it. That one never goes backwards, and keeps what it gained until the power goes. \
           The reference cluster, tokio and Rust's std are tested to survive that; of others it is not known",
    kind: Kind::Word(&["wall", "wall-and-monotonic"]),
};

/// What every fault of clocks measures.
pub(crate) const OFFSET: (&str, &str) = (
    "offset_ms",
    "how far a process's wall clock was ahead of the kernel's, measured in that process; of all, the one farthest from what was asked",
);
/// What every fault of clocks measures.
pub(crate) const ERROR: (&str, &str) = (
    "error_us",
    "by how much that differed from what all faults in force ask of it, at most",
);
/// What every fault of clocks measures.
pub(crate) const PROCESSES: (&str, &str) = (
    "processes",
    "the processes in which it was measured; none where a fault that heals finds nothing running",
);
/// What every fault of clocks measures.
pub(crate) const SEEN: (&str, &str) = (
    "seen_ms",
    "from the order until every node's processes were shown it",
);

/// Whether a fault's rule is about the monotonic clock too.
pub(crate) fn monotonic(order: &Order) -> bool {
    order.params.text(CLOCKS.name) != "wall"
}

/// A parameter in milliseconds, in nanoseconds; whole microseconds.
pub(crate) fn ns(order: &Order, name: &str) -> i64 {
    (order.params.number(name) * 1e3).round() as i64 * 1_000
}

/// What one process has said since the rule was set, in the order it said so: those that were as asked.
pub(crate) type Said = BTreeMap<i32, Vec<ProcessClock>>;

/// Puts a rule in on all targets, and waits until each node's processes say that they are shown it, and until
/// `enough` has been said.
pub(crate) async fn put_in(
    field: Field<'_>,
    order: &Order,
    rule: ClockRule,
    patience: Duration,
    enough: impl Fn(&Said) -> bool,
) -> Result<(Measured, Vec<Said>), NotTaken> {
    let began = Instant::now();
    let mut all = Vec::new();
    for node in &order.nodes {
        let since = field.cluster.set_clock(*node, order.id, rule)?;
        let limit = field.cluster.patience(LIMIT) + patience;
        let mut watch = Watch::new(field.cluster, *node, since, limit);
        all.push(watch.until(&enough).await?);
    }
    Ok((measured(&all, began), all))
}

/// Takes a fault's rule out on all targets, and waits until each node's processes say that they are shown what the
/// other faults leave. A node where nothing runs, or all is stopped, has nobody to say so: what runs next will be
/// shown it.
pub(crate) async fn take_out(field: Field<'_>, order: &Order) -> Result<Measured, NotTaken> {
    let began = Instant::now();
    let mut all = Vec::new();
    for node in &order.nodes {
        let since = field.cluster.clear_clock(*node, order.id)?;
        let mut watch = Watch::new(field.cluster, *node, since, field.cluster.patience(LIMIT));
        all.push(watch.until_healed().await?);
    }
    Ok(measured(&all, began))
}

fn measured(all: &[Said], began: Instant) -> Measured {
    let error = |process: &&ProcessClock| (process.wall_offset_ns - process.wall_asked_ns).abs();
    let processes = all.iter().flat_map(BTreeMap::values);
    let worst = processes.clone().flatten().max_by_key(error);
    let mut measured = Measured::from([
        (PROCESSES.0.into(), processes.count() as f64),
        (SEEN.0.into(), began.elapsed().as_secs_f64() * 1e3),
    ]);
    if let Some(worst) = worst {
        measured.insert(OFFSET.0.into(), worst.wall_offset_ns as f64 / MS);
        measured.insert(ERROR.0.into(), error(&worst) as f64 / 1e3);
    }
    measured
}

/// Looks at one node's clocks, again and again.
struct Watch<'a> {
    cluster: &'a Cluster,
    node: i32,
    since: u64,
    limit: Duration,
    began: Instant,
    /// When it was last called on.
    called: Instant,
    said: Said,
    /// The last answer that was not what was asked, until its process says better.
    wrong: BTreeMap<i32, ProcessClock>,
}

impl<'a> Watch<'a> {
    fn new(cluster: &'a Cluster, node: i32, since: u64, limit: Duration) -> Watch<'a> {
        Watch {
            cluster,
            node,
            since,
            limit,
            began: Instant::now(),
            called: Instant::now(),
            said: Said::new(),
            wrong: BTreeMap::new(),
        }
    }

    async fn until(&mut self, enough: impl Fn(&Said) -> bool) -> Result<Said, NotTaken> {
        loop {
            let seen = self.cluster.clock_seen(self.node)?;
            self.take(&seen);
            if let Some(process) = seen.without.first().filter(|_| self.began.elapsed() > LOADING) {
                return Err(NotTaken::NotSeen(format!(
                    "unsupported: process {} ({}) of node {} does not have the clock shim in it, so no rule reaches it: \
                     it is static, or was started without LD_PRELOAD",
                    process.pid, process.name, self.node
                )));
            }
            if seen.without.is_empty() && self.all_agree(&seen) && enough(&self.said) {
                return Ok(std::mem::take(&mut self.said));
            }
            self.check_limit(&seen)?;
            self.call_on().await?;
            sleep(PAUSE).await;
        }
    }

    async fn until_healed(&mut self) -> Result<Said, NotTaken> {
        loop {
            let seen = match self.cluster.clock_seen(self.node) {
                Ok(seen) => seen,
                // It has no power: the ground refuses nothing else here.
                Err(clusters::Error::Ground(error)) if !error.machine => return Ok(Said::new()),
                Err(error) => return Err(error.into()),
            };
            self.take(&seen);
            // Those without the shim were shown no fault.
            let nobody = seen.silent.iter().all(|process| process.stopped) && self.said.is_empty();
            let lives = |pid: &i32| seen.processes.iter().any(|process| process.pid == *pid);
            let runs = seen.processes.iter().any(|process| {
                let stopped = seen.silent.iter().any(|silent| silent.pid == process.pid);
                !stopped
            });
            self.wrong.retain(|pid, _| lives(pid));
            if (nobody && !runs) || self.all_agree(&seen) {
                return Ok(std::mem::take(&mut self.said));
            }
            self.check_limit(&seen)?;
            self.call_on().await?;
            sleep(PAUSE).await;
        }
    }

    /// Opens a connection to the node, as any client may: whoever accepts it looks at a clock.
    async fn call_on(&mut self) -> Result<(), NotTaken> {
        if self.called.elapsed() >= CALL_AGAIN {
            // Whether it accepts does not matter here.
            let _ = ready::accepts_now(self.cluster, self.node).await?;
            self.called = Instant::now();
        }
        Ok(())
    }

    /// Takes in what is new.
    fn take(&mut self, seen: &ClockSeen) {
        for process in seen.processes.iter().filter(|process| process.at_ns > self.since) {
            let said = self.said.get(&process.pid).and_then(|said| said.last());
            if said.is_some_and(|said| said.at_ns >= process.at_ns) {
                continue;
            }
            let bound = BOUND_NS + process.window_ns;
            let wall = (process.wall_offset_ns - process.wall_asked_ns).abs();
            let monotonic = (process.monotonic_offset_ns - process.monotonic_asked_ns).abs();
            if wall.max(monotonic) <= bound {
                self.wrong.remove(&process.pid);
                self.said.entry(process.pid).or_default().push(process.clone());
            } else {
                self.wrong.insert(process.pid, process.clone());
            }
        }
    }

    /// Whether somebody has spoken, all who did say what was asked, and the others were waited for.
    fn all_agree(&self, seen: &ClockSeen) -> bool {
        let spoke = |pid: i32| self.said.contains_key(&pid);
        let awaited = seen
            .silent
            .iter()
            .any(|process| !process.stopped && !spoke(process.pid));
        !self.said.is_empty() && self.wrong.is_empty() && (!awaited || self.began.elapsed() > OTHERS)
    }

    fn check_limit(&self, seen: &ClockSeen) -> Result<(), NotTaken> {
        if self.began.elapsed() < self.limit {
            return Ok(());
        }
        let (node, limit) = (self.node, self.limit);
        let names = |stopped: bool| {
            let silent = seen.silent.iter().filter(|process| process.stopped == stopped);
            let names: Vec<String> = silent
                .map(|process| format!("{} ({})", process.pid, process.name))
                .collect();
            names.join(", ")
        };
        let why = if let Some(process) = self.wrong.values().next() {
            format!(
                "process {} ({}) of node {node} is shown a wall clock {} ns and a monotonic clock {} ns ahead; {} and {} were asked",
                process.pid,
                process.name,
                process.wall_offset_ns,
                process.monotonic_offset_ns,
                process.wall_asked_ns,
                process.monotonic_asked_ns
            )
        } else if !self.said.is_empty() {
            format!("the processes of node {node} were not shown all of it within {limit:?}")
        } else if !names(false).is_empty() {
            format!(
                "unsupported: no process of node {node} asked the C library for a clock within {limit:?}, as programs in Go \
                 never do: {}",
                names(false)
            )
        } else if !names(true).is_empty() {
            format!(
                "all processes of node {node} are stopped, and look at no clock: {}",
                names(true)
            )
        } else {
            format!("no process runs on node {node} whose clock could be measured")
        };
        Err(NotTaken::NotSeen(why))
    }
}
