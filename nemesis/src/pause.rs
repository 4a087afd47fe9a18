//! SIGSTOP to a node's processes: they stand still, and their kernel still acknowledges TCP and accepts connections.

use crate::{Fault, Measured, NotTaken};
use clusters::{Capability, Cluster, Signal};
use std::time::Instant;

/// The name in scenarios and histories.
pub const NAME: &str = "pause";

/// The fault. Measured: every process of the node was seen in the state "stopped" in /proc, and after the heal in
/// another.
pub struct Pause;

impl Fault for Pause {
    const NAME: &'static str = NAME;
    const TEXT: &'static str = "the process gets SIGSTOP: it stands still, and its connections stay open";
    const NEEDS: Capability = Capability::Process;

    async fn inject(cluster: &Cluster, node: i32, _id: u64) -> Result<Measured, NotTaken> {
        Ok(Measured::from([(
            "stopped_ms".into(),
            signalled(cluster, node, Signal::Stop)?,
        )]))
    }

    async fn heal(cluster: &Cluster, node: i32) -> Result<Measured, NotTaken> {
        Ok(Measured::from([(
            "going_on_ms".into(),
            signalled(cluster, node, Signal::Continue)?,
        )]))
    }
}

/// Sends a signal; gives the milliseconds until the node's init had seen that it took (a second at most, or an error).
fn signalled(cluster: &Cluster, node: i32, signal: Signal) -> Result<f64, NotTaken> {
    let began = Instant::now();
    cluster.signal(node, signal)?;
    Ok(began.elapsed().as_secs_f64() * 1e3)
}
