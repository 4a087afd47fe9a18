//! One file a fault: what it asks of a node, how it is put in and taken out, and how it is measured.
//!
//! What it does: injects and heals, and *measures that it took*; a fault that does not take within its limit is an
//! error of the run. What it does not: choose. The harness resolves roles to nodes, and writes what was asked,
//! resolved and measured into the history.

use clusters::{Capability, Cluster};
use std::collections::BTreeMap;
use std::future::Future;

pub mod crash;
pub mod cut_network;
pub mod pause;
pub mod power_cut;
mod ready;

/// What was measured: `quantity_unit` to number.
pub type Measured = BTreeMap<String, f64>;

/// Why a fault did not take, or did not heal.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    /// The cluster refused.
    #[error("{0}")]
    Cluster(#[from] clusters::Error),
    /// It was asked, and not seen to take within its limit.
    #[error("{0}")]
    NotSeen(String),
}

/// A fault of one node.
pub trait Fault {
    /// Its name in scenarios and histories.
    const NAME: &'static str;
    /// One sentence about it, for people.
    const TEXT: &'static str;
    /// What it needs of the node.
    const NEEDS: Capability;

    /// Puts it in and measures that it took. `id` is the fault's number in the history.
    fn inject(
        cluster: &Cluster,
        node: i32,
        id: u64,
    ) -> impl Future<Output = Result<Measured, NotTaken>> + Send;

    /// Takes it out and measures that it is gone.
    fn heal(cluster: &Cluster, node: i32) -> impl Future<Output = Result<Measured, NotTaken>> + Send;
}
