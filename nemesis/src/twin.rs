//! Two processes with one node's number: a second one, on a machine of its own with an empty disk, as when an old machine
//! comes back that somebody has replaced, or a container was started twice.

use crate::ended::{How, ended};
use crate::hands::{self, Found, Look, View};
use crate::links::number;
use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program, ready, worst};
use clusters::{Capability, Cluster, Guest, Port, RoleKind};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// The fault.
pub struct Twin;

/// How long the second process, a native program, may take to be heard by the cluster.
const LIMIT: Duration = Duration::from_secs(10);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// What it is.
const ABOUT: About = About {
    name: "twin",
    text: "a second process with the node's number is started, on another machine with an empty disk: a broker that wants to register, or a controller that fetches and may stand for election; the links of the targets that other faults cut are not its own",
    needs: Capability::Process,
    params: &[number(
        "watch_ms",
        "how long it is watched who is listed as the broker, once the second process was heard",
        (0.0, 30_000.0),
        1_000.0,
    )],
    heals: "exactly the second process is killed, with its machine; a first one that has lost its registration to it does not register anew by itself, and is killed and started again; then it is listed at its own address, unfenced, unless other faults keep its links",
    measures: &[
        (
            "heard_ms",
            "from the second process's start until a frame of it had come to a node of the cluster",
        ),
        (
            "frames",
            "frames of the second process that had come to the cluster's nodes when it was watched for so long",
        ),
        (
            "registrations",
            "of a broker: how often the address that is listed for the broker was seen to change; 0 where the second process was refused all the time",
        ),
        (
            "epochs",
            "of a controller: by how much the quorum's epoch grew meanwhile; 0 where it disturbed nobody",
        ),
        (
            "second_serves",
            "of a broker: 1 where the second process's address is listed at the end, else 0",
        ),
        ("gone_ms", "from the cut of its power until it was seen gone"),
        (
            "restarted",
            "1 where the first process had lost its registration and was started again, else 0",
        ),
        (
            "seen_ms",
            "from then on until another broker listed the first process, unfenced",
        ),
        ("accepts_ms", "from the start until it accepts a connection"),
    ],
    program: Program::Restarts,
};

/// The second processes of orders.
static FOUND: Found<Vec<Guest>> = Found::new();

impl Fault for Twin {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let mut guests = Vec::new();
            for node in &order.nodes {
                let role = field.cluster.node(*node)?.role;
                guests.push(field.cluster.invite(*node, role).await?);
            }
            FOUND.keep(order, guests.clone());
            let watch = Duration::from_secs_f64(order.params.number("watch_ms") / 1e3);
            let mut measured = Vec::new();
            for guest in &guests {
                measured.push(heard(field.cluster, guest).await?);
            }
            for guest in &guests {
                measured.push(match guest.node.role {
                    RoleKind::Broker => watched(field.cluster, guest, watch).await?,
                    RoleKind::Controller => quorum_watched(field.cluster, guest, watch).await?,
                });
            }
            Ok(worst(measured))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let mut measured = Vec::new();
            for guest in FOUND.take(order)? {
                let began = Instant::now();
                field.cluster.dismiss(&guest, order.id)?;
                if field.cluster.guest_runs(&guest) {
                    let why = format!("the second process of node {} runs still", guest.node.id);
                    return Err(NotTaken::NotSeen(why));
                }
                let gone_ms = began.elapsed().as_secs_f64() * 1e3;
                measured.push(Measured::from([("gone_ms".into(), gone_ms)]));
                if guest.node.role == RoleKind::Broker && field.cluster.runs(guest.node.id) {
                    measured.push(first_is_back(field.cluster, guest.node.id).await?);
                }
            }
            Ok(worst(measured))
        })
    }
}

/// Starts a second process, and waits until the cluster has heard of it.
async fn heard(cluster: &Cluster, guest: &Guest) -> Result<Measured, NotTaken> {
    let (before, limit) = (cluster.guest_frames(guest)?, cluster.patience(LIMIT));
    let began = Instant::now();
    cluster.start_guest(guest)?;
    while cluster.guest_frames(guest)? == before {
        if began.elapsed() > limit || !cluster.guest_runs(guest) {
            return Err(NotTaken::NotSeen(format!(
                "the second process of node {} was started, and the cluster heard nothing of it within {limit:?}; its \
                 log ends: {}",
                guest.node.id,
                cluster.guest_log_tail(guest)
            )));
        }
        sleep(PAUSE).await;
    }
    let heard_ms = began.elapsed().as_secs_f64() * 1e3;
    Ok(Measured::from([("heard_ms".into(), heard_ms)]))
}

/// Looks for so long who is listed as the broker.
async fn watched(cluster: &Cluster, guest: &Guest, watch: Duration) -> Result<Measured, NotTaken> {
    let id = guest.node.id;
    let second = guest.node.address.ip().to_string();
    let first = cluster.node(id)?.address.ip().to_string();
    let (began, mut last, mut registrations) = (Instant::now(), first, 0.0);
    loop {
        let (at, _) = listed_at(cluster, id, "a list of brokers", Some).await?;
        if let Some((host, _)) = at.filter(|(host, _)| *host != last) {
            registrations += 1.0;
            last = host;
        }
        if began.elapsed() >= watch {
            break;
        }
        sleep(PAUSE).await;
    }
    runs_still(cluster, guest)?;
    let second_serves = f64::from(u8::from(last == second));
    Ok(Measured::from([
        ("frames".into(), cluster.guest_frames(guest)? as f64),
        ("registrations".into(), registrations),
        ("second_serves".into(), second_serves),
    ]))
}

/// Looks for so long whether the quorum is disturbed.
async fn quorum_watched(cluster: &Cluster, guest: &Guest, watch: Duration) -> Result<Measured, NotTaken> {
    let epoch = |quorum: &client::calls::QuorumDescription| Some(quorum.epoch);
    let (before, _) = hands::quorum(cluster, "an active controller", epoch).await?;
    sleep(watch).await;
    let (after, _) = hands::quorum(cluster, "an active controller", epoch).await?;
    runs_still(cluster, guest)?;
    Ok(Measured::from([
        ("frames".into(), cluster.guest_frames(guest)? as f64),
        ("epochs".into(), f64::from(after - before)),
    ]))
}

fn runs_still(cluster: &Cluster, guest: &Guest) -> Result<(), NotTaken> {
    if cluster.guest_runs(guest) {
        return Ok(());
    }
    Err(NotTaken::NotSeen(format!(
        "the second process of node {} has ended by itself; its log ends: {}",
        guest.node.id,
        cluster.guest_log_tail(guest)
    )))
}

/// Sees that the first process is the broker again.
async fn first_is_back(cluster: &Cluster, id: i32) -> Result<Measured, NotTaken> {
    let (host, _) = listed_at(cluster, id, "a list of brokers", Some).await?;
    let first = cluster.node(id)?.address.ip().to_string();
    let lost = host.as_ref().is_none_or(|(host, _)| *host != first);
    let mut measured = Measured::from([("restarted".into(), f64::from(u8::from(lost)))]);
    if lost {
        ended(cluster, id, How::Crash).await?;
    }
    // A broker that reaches no controller may not listen before it does.
    let is_reachable = is_reachable(cluster, id)?;
    if lost && is_reachable {
        measured.extend(ready::started(cluster, &[id]).await?);
    } else if lost {
        cluster.start(id)?;
    }
    if is_reachable {
        let what = format!("broker {id} at its own address, unfenced,");
        let is_so = |at: Option<(String, bool)>| (at? == (first.clone(), false)).then_some(());
        let ((), seen_ms) = listed_at(cluster, id, &what, is_so).await?;
        measured.insert("seen_ms".into(), seen_ms);
    }
    Ok(measured)
}

/// Whether no fault keeps the links between a broker and a controller.
pub(crate) fn is_reachable(cluster: &Cluster, id: i32) -> Result<bool, NotTaken> {
    let controllers = cluster.of_role(RoleKind::Controller);
    let links: Vec<(Port, Port)> = controllers
        .map(|node| (Port::Node(id), Port::Node(node.id)))
        .flat_map(|(broker, controller)| [(broker, controller), (controller, broker)])
        .collect();
    Ok(cluster.free_links(&links)?.into_iter().all(|free| free))
}

/// Where other brokers list one, and whether it is fenced there.
async fn listed_at<T>(
    cluster: &Cluster,
    id: i32,
    what: &str,
    found: impl Fn(Option<(String, bool)>) -> Option<T>,
) -> Result<(T, f64), NotTaken> {
    let listed = |view: &View| match view {
        View::Brokers(brokers) => found(brokers.get(&id).map(|it| (it.host.clone(), it.fenced))),
        _ => None,
    };
    hands::seen_by(cluster, Some(id), Look::Brokers, what, listed).await
}
