//! Systems, as data: what to lay out, start and recognise on some ground.
//!
//! What it does: reads a system's description ([`System`]), lays a cluster out on the ground ([`Cluster`]), starts
//! and stops its nodes, and offers their capabilities: process, links, power, disk. What it does not: choose what to
//! break, or judge. Nothing above this crate knows which ground it stands on.
//!
//! Invariants:
//! 1. A system is known by its description alone; none has a private door.
//! 2. No path below a node's mount is opened: what a node's disk holds is read from its backing folder, and only
//!    while the node has no power or the run is over.

mod cluster;
mod guest;
pub mod kafka;
mod log;
mod lost_records;
mod nearest;
mod system;

pub use cluster::{
    Capability, Cluster, Error, FIRST_BROKER, FIRST_CONTROLLER, KRAFT_VERSION, Layout, Node, ProgramTold,
    Resource, RoleKind,
};
pub use ground::{
    ALL_PPM, CallKind, ClockRule, ClockSeen, Crash, DiskEffect, DiskRule, DiskRuleCounts, DiskSwap, Effect,
    Errors, Event, Flap, Held, Limit, LimitSeen, LinkCount, LinkRule, MAX_CUT_BYTES, MAX_DAMAGED_FILES,
    MAX_WAIT_NS, Mended, OBSERVER_DEVICE, Policy, Port, PowerCut, ProcessClock, Profile, Remainder,
    RuleCounts, Signal, Spread, Stripe, Strobe, Swapped, WHOLE_PPM,
};
pub use guest::Guest;
pub use log::how_ended;
pub use lost_records::Lost;
pub use nearest::nearest;
pub use system::{
    Absent, BUILT_IN, Bugs, BuiltIn, Feature, Fill, First, Format, HomeFile, HostListener, Mistake,
    Properties, Ready, Role, System, is_one_line,
};
