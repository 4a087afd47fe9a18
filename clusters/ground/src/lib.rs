//! The local ground: hosts made of namespaces, a wire, disks; and the processes that hold them.
//!
//! All roles are one executable, run again with another first argument ([`dispatch`]):
//!
//! ```text
//! front        on the host: launch() starts the keeper, forwards signals, waits
//! └ keeper     PID 1 of the run's namespaces: one thread; makes the rest on request, reaps
//!   ├ harness  the caller's own role, `__harness`; holds a Ground
//!   ├ wire     the switch: one TAP a node
//!   ├ forward  connections from the host's loopback, where the front has handed listeners in
//!   ├ disk     one a node: a FUSE file system that can lose its power, or a real one that is made to
//!   └ init     one a node with power: PID 1 of the node's namespaces
//!     └ the node's program
//! ```
//!
//! What it does: makes nodes, powers them on and off, starts and signals their programs, cuts links, counts frames,
//! and says what this machine lacks for it ([`doctor`]). What it does not: know what runs on the nodes, choose a
//! fault, keep a history.
//!
//! Invariants:
//! 1. Every process of a run descends from the keeper; whichever of front, keeper, harness, wire or disk ends, all
//!    the rest is gone within a second, by parent-death signal, life-line (its control socket) and PID namespace.
//! 2. Nothing of a run has a name on the host but files in its folder: namespaces, mounts and devices go with the
//!    last process.
//! 3. No process of ours opens a path below a node's mount (the program's child does, between fork and exec).
//! 4. Nothing is open in a node's program but its log and /dev/null. Preloaded is the clock shim (`shim/`, a library of
//!    its own that the build makes and this executable carries): with no clock fault in force it changes no answer.
//! 5. Every wait of the keeper has a bound.
//!
//! It is the only crate with unsafe code. On other systems than Linux it compiles to a stub that says so.

// Clone with namespaces, the exec between, ioctls: the one place for them. Each block says why it is sound.
#![allow(unsafe_code)]

mod api;
mod clock_rule;
mod handle;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod limit;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod link_rule;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub mod proto;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod request;
// Half of it is for the shim.
#[allow(dead_code)]
#[path = "../shim/page.rs"]
mod page;

#[cfg(target_os = "linux")]
mod linux {
    pub use crate::dispatch::dispatch;
    pub use crate::enter::{Entry, Left};
    pub use crate::front::{launch, launch_with};
    pub use crate::host::{free_bytes, is_root, leave_session, user_id};
    pub use crate::outside::{Call, Door, Loopback, Outside};
    pub use crate::owner::{act_as_owner, give_all};
}

#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod connection;
#[cfg(target_os = "linux")]
mod disk_process;
#[cfg(target_os = "linux")]
mod dispatch;
#[cfg(target_os = "linux")]
pub mod doctor;
#[cfg(target_os = "linux")]
mod enter;
#[cfg(target_os = "linux")]
mod forward;
#[cfg(target_os = "linux")]
mod front;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod lacks;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod net;
#[cfg(target_os = "linux")]
mod outside;
#[cfg(target_os = "linux")]
mod owner;
#[cfg(target_os = "linux")]
pub mod packet;
#[cfg(target_os = "linux")]
pub mod real_disk;
#[cfg(target_os = "linux")]
mod spawn;
#[cfg(target_os = "linux")]
pub mod sys;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(not(target_os = "linux"))]
use elsewhere as connection;
#[cfg(not(target_os = "linux"))]
use elsewhere as linux;
/// What this machine allows.
#[cfg(not(target_os = "linux"))]
pub mod doctor {
    pub use crate::elsewhere::{probe, probe_faults};
}

pub use api::*;
pub use clock_rule::{
    ClockRule, ClockSeen, MAX_STEP_NS, MAX_STROBES, MIN_PERIOD_NS, ProcessClock, ProcessName, RATE_PPM,
    Strobe,
};
pub use disk::{
    ALL_PPM, CallKind, Crash, DiskEffect, DiskRule, DiskRuleCounts, DiskSwap, Errors, MAX_CUT_BYTES,
    MAX_DAMAGED_FILES, MAX_WAIT_NS, Mended, Policy, Profile, Remainder, Spread, Stripe, Swapped,
};
pub use handle::Ground;
pub use limit::{Limit, LimitSeen};
pub use link_rule::{Effect, Flap, Held, LinkRule, RuleCounts, WHOLE_PPM};
pub use linux::{
    Call, Door, Entry, Left, Loopback, Outside, act_as_owner, dispatch, free_bytes, give_all, is_root,
    launch, launch_with, leave_session, user_id,
};

/// The device to which the observer's sockets are bound, so that its links can be told from the clients'.
pub const OBSERVER_DEVICE: &str = "observer";

/// How long the harness may take to end by itself after the first interrupt.
pub const GRACE: std::time::Duration = std::time::Duration::from_secs(5);
