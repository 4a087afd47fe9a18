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

/// Always an error.
pub fn launch_with(_: Launch, _: Outside) -> Result<Ended, LaunchError> {
    Err(LaunchError(linux_only()))
}

/// Nobody in particular: no folder of ours is told apart here.
pub fn user_id() -> u32 {
    0
}

/// Nothing to leave: no run is started here.
pub fn leave_session() -> std::io::Result<()> {
    Ok(())
}

/// Nothing of the host is handed in here.
#[derive(Debug, Default)]
pub struct Outside {
    /// None.
    pub door: Option<Door>,
    /// None.
    pub loopback: Loopback,
}

/// No listeners.
#[derive(Debug, Default)]
pub struct Loopback;

impl Loopback {
    /// Always an error.
    pub fn bind(_: Option<u16>, _: u16) -> std::io::Result<Loopback> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    /// None.
    pub fn ports(&self) -> std::io::Result<Vec<u16>> {
        Ok(Vec::new())
    }
}

/// A control socket that cannot be.
#[derive(Debug)]
pub struct Door(Infallible);

impl Door {
    /// Always an error.
    pub fn open(_: &std::path::Path) -> std::io::Result<Door> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    /// Never called.
    pub fn accept(&self) -> std::io::Result<Call> {
        match self.0 {}
    }
}

/// A call that cannot be.
#[derive(Debug)]
pub struct Call(Infallible);

impl Call {
    /// Always an error.
    pub fn to(_: &std::path::Path) -> std::io::Result<Call> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    /// Never called.
    pub fn send<T>(&self, _: &T) -> std::io::Result<()> {
        match self.0 {}
    }

    /// Never called.
    pub fn send_entry<T>(&self, _: &T, _: &Entry) -> std::io::Result<()> {
        match self.0 {}
    }

    /// Never called.
    pub fn receive<T>(&self) -> std::io::Result<Option<(T, Option<Entry>)>> {
        match self.0 {}
    }

    /// Never called.
    pub fn receive_within<T>(&self, _: std::time::Duration) -> std::io::Result<Option<T>> {
        match self.0 {}
    }
}

/// A way into a node that cannot be.
#[derive(Debug)]
pub struct Entry(Infallible);

/// How a command in a node ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// By itself, with this status.
    Exited(u8),
    /// By this signal.
    Killed(i32),
    /// It could not be executed: this error number.
    NotExecuted(i32),
    /// The node ended, or lost its power, and the command with it.
    WithTheNode,
}

impl Entry {
    /// Always an error.
    pub fn into_node(_: i32) -> std::io::Result<Entry> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    /// Never called.
    pub fn run(&self, _: &[String], _: &std::path::Path, _: bool) -> std::io::Result<Left> {
        match self.0 {}
    }
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

    pub fn door(&self) -> Result<Door, Error> {
        match self.0 {}
    }
}
