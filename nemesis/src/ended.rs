//! Ending a node's program, and seeing that it ended as it was asked to.

use crate::{Measured, NotTaken, ready, worst};
use clusters::{Cluster, Event, Signal};
use std::time::{Duration, Instant};

/// How long SIGKILL may take to be seen.
const KILL_LIMIT: Duration = Duration::from_secs(5);
/// How long a controlled shutdown may take of a native program: leaders are moved first.
const STOP_LIMIT: Duration = Duration::from_secs(30);
/// SIGKILL's number.
const SIGKILL: i32 = 9;

/// How a program is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// SIGKILL.
    Crash,
    /// SIGTERM: it ends by itself.
    Stop,
}

impl How {
    /// As a parameter says it.
    pub(crate) const WORDS: &'static [&'static str] = &["crash", "stop"];

    pub(crate) fn of(word: &str) -> How {
        if word == "stop" { How::Stop } else { How::Crash }
    }
}

/// Ends a node's program; the milliseconds until its end was seen.
pub(crate) async fn ended(cluster: &Cluster, node: i32, how: How) -> Result<f64, NotTaken> {
    if !cluster.runs(node) {
        return Err(NotTaken::NotSeen(format!(
            "node {node} runs no program that could end"
        )));
    }
    let (signal, limit) = match how {
        How::Crash => (Signal::Kill, KILL_LIMIT),
        How::Stop => (Signal::Terminate, cluster.patience(STOP_LIMIT)),
    };
    let mut events = cluster.events();
    let began = Instant::now();
    cluster.signal(node, signal)?;
    let end = async {
        loop {
            match events.recv().await {
                Ok(Event::ProgramEnded {
                    node: ended, signal, ..
                }) if ended == node => return Some(signal),
                Err(tokio::sync::broadcast::error::RecvError::Closed) => return None,
                _ => continue,
            }
        }
    };
    match tokio::time::timeout(limit, end).await {
        Ok(Some(signal)) if (signal == Some(SIGKILL)) == (how == How::Crash) => {
            Ok(began.elapsed().as_secs_f64() * 1e3)
        }
        Ok(other) => Err(NotTaken::NotSeen(format!(
            "node {node} was asked to end by {how:?} and ended by the signal {other:?}"
        ))),
        Err(_) => Err(NotTaken::NotSeen(format!(
            "node {node} was not seen to end by {how:?} within {limit:?}; its log ends: {}",
            cluster.log_tail(node)
        ))),
    }
}

/// Ends the programs of nodes, one after the other; the slowest end, under that quantity.
pub(crate) async fn all_ended(
    cluster: &Cluster,
    nodes: &[i32],
    how: How,
    quantity: &str,
) -> Result<Measured, NotTaken> {
    let mut measured = Vec::new();
    for node in nodes {
        let ms = ended(cluster, *node, how).await?;
        measured.push(Measured::from([(quantity.into(), ms)]));
    }
    Ok(worst(measured))
}

/// Restarts the programs of nodes, one after the other; measures the slowest end (`ended_ms`) and start.
pub(crate) async fn all_restarted(cluster: &Cluster, nodes: &[i32], how: How) -> Result<Measured, NotTaken> {
    let mut measured = Vec::new();
    for node in nodes {
        let ended_ms = ended(cluster, *node, how).await?;
        measured.push(Measured::from([("ended_ms".into(), ended_ms)]));
        measured.push(ready::started(cluster, &[*node]).await?);
    }
    Ok(worst(measured))
}
