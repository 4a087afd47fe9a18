//! Waiting for a node to answer after a start: it accepts a connection.

use crate::{Measured, NotTaken, worst};
use clusters::{Cluster, Port};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// How long one attempt may take: the first SYN may meet a host that is not up.
const ATTEMPT: Duration = Duration::from_millis(200);
/// How long a node must have run where that it listens cannot be seen: one that does not like its disk ends sooner.
const ALIVE: Duration = Duration::from_secs(1);
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until the node accepts a connection; gives the milliseconds that took. None where another fault keeps the
/// clients' links to it, and it has run for [`ALIVE`]: more cannot be seen then.
async fn accepts(cluster: &Cluster, node: i32) -> Result<Option<f64>, NotTaken> {
    let links = [
        (Port::Clients, Port::Node(node)),
        (Port::Node(node), Port::Clients),
    ];
    let began = Instant::now();
    let limit = cluster.ready_limit();
    while began.elapsed() < limit {
        if accepts_now(cluster, node).await? {
            return Ok(Some(began.elapsed().as_secs_f64() * 1e3));
        }
        if !cluster.runs(node) {
            return Err(NotTaken::NotStarted(format!(
                "node {node} was started, and its program ended; its log says: {}",
                cluster.log_reason(node)
            )));
        }
        let is_kept = || {
            cluster
                .free_links(&links)
                .is_ok_and(|free| !free.iter().all(|free| *free))
        };
        if began.elapsed() >= ALIVE && cluster.runs(node) && is_kept() {
            return Ok(None);
        }
        sleep(PAUSE).await;
    }
    let address = cluster.node(node)?.address;
    Err(NotTaken::NotStarted(format!(
        "node {node} was started and accepted no connection at {address} within {limit:?}; its log says: {}",
        cluster.log_reason(node)
    )))
}

/// Whether the node accepts a connection now.
pub(crate) async fn accepts_now(cluster: &Cluster, node: i32) -> Result<bool, NotTaken> {
    let address = cluster.node(node)?.address;
    Ok(matches!(
        timeout(ATTEMPT, TcpStream::connect(address)).await,
        Ok(Ok(_))
    ))
}

/// Starts nodes, and waits until each accepts a connection; measures the slowest.
pub(crate) async fn started(cluster: &Cluster, nodes: &[i32]) -> Result<Measured, NotTaken> {
    for node in nodes {
        cluster.start(*node)?;
    }
    all_accept(cluster, nodes).await
}

/// Waits until each of the nodes accepts a connection; measures the slowest.
pub(crate) async fn all_accept(cluster: &Cluster, nodes: &[i32]) -> Result<Measured, NotTaken> {
    let mut measured = Vec::new();
    for node in nodes {
        let accepts_ms = accepts(cluster, *node).await?;
        measured.extend(accepts_ms.map(|ms| Measured::from([("accepts_ms".into(), ms)])));
    }
    Ok(worst(measured))
}
