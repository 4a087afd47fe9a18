//! A machine stands still: its processes, and its network. Unlike a stopped process it acknowledges nothing.

use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program, links};
use clusters::{Capability, Cluster, Effect, LinkRule, Port, Signal};
use std::time::Instant;

/// The fault.
pub struct MachinePause;

/// What it is.
const ABOUT: About = About {
    name: "machine-pause",
    text: "every process of the node is stopped and its wire is silent, as of a virtual machine that is paused; the observer hears nothing of it either",
    needs: Capability::Links,
    params: &[],
    heals: "the processes go on, then the wire carries frames again; connections are as they were",
    measures: &[
        (
            "stopped_ms",
            "from the order until every process of the nodes was seen stopped",
        ),
        (
            "dropped_frames",
            "frames that the silent links have dropped so far",
        ),
        ("passed_frames", "frames that passed them: none"),
        (
            "seen_ms",
            "from the silence until a frame was dropped, or seen that none was sent to a node without a program",
        ),
        ("going_on_ms", "from the signal until none was stopped"),
        ("healed_ms", links::HEALED.1),
    ],
    program: Program::StandsStill,
};

impl Fault for MachinePause {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let began = Instant::now();
            let links = all_links(field.cluster, order);
            // A rule of silence first: a process that is stopped while its wire carries frames still acknowledges.
            let silence = LinkRule::of(Effect::Silence, order.seed);
            field.cluster.set_rule(order.id, &links, silence)?;
            for node in &order.nodes {
                field.cluster.signal(*node, Signal::Stop)?;
            }
            let stopped_ms = began.elapsed().as_secs_f64() * 1e3;
            let knock = tokio::spawn(knock(addresses(field.cluster, order)?));
            let took = |counts: &clusters::RuleCounts| match counts.delivered {
                0 => Ok(counts.struck > 0),
                passed => Err(format!("{passed} frames passed a machine that stands still")),
            };
            let seen = links::put_in(field, order, (&links, silence), links::LIMIT, took).await;
            knock.abort();
            let (counts, seen_ms) = match seen {
                Ok(seen) => seen,
                Err(why) => {
                    go_on(field.cluster, order)?;
                    return Err(why);
                }
            };
            Ok(Measured::from([
                ("stopped_ms".into(), stopped_ms),
                ("dropped_frames".into(), counts.struck as f64),
                ("passed_frames".into(), counts.delivered as f64),
                ("seen_ms".into(), seen_ms),
            ]))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let began = Instant::now();
            go_on(field.cluster, order)?;
            let going_on_ms = began.elapsed().as_secs_f64() * 1e3;
            let knock = tokio::spawn(knock(addresses(field.cluster, order)?));
            let links: Vec<(Port, Port)> = all_links(field.cluster, order)
                .into_iter()
                .filter(|(from, to)| *from != Port::Observer && *to != Port::Observer)
                .collect();
            let healed = links::take_out(field, order, &links, links::HEALED.0).await;
            knock.abort();
            let mut measured = healed?;
            measured.insert("going_on_ms".into(), going_on_ms);
            Ok(measured)
        })
    }
}

fn go_on(cluster: &Cluster, order: &Order) -> Result<(), NotTaken> {
    for node in order.nodes.iter().filter(|node| cluster.runs(**node)) {
        cluster.signal(*node, Signal::Continue)?;
    }
    Ok(())
}

/// Every link of the targets, the clients' and the observer's too.
fn all_links(cluster: &Cluster, order: &Order) -> Vec<(Port, Port)> {
    let nodes = cluster.nodes().iter().map(|node| Port::Node(node.id));
    let ports: Vec<Port> = [Port::Clients, Port::Observer].into_iter().chain(nodes).collect();
    let mut links = Vec::new();
    for target in order.nodes.iter().map(|node| Port::Node(*node)) {
        for peer in ports.iter().copied().filter(|peer| *peer != target) {
            links.extend([(target, peer), (peer, target)]);
        }
    }
    links.sort_unstable();
    links.dedup();
    links
}

fn addresses(cluster: &Cluster, order: &Order) -> Result<Vec<std::net::SocketAddr>, NotTaken> {
    let addresses = order
        .nodes
        .iter()
        .map(|node| cluster.node(*node).map(|node| node.address));
    Ok(addresses.collect::<Result<_, _>>()?)
}

/// Frames for machines that nobody else may talk to: attempts to connect, until it is aborted.
async fn knock(addresses: Vec<std::net::SocketAddr>) {
    let knocks = addresses.into_iter().map(|address| {
        tokio::spawn(async move {
            loop {
                // What comes of it is no matter: that it was sent is.
                let _ = tokio::time::timeout(KNOCK, tokio::net::TcpStream::connect(address)).await;
                tokio::time::sleep(KNOCK / 4).await;
            }
        })
    });
    let _knocks = Knocks(knocks.collect());
    std::future::pending::<()>().await;
}

/// Ends with whoever holds it.
struct Knocks(Vec<tokio::task::JoinHandle<()>>);

impl Drop for Knocks {
    fn drop(&mut self) {
        for knock in &self.0 {
            knock.abort();
        }
    }
}

/// How long one attempt at a connection may take.
const KNOCK: std::time::Duration = std::time::Duration::from_millis(200);
