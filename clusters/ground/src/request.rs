//! The messages between the harness and the keeper. An answer carries its request's id; events come unasked.

use std::net::{Ipv4Addr, SocketAddr};

use disk::Policy;
use serde::{Deserialize, Serialize};

use crate::api::*;
use crate::clock_rule::{ClockRule, ClockSeen};
use crate::limit::{Limit, LimitSeen};
use crate::link_rule::{LinkRule, RuleCounts};
use crate::proto::{DiskAsk, DiskStats, DiskTold};

/// Harness to keeper.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Asked {
    pub id: u64,
    pub request: Request,
}

/// What the harness may ask; see the methods of [`crate::Ground`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    AddNode(NodeSpec),
    PowerOn {
        node: i32,
    },
    Start {
        node: i32,
        program: Program,
    },
    Signal {
        node: i32,
        signal: Signal,
    },
    PowerOff {
        nodes: Vec<i32>,
        fault: u64,
        policy: Policy,
    },
    SetCut {
        pairs: Vec<(Port, Port)>,
        cut: bool,
    },
    SetRule {
        fault: u64,
        pairs: Vec<(Port, Port)>,
        rule: LinkRule,
    },
    ClearRule {
        fault: u64,
    },
    RuleCounts {
        fault: u64,
    },
    FreeLinks {
        pairs: Vec<(Port, Port)>,
    },
    Counters {
        from: Port,
    },
    Mark {
        pairs: Vec<(Port, Port)>,
    },
    FirstFrames {
        pairs: Vec<(Port, Port)>,
    },
    SetClock {
        node: i32,
        fault: u64,
        rule: ClockRule,
    },
    ClearClock {
        node: i32,
        fault: u64,
    },
    ClockSeen {
        node: i32,
    },
    Namespaces {
        node: i32,
    },
    SetLimit {
        node: i32,
        fault: u64,
        limit: Limit,
    },
    ClearLimit {
        node: i32,
        fault: u64,
    },
    LimitSeen {
        node: i32,
        fault: u64,
    },
    DiskStats {
        node: i32,
    },
    DiskFault {
        node: i32,
        fault: u64,
        ask: DiskAsk,
    },
    Forward {
        listener: usize,
        to: SocketAddr,
    },
}

/// Keeper to harness.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToHarness {
    Answer {
        id: u64,
        answer: Answer,
    },
    Event(Event),
    /// First of all, where the run has one: the control socket beside it.
    Door,
}

/// One answer a kind of request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    Address(Ipv4Addr),
    PoweredOn(PoweredOn),
    Started(Started),
    Signalled(Signalled),
    PowerCuts(Vec<PowerCut>),
    CutSet { at_ns: u64 },
    RuleSet { at_ns: u64 },
    RuleCleared { at_ns: u64 },
    RuleCounts(Box<RuleCounts>),
    FreeLinks(Vec<bool>),
    Counters(Vec<LinkCount>),
    Marked { at_ns: u64 },
    FirstFrames(Vec<Option<u64>>),
    ClockSet { at_ns: u64 },
    ClockSeen(ClockSeen),
    Namespaces(Namespaces),
    LimitSeen(LimitSeen),
    LimitCleared,
    DiskStats(DiskStats),
    DiskTold(DiskTold),
    Forwarded,
    Failed(Error),
}

impl Answer {
    /// The error that this answer is, where another kind of answer was awaited.
    pub fn unexpected(self) -> Error {
        match self {
            Answer::Failed(error) => error,
            other => Error {
                what: "asking the keeper".into(),
                why: format!("it answered something else: {other:?}"),
                next: "this is a bug of the ground: please report it".into(),
                machine: false,
            },
        }
    }
}
