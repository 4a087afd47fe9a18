//! What brokers and controllers say to each other, and what happens to them by themselves.

use controller::{
    AlterPartition, AlterPartitionAnswer, ErrorCode, Heartbeat, HeartbeatAnswer, RegisterBroker,
};

use super::log::Entry;

/// A broker's request to the active controller.
#[derive(Debug, Clone)]
pub(super) enum Request {
    Register(RegisterBroker),
    Heartbeat(Heartbeat),
    /// For the partition of that number only.
    Alter(usize, AlterPartition),
}

/// Its answer, once what it says is committed.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    Registered(Result<i64, ErrorCode>),
    Heartbeat(Result<HeartbeatAnswer, ErrorCode>),
    Altered(usize, AlterPartitionAnswer),
}

/// Where a request came from: answers to a broker's earlier life are not its.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) broker: usize,
    pub(super) life: u64,
}

/// A follower's fetch of a partition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fetch {
    pub(super) partition: usize,
    pub(super) origin: Origin,
    pub(super) broker_epoch: i64,
    pub(super) leader_epoch: i32,
    pub(super) number: u64,
    pub(super) offset: usize,
    pub(super) last_epoch: Option<i32>,
}

/// A leader's answer.
#[derive(Debug, Clone)]
pub(super) enum Fetched {
    /// The leader's log of the follower's last epoch, or of the nearest before it, ends here.
    Diverging(Option<i32>, usize),
    /// Records, and the leader's high watermark.
    Records(Vec<Entry>, usize),
}

/// What can happen.
#[derive(Debug)]
pub enum Event {
    /// Arrivals.
    #[doc(hidden)]
    Arrival(Arrival),
    /// A controller looks at its sessions.
    ControllerTimer(usize),
    /// A broker sees to its registration.
    BrokerTimer(usize),
    /// A broker sees to its partitions.
    ReplicaTimer(usize),
    /// A client comes.
    Client,
}

/// A message that arrives.
#[derive(Debug)]
pub struct Arrival(pub(super) Letter);

/// A message.
#[derive(Debug)]
pub(super) enum Letter {
    Request(usize, Origin, Request),
    Reply(Origin, Reply),
    Fetch(usize, Fetch),
    Fetched(Fetch, Fetched),
}
