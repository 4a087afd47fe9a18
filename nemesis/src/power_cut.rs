//! A node loses its power: silent, and what its disk had not synced is gone.

use crate::{Fault, Measured, NotTaken, ready};
use clusters::{Capability, Cluster};

/// The name in scenarios and histories.
pub const NAME: &str = "power-cut";

/// The fault. Measured: from the cut of the wire until every process of the node was gone, and what the disk lost.
/// Healed by power in a new network namespace, and a start.
pub struct PowerCut;

impl Fault for PowerCut {
    const NAME: &'static str = NAME;
    const TEXT: &'static str = "the node loses its power, silently, and what its disk had not synced";
    const NEEDS: Capability = Capability::Power;

    async fn inject(cluster: &Cluster, node: i32, id: u64) -> Result<Measured, NotTaken> {
        let cuts = cluster.power_off(&[node], id)?;
        let [cut] = cuts.as_slice() else {
            return Err(NotTaken::NotSeen(format!(
                "{} cuts were made where one was asked",
                cuts.len()
            )));
        };
        let dead_ms = cut.dead_at_ns.saturating_sub(cut.cut_at_ns) as f64 / 1e6;
        Ok(Measured::from([
            ("dead_ms".into(), dead_ms),
            ("lost_bytes".into(), cut.loss.bytes as f64),
            ("lost_files".into(), cut.loss.files as f64),
        ]))
    }

    async fn heal(cluster: &Cluster, node: i32) -> Result<Measured, NotTaken> {
        cluster.power_on(node)?;
        cluster.start(node)?;
        let answers = ready::accepts(cluster, node).await?;
        Ok(Measured::from([("accepts_ms".into(), answers)]))
    }
}
