//! Waiting for a node to answer after a start: it accepts a connection.

use crate::{Measured, NotTaken};
use clusters::Cluster;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// How long a started node may take until it accepts a connection.
const LIMIT: Duration = Duration::from_secs(10);
/// How long one attempt may take: the first SYN may meet a host that is not up.
const ATTEMPT: Duration = Duration::from_millis(200);
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until the node accepts a connection; gives the milliseconds that took.
async fn accepts(cluster: &Cluster, node: i32) -> Result<f64, NotTaken> {
    let address = cluster.node(node)?.address;
    let began = Instant::now();
    while began.elapsed() < LIMIT {
        if matches!(timeout(ATTEMPT, TcpStream::connect(address)).await, Ok(Ok(_))) {
            return Ok(began.elapsed().as_secs_f64() * 1e3);
        }
        sleep(PAUSE).await;
    }
    Err(NotTaken::NotSeen(format!(
        "node {node} was started and accepted no connection at {address} within {LIMIT:?}; its log ends: {}",
        cluster.log_tail(node)
    )))
}

/// Starts nodes, and waits until each accepts a connection; measures the slowest.
pub(crate) async fn started(cluster: &Cluster, nodes: &[i32]) -> Result<Measured, NotTaken> {
    for node in nodes {
        cluster.start(*node)?;
    }
    let mut slowest = 0.0_f64;
    for node in nodes {
        slowest = slowest.max(accepts(cluster, *node).await?);
    }
    Ok(Measured::from([("accepts_ms".into(), slowest)]))
}
