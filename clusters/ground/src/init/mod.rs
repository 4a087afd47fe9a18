//! A node's init: PID 1 of the node's namespaces. It makes the node's network and mounts, starts the node's program
//! on request, signals, reaps, and ends with the keeper.

mod birth;
mod clock;
mod program;
mod signals;

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{ExitCode, exit};

use nix::sys::signal::{SigSet, Signal as UnixSignal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use serde::{Deserialize, Serialize};

use crate::api::{Error, Event, Namespaces, NodeSpec, Program, Signal, Signalled};
use crate::keeper::{Setting, Spoken};
use crate::packet::Channel;
use crate::sys;
pub use clock::{ClockLook, clock_shim_is_there};
use program::Running;

/// Keeper to init.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToInit {
    /// First of all, with the mount of a real disk beside it. Answered `Ready` or `Unborn`.
    Birth(Birth),
    /// Answered `Started` or `Failed`.
    Start {
        start: u32,
        program: Program,
        owner: Option<(u32, u32)>,
    },
    /// Answered `Signalled` or `Failed`.
    Signal(Signal),
    /// Answered `ClockSet`.
    SetClock(Setting),
    /// Answered `ClockLook`.
    LookAtClock,
}

/// What an init makes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Birth {
    pub spec: NodeSpec,
    pub port: u8,
    pub run_dir: PathBuf,
    /// What the node's clocks show.
    pub clock: Setting,
}

/// Init to keeper. `Ended` comes unasked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FromInit {
    /// With the TAP beside it, and the FUSE device where the disk is ours.
    Ready(Namespaces),
    Unborn(Error),
    Started {
        exec_at_ns: u64,
    },
    Signalled(Signalled),
    ClockSet {
        at_ns: u64,
    },
    ClockLook(ClockLook),
    Failed {
        why: String,
    },
    Ended {
        start: u32,
        status: Option<i32>,
        signal: Option<i32>,
        oom: bool,
        at_ns: u64,
    },
}

impl Spoken for FromInit {
    fn event(&self, node: i32) -> Option<Event> {
        match *self {
            FromInit::Ended {
                start,
                status,
                signal,
                oom,
                at_ns,
            } => Some(Event::ProgramEnded {
                node,
                start,
                status,
                signal,
                oom,
                at_ns,
            }),
            _ => None,
        }
    }
}

/// What init holds.
struct Init {
    keeper: Channel,
    deaths: SignalFd,
    /// Whether /proc shows this node's processes, and theirs only.
    own_proc: bool,
    clock: clock::Pages,
    running: Option<Running>,
}

/// The role `__init`.
pub fn main() -> ExitCode {
    match begin() {
        Ok(mut init) => init.run(),
        Err(error) => {
            eprintln!("a node's init is started by the keeper, not by hand: {error}");
            ExitCode::from(70)
        }
    }
}

fn begin() -> std::io::Result<Init> {
    let keeper = Channel::inherited()?;
    sys::die_with_parent(&keeper)?;
    let mut mask = SigSet::empty();
    mask.add(UnixSignal::SIGCHLD);
    sys::said("sigprocmask", mask.thread_block())?;
    let deaths = sys::said(
        "signalfd",
        SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK),
    )?;
    let Some((ToInit::Birth(birth), beside)) = keeper.receive_with()? else {
        return Err(std::io::Error::other("the keeper's first word is not of a birth"));
    };
    let (own_proc, clock) = match birth::make(&birth, beside.into_iter().next()) {
        Ok(world) => {
            let beside: Vec<_> = [&world.tap]
                .into_iter()
                .chain(&world.fuse)
                .map(AsFd::as_fd)
                .collect();
            keeper.send_with(&FromInit::Ready(world.namespaces), &beside)?;
            // Both descriptors are closed here: the wire and the disk alone hold them.
            (world.own_proc, world.clock)
        }
        Err(error) => {
            keeper.send(&FromInit::Unborn(error))?;
            exit(70)
        }
    };
    Ok(Init {
        keeper,
        deaths,
        own_proc,
        clock,
        running: None,
    })
}

impl Init {
    fn run(&mut self) -> ! {
        loop {
            let ready = sys::readable(&[self.keeper.as_fd(), self.deaths.as_fd()], None);
            match ready.as_deref() {
                Ok([word, death]) => {
                    if *death {
                        self.reap();
                    }
                    if *word {
                        self.hear();
                    }
                }
                _ => exit(70),
            }
        }
    }

    fn hear(&mut self) {
        match self.keeper.receive() {
            Ok(Some(ToInit::Start {
                start,
                program,
                owner,
            })) => {
                let answer = match self.start(start, &program, owner) {
                    Ok(exec_at_ns) => FromInit::Started { exec_at_ns },
                    Err(why) => FromInit::Failed { why },
                };
                self.say(&answer);
            }
            Ok(Some(ToInit::Signal(signal))) => {
                let answer = match self.signal(signal) {
                    Ok(signalled) => FromInit::Signalled(signalled),
                    Err(why) => FromInit::Failed { why },
                };
                self.say(&answer);
            }
            Ok(Some(ToInit::SetClock(setting))) => {
                self.clock.set(&setting);
                self.say(&FromInit::ClockSet {
                    at_ns: sys::monotonic_ns(),
                });
            }
            Ok(Some(ToInit::LookAtClock)) => {
                let look = self.look_at_clock();
                self.say(&FromInit::ClockLook(look));
            }
            Ok(Some(ToInit::Birth(_))) => {}
            // The life-line: the keeper is gone.
            Ok(None) | Err(_) => exit(0),
        }
    }

    fn say(&self, message: &FromInit) {
        if self.keeper.send(message).is_err() {
            exit(70);
        }
    }
}
