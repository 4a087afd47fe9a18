//! What the ground is where there is no Linux: it can be named, not had.

use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::mpsc::Receiver;

use crate::api::{Ended, Error, Event, Launch, LaunchError, Probe};
use crate::request::{Answer, Request};

fn linux_only() -> Error {
    Error {
        what: "making a ground for the nodes".into(),
        why: format!(
            "namespaces, TAP devices and FUSE as we need them are Linux's; this is {}",
            std::env::consts::OS
        ),
        next: "run it on Linux, in a virtual machine for one".into(),
        machine: true,
    }
}

/// No role runs here.
pub fn dispatch() -> Option<ExitCode> {
    None
}

/// Always an error.
pub fn launch(_: Launch) -> Result<Ended, LaunchError> {
    Err(LaunchError(linux_only()))
}

/// Nothing to change: no run is started as root for somebody else here.
pub fn act_as_owner() -> std::io::Result<()> {
    Ok(())
}

/// Nothing to give: no run is started as root for somebody else here.
pub fn give_all(_: &std::path::Path, _: (u32, u32)) -> std::io::Result<()> {
    Ok(())
}

/// Unknown here, and nothing is done as root.
pub fn is_root() -> bool {
    false
}

/// Not asked here: no run is started.
pub fn free_bytes(_: &std::path::Path) -> std::io::Result<u64> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// As [`probe`].
pub fn probe_faults() -> Vec<Probe> {
    probe(std::path::Path::new("/"))
}

/// One line: this is not Linux.
pub fn probe(_: &std::path::Path) -> Vec<Probe> {
    let Error { what, why, next, .. } = linux_only();
    vec![Probe {
        name: "linux".into(),
        available: false,
        how: what,
        why_not: why,
        remedy: next,
    }]
}

/// A connection that cannot be.
pub struct Connection(Infallible);

impl Connection {
    pub fn open() -> Result<(Connection, Receiver<Event>), Error> {
        Err(linux_only())
    }

    pub fn ask(&self, _: Request) -> Result<Answer, Error> {
        match self.0 {}
    }
}
