//! SIGKILL to a node's process: loud (its kernel says FIN or RST at once), and the page cache is kept.

use crate::{Fault, Measured, NotTaken, ready};
use clusters::{Capability, Cluster, Event, Signal};
use std::time::{Duration, Instant};

/// The name in scenarios and histories.
pub const NAME: &str = "crash";
/// How long the end of the process may take to be seen.
const LIMIT: Duration = Duration::from_secs(5);

/// The fault. Measured: the process was seen to end by signal 9. Healed by starting it again.
pub struct Crash;

impl Fault for Crash {
    const NAME: &'static str = NAME;
    const TEXT: &'static str = "the process gets SIGKILL; its page cache is kept";
    const NEEDS: Capability = Capability::Process;

    async fn inject(cluster: &Cluster, node: i32, _id: u64) -> Result<Measured, NotTaken> {
        let mut events = cluster.events();
        let began = Instant::now();
        cluster.signal(node, Signal::Kill)?;
        let ended = async {
            loop {
                match events.recv().await {
                    Ok(Event::ProgramEnded {
                        node: ended, signal, ..
                    }) if ended == node => return signal,
                    _ => continue,
                }
            }
        };
        match tokio::time::timeout(LIMIT, ended).await {
            Ok(Some(9)) => Ok(Measured::from([(
                "dead_ms".into(),
                began.elapsed().as_secs_f64() * 1e3,
            )])),
            Ok(other) => Err(NotTaken::NotSeen(format!(
                "node {node} ended by {other:?} instead of signal 9"
            ))),
            Err(_) => Err(NotTaken::NotSeen(format!(
                "node {node} was not seen to end within {LIMIT:?}"
            ))),
        }
    }

    async fn heal(cluster: &Cluster, node: i32) -> Result<Measured, NotTaken> {
        cluster.start(node)?;
        let answers = ready::accepts(cluster, node).await?;
        Ok(Measured::from([("accepts_ms".into(), answers)]))
    }
}
