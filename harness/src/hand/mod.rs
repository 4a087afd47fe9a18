//! A cluster by hand: where its commands meet its harness, what they say to each other, and how its state is shown.

mod place;
mod state;
mod talk;

pub use place::{Held, Place};
pub use state::{NodeState, State};
pub use talk::{Ask, Heal, Hurt, Told};

use serde::{Deserialize, Serialize};

/// The name of a cluster that was given none.
pub const DEFAULT_NAME: &str = "default";

/// What the front tells its harness of a cluster by hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hand {
    /// The cluster's name.
    pub name: String,
    /// The front's process id: whoever started it detached knows it by that.
    pub front: u32,
    /// The ports of the host's loopback that lead to the brokers, in their order.
    pub host_ports: Vec<u16>,
    /// Whether the harness itself shows the state once the cluster is up.
    pub shows: bool,
}
