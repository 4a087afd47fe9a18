//! What all faults of disks share: one rule of a disk for each target, put in and seen to take by the disk's own counts,
//! taken out and seen to be gone; and the parameters that they have in common.

use crate::links::{ms, number};
use crate::{Field, Kind, Measured, NotTaken, Order, Param, ready, worst};
use clusters::{CallKind, Cluster, DiskEffect, DiskRule, DiskRuleCounts, Mended, Policy, Remainder};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long a node may take to make a call of the kind that is asked for. A server under load makes many in a second.
const LIMIT: Duration = Duration::from_secs(30);
/// Between two looks at the counts.
const PAUSE: Duration = Duration::from_millis(10);
/// Bytes of a MiB.
pub(crate) const MIB: f64 = (1 << 20) as f64;

/// On which files.
pub(crate) const PATH: Param = Param {
    name: "path",
    text: "only on this file or folder of the node's disk, and all that is in it, so that one of several log folders can \
           fail; * stands for any part of one name (topic-*/*.log); nothing is the whole disk",
    kind: Kind::Text(""),
};
/// Which calls.
pub(crate) const CALLS: Param = Param {
    name: "calls",
    text: "which calls meet it; a write with O_DSYNC is a write and a sync; \"read\" drops the page cache first, and what \
           is written later is in it again",
    kind: Kind::Word(&[
        "write-and-sync",
        "read",
        "write",
        "sync",
        "open",
        "create",
        "remove",
        "rename",
        "all",
    ]),
};
/// How many calls pass first.
pub(crate) const SKIP: Param = number(
    "skip_calls",
    "so many calls that meet it pass first",
    (0.0, 1e9),
    0.0,
);
/// How often.
pub(crate) const TIMES: Param = number(
    "times",
    "so many calls are struck on each node, and then no more; 0 is all of them, until the heal",
    (0.0, 1e9),
    0.0,
);

/// What is measured of every rule.
pub(crate) const MET: (&str, &str) = (
    "met_calls",
    "calls that it was for, the fewest of any node when it is put in and the most when it is healed",
);
/// How long it took to be seen.
pub(crate) const SEEN: (&str, &str) = (
    "seen_ms",
    "from the order until the disk of every target had struck a call",
);
/// How long the heal took.
pub(crate) const ACCEPTS: (&str, &str) = (
    "accepts_ms",
    "from the heal until the program accepts a connection; it is started again where it had ended by itself",
);

/// The calls that the order names.
pub(crate) fn calls(order: &Order) -> Vec<CallKind> {
    match order.params.text(CALLS.name) {
        "all" => Vec::new(),
        "write-and-sync" => vec![CallKind::Write, CallKind::Sync],
        // The others are their words: a test holds the list against them.
        word => word.parse().into_iter().collect(),
    }
}

/// A whole number of the order's.
pub(crate) fn count(order: &Order, name: &str) -> u64 {
    order.params.number(name).round() as u64
}

/// A number of calls, where 0 is all of them.
pub(crate) fn times(order: &Order) -> Option<u64> {
    Some(count(order, TIMES.name)).filter(|times| *times > 0)
}

/// The rule that an order's own parameters ask for: on which calls, where, and how often.
pub(crate) fn rule(order: &Order, effect: DiskEffect) -> DiskRule {
    DiskRule {
        calls: calls(order),
        skip: count(order, SKIP.name),
        times: times(order),
        ..rule_on(order, effect)
    }
}

/// The same of an order that is told where alone: on every call that its effect is about.
pub(crate) fn rule_on(order: &Order, effect: DiskEffect) -> DiskRule {
    DiskRule {
        path: order.params.text(PATH.name).into(),
        seed: order.seed,
        ..DiskRule::of(effect)
    }
}

/// What a disk holds on to when a fault itself turns a node off to change its disk: all of it.
pub(crate) fn keep_all() -> Policy {
    Remainder::Everything.into()
}

/// Puts a rule in on each target, and waits until each disk's counts show that it took. What did not take is taken out
/// again. The counts, by target, and how long that took in milliseconds.
pub(crate) async fn put_in(
    field: Field<'_>,
    order: &Order,
    rule: impl Fn(u32) -> DiskRule,
    took: impl Fn(&DiskRuleCounts) -> bool,
) -> Result<(Vec<DiskRuleCounts>, f64), NotTaken> {
    let began = Instant::now();
    let done = async {
        for (index, node) in (0..).zip(&order.nodes) {
            field.cluster.set_disk_rule(*node, order.id, rule(index))?;
        }
        seen(field.cluster, order, began, took).await
    };
    let done = done.await;
    if done.is_err() {
        for node in &order.nodes {
            // The first error says more than what this one could.
            let _ = field.cluster.clear_disk_rule(*node, order.id);
        }
    }
    done
}

async fn seen(
    cluster: &Cluster,
    order: &Order,
    began: Instant,
    took: impl Fn(&DiskRuleCounts) -> bool,
) -> Result<(Vec<DiskRuleCounts>, f64), NotTaken> {
    loop {
        let counts = order
            .nodes
            .iter()
            .map(|node| cluster.disk_rule_counts(*node, order.id));
        let counts: Vec<DiskRuleCounts> = counts.collect::<Result<_, _>>()?;
        let Some(missing) = counts.iter().position(|counts| !took(counts)) else {
            return Ok((counts, began.elapsed().as_secs_f64() * 1e3));
        };
        let limit = cluster.patience(LIMIT);
        if began.elapsed() >= limit {
            return Err(NotTaken::NotSeen(format!(
                "the disk of node {} met {} such calls and struck {} within {limit:?}: its program makes few of them, or \
                 none there; give it load, or name other calls or another path",
                order.nodes[missing], counts[missing].met, counts[missing].struck
            )));
        }
        sleep(PAUSE).await;
    }
}

/// As [`put_in`], where one struck call is enough to see it; `quantity` is how many were struck.
pub(crate) async fn inject(
    field: Field<'_>,
    order: &Order,
    rule: impl Fn(u32) -> DiskRule,
    quantity: &str,
) -> Result<Measured, NotTaken> {
    let (counts, seen_ms) = put_in(field, order, rule, |counts| counts.struck > 0).await?;
    let fewest = |of: fn(&DiskRuleCounts) -> u64| counts.iter().map(of).min().unwrap_or_default() as f64;
    Ok(Measured::from([
        (MET.0.into(), fewest(|counts| counts.met)),
        (quantity.into(), fewest(|counts| counts.struck)),
        (SEEN.0.into(), seen_ms),
    ]))
}

/// Takes the rule off every target, sees that it is gone, and that the program accepts connections. The worst of what
/// `measure` makes of the counts and of what was mended.
pub(crate) async fn heal(
    field: Field<'_>,
    order: &Order,
    measure: impl Fn(&DiskRuleCounts, &Mended) -> Measured,
) -> Result<Measured, NotTaken> {
    let mut measured = Vec::new();
    for node in &order.nodes {
        measured.push(take_out(field.cluster, order, *node, &measure)?);
    }
    for node in &order.nodes {
        measured.push(runs_again(field.cluster, *node).await?);
    }
    Ok(worst(measured))
}

/// Takes the rule off one target, and sees that it is gone.
pub(crate) fn take_out(
    cluster: &Cluster,
    order: &Order,
    node: i32,
    measure: impl Fn(&DiskRuleCounts, &Mended) -> Measured,
) -> Result<Measured, NotTaken> {
    // What did not take was taken out again already: a disk without the rule has nothing left of it.
    let Ok(counts) = cluster.disk_rule_counts(node, order.id) else {
        return Ok(Measured::new());
    };
    let mended = cluster.clear_disk_rule(node, order.id)?;
    if cluster.disk_rule_counts(node, order.id).is_ok() {
        return Err(NotTaken::NotSeen(format!(
            "the rule of fault {} is still on the disk of node {node} after its heal",
            order.id
        )));
    }
    Ok(measure(&counts, &mended))
}

/// Waits until a node's program accepts a connection, and starts it where it has ended by itself. One that another
/// fault has ended is that fault's to start.
pub(crate) async fn runs_again(cluster: &Cluster, node: i32) -> Result<Measured, NotTaken> {
    if cluster.was_ended(node) {
        Ok(Measured::new())
    } else if cluster.runs(node) {
        ready::all_accept(cluster, &[node]).await
    } else {
        ready::started(cluster, &[node]).await
    }
}

/// The wait of an answered call on average, in milliseconds.
pub(crate) fn mean_ms(counts: &DiskRuleCounts) -> f64 {
    ms(counts.waited_ns) / counts.answered.max(1) as f64
}

/// Turns targets off with all that their disks hold, has something done to each disk, and turns them on again.
pub(crate) fn while_off<T>(
    cluster: &Cluster,
    order: &Order,
    mut act: impl FnMut(i32) -> Result<T, clusters::Error>,
) -> Result<Vec<T>, NotTaken> {
    cluster.power_off(&order.nodes, order.id, keep_all())?;
    let done: Result<Vec<T>, _> = order.nodes.iter().map(|node| act(*node)).collect();
    for node in &order.nodes {
        cluster.power_on(*node)?;
    }
    Ok(done?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Params, Value};

    #[test]
    fn every_word_of_calls_is_a_kind_or_several() {
        let Kind::Word(words) = CALLS.kind else { panic!() };
        for word in words {
            let said = [(CALLS.name.to_string(), Value::Text((*word).into()))];
            let order = Order {
                id: 1,
                nodes: vec![1],
                params: Params::check(&[CALLS], &said.into()).unwrap(),
                seed: 0,
            };
            let expected = match *word {
                "all" => 0,
                "write-and-sync" => 2,
                _ => 1,
            };
            assert_eq!(calls(&order).len(), expected, "{word}");
        }
    }
}
