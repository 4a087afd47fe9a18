//! Waiting: for messages, for deaths, for both at once. Whatever the keeper waits for, it sees a part die.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{FromFront, Keeper, ToFront, how_it_ended, last_word};
use crate::api::Event;
use crate::packet::Channel;
use crate::proto::{DiskCrash, FromDisk, FromWire};
use crate::sys;

/// How long after a socket's end its process may take to die. It closes its descriptors while it dies.
const DEATH_PATIENCE: Duration = Duration::from_secs(1);

/// SIGCHLD as a descriptor, and the nodes' inits that we killed on purpose, with the time of their death.
pub struct Children {
    signals: SignalFd,
    expected: HashMap<Pid, Option<u64>>,
}

impl Children {
    pub fn new() -> io::Result<Children> {
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGCHLD);
        sys::said("sigprocmask", mask.thread_block())?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let signals = sys::said("signalfd", SignalFd::with_flags(&mask, flags))?;
        Ok(Children {
            signals,
            expected: HashMap::new(),
        })
    }

    /// From now on this process's death is ours.
    pub fn expect(&mut self, pid: Pid) {
        self.expected.insert(pid, None);
    }

    /// When it died, if it has.
    pub fn death(&self, pid: Pid) -> Option<u64> {
        self.expected.get(&pid).copied().flatten()
    }

    pub fn forget(&mut self, pid: Pid) {
        self.expected.remove(&pid);
    }
}

/// A message of a child, which may speak unasked.
pub trait Spoken: DeserializeOwned {
    /// The event that it is, where it is not an answer.
    fn event(&self, node: i32) -> Option<Event>;

    /// The crash that it tells of, likewise.
    fn crash(&self) -> Option<DiskCrash> {
        None
    }
}

impl Spoken for FromWire {
    fn event(&self, _: i32) -> Option<Event> {
        None
    }
}

impl Spoken for FromDisk {
    fn event(&self, node: i32) -> Option<Event> {
        match self {
            FromDisk::Full { why } => Some(Event::DiskFull {
                node,
                why: why.clone(),
            }),
            _ => None,
        }
    }

    fn crash(&self) -> Option<DiskCrash> {
        match self {
            FromDisk::Crashed(crash) => Some(crash.clone()),
            _ => None,
        }
    }
}

/// How a question to a child ended, other than in its answer.
pub enum Silence {
    /// It does not answer within the time given.
    Late(Duration),
    /// Its socket is broken.
    Broken(io::Error),
}

impl std::fmt::Display for Silence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Silence::Late(within) => write!(f, "no answer within {within:?}"),
            Silence::Broken(error) => error.fmt(f),
        }
    }
}

impl Keeper {
    /// Waits until one of `channels` is readable, or `within` has passed. Meanwhile hears the front and reaps, which
    /// may end the keeper; returns early (nothing ready) after a death, for the caller to look.
    pub(super) fn watch(&mut self, channels: &[&Channel], within: Option<Duration>) -> Vec<bool> {
        let mut fds: Vec<BorrowedFd> = channels.iter().map(|channel| channel.as_fd()).collect();
        fds.push(self.front.as_fd());
        fds.push(self.children.signals.as_fd());
        let mut ready = match sys::readable(&fds, within) {
            Ok(ready) => ready,
            Err(error) => self.die(format!("the keeper cannot wait: {error}")),
        };
        let (front, deaths) = (ready[channels.len()], ready[channels.len() + 1]);
        ready.truncate(channels.len());
        if front {
            self.hear_front();
        }
        if deaths {
            self.reap();
        }
        ready
    }

    fn hear_front(&self) {
        match self.front.receive() {
            Ok(Some(FromFront::Interrupt { signal })) => self.event(Event::Interrupt { signal }),
            Ok(Some(FromFront::Launch { .. } | FromFront::Given)) => {}
            // The life-line: the front is gone.
            Ok(None) | Err(_) => std::process::exit(super::ENDED),
        }
    }

    /// Takes in every death so far.
    fn reap(&mut self) {
        while let Ok(Some(_)) = self.children.signals.read_signal() {}
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) | Err(nix::errno::Errno::ECHILD) => return,
                Ok(status) => _ = status.pid().map(|pid| self.dead(pid, status)),
                Err(nix::errno::Errno::EINTR) => {}
                Err(error) => self.die(format!("the keeper cannot reap: {error}")),
            }
        }
    }

    fn dead(&mut self, pid: Pid, status: WaitStatus) {
        if let Some(at) = self.children.expected.get_mut(&pid) {
            *at = Some(sys::monotonic_ns());
            return;
        }
        if pid == self.harness.pid {
            match status {
                WaitStatus::Exited(_, code) => {
                    // What it says of the run holds only where the rest was there to its end.
                    self.need_wire();
                    // The kernel hands over 8 bits.
                    last_word(&self.front, &ToFront::Exited { code: code as u8 })
                }
                status => self.die(format!("the harness {}", how_it_ended(status))),
            }
        }
        let name = if pid == self.wire.pid {
            Some("the wire".to_string())
        } else if self.outside.is_forwarder(pid) {
            Some("the forwarder".to_string())
        } else {
            self.name_of(pid)
        };
        // Else an orphan of the harness's, which the kernel gave us to reap.
        if let Some(name) = name {
            self.die(format!("{name} {}", how_it_ended(status)));
        }
    }

    fn name_of(&self, pid: Pid) -> Option<String> {
        self.nodes.iter().find_map(|node| {
            if node.disk.pid == pid {
                Some(node.disk_name())
            } else if node.life.as_ref().is_some_and(|life| life.init.pid == pid) {
                Some(node.init_name())
            } else {
                None
            }
        })
    }

    /// A vital process has closed its socket: its death ends us here. One that lives on is broken.
    pub(super) fn await_end_of(&mut self, pid: Pid, name: &str) {
        let deadline = Instant::now() + DEATH_PATIENCE;
        while Instant::now() < deadline {
            self.watch(&[], Some(deadline.saturating_duration_since(Instant::now())));
        }
        self.die(format!(
            "{name} (process {pid}) has closed its control socket, and goes on"
        ))
    }

    /// A socket broke: mostly its process is dying, and its death, which says more, ends us here.
    pub(super) fn broken(&mut self, error: io::Error) -> Silence {
        self.watch(&[], Some(DEATH_PATIENCE));
        Silence::Broken(error)
    }

    /// Asks a child something and waits for its answer; what it says unasked meanwhile goes to the harness.
    pub(super) fn ask<A: Spoken>(
        &mut self,
        node: i32,
        channel: &Channel,
        question: &impl Serialize,
        within: Duration,
    ) -> Result<A, Silence> {
        if let Err(error) = channel.send(question) {
            return Err(self.broken(error));
        }
        self.await_answer(node, channel, within).map(|(answer, _)| answer)
    }

    /// Waits for a child's answer, and the descriptors beside it.
    pub(super) fn await_answer<A: Spoken>(
        &mut self,
        node: i32,
        channel: &Channel,
        within: Duration,
    ) -> Result<(A, Vec<OwnedFd>), Silence> {
        let deadline = Instant::now() + within;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if self.watch(&[channel], Some(left))[0] {
                let said = channel.receive_with::<A>().map_err(Silence::Broken)?;
                let Some((said, descriptors)) = said else {
                    return Err(self.broken(io::ErrorKind::UnexpectedEof.into()));
                };
                if let Some(crash) = said.crash() {
                    self.note_crash(node, crash);
                    continue;
                }
                match said.event(node) {
                    Some(event) => self.event(event),
                    None => return Ok((said, descriptors)),
                }
            } else if left.is_zero() {
                return Err(Silence::Late(within));
            }
        }
    }
}
