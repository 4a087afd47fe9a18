//! A node is severed from every other node, both ways; clients and the observer keep their links.

use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program, worst};
use clusters::{Capability, Cluster, LinkCount, Port};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long the cut, or its end, may take to be seen in the links' counters: nodes that talk many times a second
/// are seen at once, and TCP's own back-off ends at 1 s.
const LIMIT: Duration = Duration::from_secs(8);
/// Between two looks at the counters.
const PAUSE: Duration = Duration::from_millis(10);

/// The fault.
pub struct CutNetwork;

/// What it is.
const ABOUT: About = About {
    name: "cut-network",
    text: "every link to every other node is cut, both ways; clients keep theirs",
    needs: Capability::Links,
    params: &[],
    heals: "the links carry frames again, both ways",
    measures: &[
        ("dropped_frames", "frames seen dropped on the cut links"),
        ("passed_frames", "frames that passed them: none"),
        (
            "seen_ms",
            "from the order until that was seen; when healing, until frames passed both ways",
        ),
    ],
    program: Program::GoesOn,
};

impl Fault for CutNetwork {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let mut measured = Vec::new();
            for node in &order.nodes {
                measured.push(cut(field.cluster, *node).await?);
            }
            Ok(worst(measured))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let mut measured = Vec::new();
            for node in &order.nodes {
                measured.push(join(field.cluster, *node).await?);
            }
            Ok(worst(measured))
        })
    }
}

async fn cut(cluster: &Cluster, node: i32) -> Result<Measured, NotTaken> {
    let pairs = pairs(cluster, node);
    cluster.set_cut(&pairs, true)?;
    let before = Sums::of(&cluster.counters()?, &pairs);
    let began = Instant::now();
    while began.elapsed() < LIMIT {
        let now = Sums::of(&cluster.counters()?, &pairs).since(&before);
        if now.passed > 0 {
            return Err(NotTaken::NotSeen(format!(
                "{} frames passed node {node}'s cut links",
                now.passed
            )));
        }
        if now.dropped > 0 {
            return Ok(Measured::from([
                ("dropped_frames".into(), now.dropped as f64),
                ("passed_frames".into(), 0.0),
                ("seen_ms".into(), began.elapsed().as_secs_f64() * 1e3),
            ]));
        }
        sleep(PAUSE).await;
    }
    Err(NotTaken::NotSeen(format!(
        "node {node} sent and was sent nothing within {LIMIT:?} of its cut"
    )))
}

async fn join(cluster: &Cluster, node: i32) -> Result<Measured, NotTaken> {
    let pairs = pairs(cluster, node);
    cluster.set_cut(&pairs, false)?;
    let (out, back): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(from, _)| *from == Port::Node(node));
    let counters = cluster.counters()?;
    let before = [Sums::of(&counters, &out), Sums::of(&counters, &back)];
    let began = Instant::now();
    while began.elapsed() < LIMIT {
        let counters = cluster.counters()?;
        let [sent, received] = [
            Sums::of(&counters, &out).since(&before[0]).passed,
            Sums::of(&counters, &back).since(&before[1]).passed,
        ];
        if sent > 0 && received > 0 {
            return Ok(Measured::from([(
                "seen_ms".into(),
                began.elapsed().as_secs_f64() * 1e3,
            )]));
        }
        sleep(PAUSE).await;
    }
    Err(NotTaken::NotSeen(format!(
        "no frame passed both ways within {LIMIT:?} of node {node}'s heal"
    )))
}

/// The directed links between a node and all others.
fn pairs(cluster: &Cluster, node: i32) -> Vec<(Port, Port)> {
    let others = cluster
        .nodes()
        .iter()
        .map(|other| other.id)
        .filter(|other| *other != node);
    others
        .flat_map(|other| {
            [
                (Port::Node(node), Port::Node(other)),
                (Port::Node(other), Port::Node(node)),
            ]
        })
        .collect()
}

/// Frames of some links.
struct Sums {
    passed: u64,
    dropped: u64,
}

impl Sums {
    fn of(counters: &[LinkCount], pairs: &[(Port, Port)]) -> Sums {
        let mut sums = Sums {
            passed: 0,
            dropped: 0,
        };
        for count in counters
            .iter()
            .filter(|count| pairs.contains(&(count.from, count.to)))
        {
            sums.passed += count.passed;
            sums.dropped += count.dropped;
        }
        sums
    }

    fn since(&self, before: &Sums) -> Sums {
        Sums {
            passed: self.passed - before.passed,
            dropped: self.dropped - before.dropped,
        }
    }
}
