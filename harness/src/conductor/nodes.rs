//! What happens to nodes' processes, written into the history; and the harness's own stalls.

use clusters::{Cluster, Event};
use history::{Body, Kind, NodeEvent, NodeProcess, Process, Recorder, Stall};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, mpsc};

/// How often the harness looks at its own clock.
const TICK: Duration = Duration::from_millis(10);
/// A tick later than this is a stall.
const LATE: Duration = Duration::from_millis(100);

/// What the conductor must know at once.
#[derive(Debug)]
pub enum Alarm {
    /// A signal asked the run to end.
    Interrupted(i32),
    /// The ground's own disk is full, or the history cannot be written.
    Full(String),
    /// A node's process ended that nobody had asked to.
    NodeDied {
        /// The node.
        node: i32,
        /// How.
        how: String,
    },
}

/// Which ends are expected: a node whose power was cut, or that was crashed, ends because it was asked to.
#[derive(Clone, Default)]
pub struct Expected(Arc<Mutex<BTreeMap<i32, bool>>>);

impl Expected {
    /// From now on the end of this node's process is (or is not) expected.
    pub fn set(&self, node: i32, expected: bool) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(node, expected);
    }

    fn is(&self, node: i32) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&node)
            .copied()
            .unwrap_or(false)
    }
}

/// Writes the ends of processes into the history and passes on what the conductor must know. Ends with the ground.
pub async fn watch(
    cluster: Arc<Cluster>,
    mut events: broadcast::Receiver<Event>,
    recorder: Arc<Recorder>,
    expected: Expected,
    alarms: mpsc::UnboundedSender<Alarm>,
) {
    loop {
        let alarm = match events.recv().await {
            Ok(Event::ProgramEnded {
                node,
                start,
                status,
                signal,
                ..
            }) => {
                let event = match (status, signal) {
                    (Some(status), _) => NodeEvent::Exited { status },
                    (None, signal) => NodeEvent::Killed { signal },
                };
                let body = Body::Node(NodeProcess { node, event, start });
                match recorder.record(Process::Observer, Kind::Ok, body) {
                    Err(e) => Some(Alarm::Full(format!("the history cannot be written: {e}"))),
                    // A heal may end a program too, of a fault that does not.
                    Ok(_) if expected.is(node) || cluster.was_asked_to_end(node, start) => None,
                    Ok(_) => {
                        let how = clusters::how_ended(status, signal);
                        Some(Alarm::NodeDied { node, how })
                    }
                }
            }
            Ok(Event::Interrupt { signal }) => Some(Alarm::Interrupted(signal)),
            // Its fault measures it; the end of the program comes by itself, or with the loss of power.
            Ok(Event::DiskCrashed { .. }) => None,
            Ok(Event::DiskFull { node, why }) => Some(Alarm::Full(format!("the disk of node {node}: {why}"))),
            Err(broadcast::error::RecvError::Lagged(n)) => {
                Some(Alarm::Full(format!("{n} events of the ground were missed")))
            }
            Err(broadcast::error::RecvError::Closed) => return,
        };
        if let Some(alarm) = alarm {
            // The conductor is gone only when the run is over.
            let _ = alarms.send(alarm);
        }
    }
}

/// Records when the harness itself was late. Ends only with an error of the history.
pub async fn stalls(recorder: Arc<Recorder>) -> io::Error {
    let mut due = Instant::now() + TICK;
    loop {
        tokio::time::sleep_until(due.into()).await;
        let late = due.elapsed();
        if late > LATE {
            let body = Body::Stall(Stall {
                late_ms: late.as_secs_f64() * 1e3,
            });
            if let Err(e) = recorder.record(Process::Harness, Kind::Ok, body) {
                return e;
            }
        }
        due = Instant::now() + TICK;
    }
}
