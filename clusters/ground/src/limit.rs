//! Limits of a node's resources, as faults ask for them. Plain data.

use serde::{Deserialize, Serialize};

/// A limit for all processes of a node but its init.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// So many thousandths of one processor, all of the node's processes together. By a cgroup.
    Cpu {
        /// From 10 on: the kernel knows nothing shorter than a millisecond of its period of 100.
        permille: u32,
    },
    /// So many bytes of memory, of what is taken from now on. By a cgroup; past it the kernel kills.
    Memory {
        /// How many.
        bytes: u64,
    },
    /// So many open files and sockets of each process. By a resource limit.
    Descriptors {
        /// How many; those that are open stay so.
        count: u64,
    },
}

/// What a limit has met so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitSeen {
    /// Processes under it now, as the kernel says.
    pub processes: u64,
    /// How often the node's processes had used up their share of a period, and waited for the next.
    pub throttled: u64,
    /// How long they waited in all, in nanoseconds.
    pub throttled_ns: u64,
    /// Bytes of memory under the limit now.
    pub memory_bytes: u64,
    /// How often memory was refused, or taken back to make room.
    pub memory_refused: u64,
}
