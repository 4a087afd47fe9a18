//! The front: stays on the host, owns the terminal and the exit status, and does nothing but wait.

use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitStatus, waitpid};

use crate::api::{Ended, Error, Launch, LaunchError};
use crate::keeper::{FromFront, ToFront};
use crate::lacks;
use crate::outside::Outside;
use crate::spawn::{self, Child, Role, SpawnError};
use crate::{GRACE, cgroup, owner, sys};

/// Starts the keeper, and with it the harness (this executable with `__harness` and the given arguments); waits for
/// the end. The first SIGINT, SIGTERM or SIGHUP is told to the harness, which has [`GRACE`] to end by itself; the
/// second one ends everything.
///
/// Call it from the thread that lives longest: when that thread ends, the run does.
pub fn launch(launch: Launch) -> Result<Ended, LaunchError> {
    launch_with(launch, Outside::default())
}

/// [`launch`], and hands in what the run has of the host: the harness takes it with [`crate::Ground::door`] and
/// [`crate::Ground::forward`].
pub fn launch_with(launch: Launch, outside: Outside) -> Result<Ended, LaunchError> {
    sys::close_on_exec_all().map_err(|why| unprepared(&why))?;
    let mut signals = Signals::take().map_err(|why| unprepared(&why))?;
    let keeper = start_keeper(&launch).map_err(|error| LaunchError(lacks::cannot_spawn(&error)))?;
    let (run_dir, owner) = (launch.run_dir.clone(), launch.owner);
    let order = FromFront::Launch {
        run_dir: launch.run_dir,
        harness_args: launch.harness_args,
        owner,
        door: outside.door.is_some(),
        loopback: outside.loopback.0.len(),
    };
    // Where the keeper is gone already, its end is seen below.
    let _ = keeper.channel.send(&order);
    hand_in(&keeper, outside);
    let tag = tag_of(&keeper);
    let said = follow(&keeper, &mut signals);
    let status = reap(&keeper);
    if let Some(tag) = tag {
        cgroup::sweep(tag);
    }
    if let Some(Err(error)) = owner.map(|owner| owner::give_all(&run_dir, owner)) {
        // The run is over, and judged; only its folder is less handy.
        eprintln!("some files of the run stay root's: {error}");
    }
    match said {
        Said::Exited(code) => Ok(Ended::Exited(code)),
        Said::CannotStart(error) => Err(LaunchError(error)),
        Said::Died(what) => Ok(Ended::Died { what }),
        Said::Interrupted(signal) => Ok(Ended::Interrupted { signal }),
        Said::Nothing => Ok(Ended::Died {
            what: format!("the keeper {}", how(status)),
        }),
    }
}

fn start_keeper(launch: &Launch) -> Result<Child, SpawnError> {
    let user = if nix::unistd::geteuid().is_root() {
        0
    } else {
        libc::CLONE_NEWUSER
    };
    let namespaces = spawn::NAMESPACES | user;
    spawn::spawn(&Role {
        args: &["__keeper"],
        namespaces,
        session: true,
        stdin: true,
        owner: launch.owner,
    })
}

/// The descriptors that the order announced. Ours are closed: with the run they are gone.
fn hand_in(keeper: &Child, outside: Outside) {
    let door = outside.door.iter().map(|door| door.descriptor().as_fd());
    for descriptor in door.chain(outside.loopback.0.iter().map(AsFd::as_fd)) {
        let _ = keeper.channel.send_with(&FromFront::Given, &[descriptor]);
    }
}

/// What the run's cgroups are known by: the number of the keeper's PID namespace.
fn tag_of(keeper: &Child) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    let namespace = std::fs::metadata(format!("/proc/{}/ns/pid", keeper.pid)).ok()?;
    Some(namespace.ino())
}

/// What the run's end was, as far as the keeper said.
enum Said {
    Exited(u8),
    CannotStart(Error),
    Died(String),
    Interrupted(i32),
    Nothing,
}

/// Listens to the keeper and to signals until the keeper has said its last word or must be killed.
fn follow(keeper: &Child, signals: &mut Signals) -> Said {
    let mut interrupted: Option<(i32, Instant)> = None;
    loop {
        let left = interrupted.map(|(_, since)| GRACE.saturating_sub(since.elapsed()));
        let ready = sys::readable(&[keeper.channel.as_fd(), signals.fd.as_fd()], left);
        let (word, signal) = match ready {
            Ok(ready) => (ready[0], ready[1]),
            Err(why) => return kill_keeper(keeper, Said::Died(format!("the front cannot wait: {why}"))),
        };
        if word {
            return match keeper.channel.receive() {
                Ok(Some(ToFront::Exited { code })) => Said::Exited(code),
                Ok(Some(ToFront::CannotStart(error))) => Said::CannotStart(error),
                Ok(Some(ToFront::Died { what })) => Said::Died(what),
                Ok(None) => Said::Nothing,
                Err(why) => kill_keeper(
                    keeper,
                    Said::Died(format!("the front cannot read the keeper's word: {why}")),
                ),
            };
        }
        match (signal.then(|| signals.next()).flatten(), interrupted) {
            (Some(signal), None) => {
                interrupted = Some((signal, Instant::now()));
                // Where the keeper is gone already, its end is seen in the next round.
                let _ = keeper.channel.send(&FromFront::Interrupt { signal });
            }
            (Some(_), Some((first, _))) => return kill_keeper(keeper, Said::Interrupted(first)),
            (None, Some((first, since))) if since.elapsed() >= GRACE => {
                return kill_keeper(keeper, Said::Interrupted(first));
            }
            (None, _) => {}
        }
    }
}

/// Ends everything: the kernel takes down the keeper's PID namespace.
fn kill_keeper(keeper: &Child, said: Said) -> Said {
    // It is our child and not yet reaped, so the id is its own.
    let _ = kill(keeper.pid, Signal::SIGKILL);
    said
}

/// Waits until the keeper is gone, and with it every process of its PID namespace.
fn reap(keeper: &Child) -> Option<WaitStatus> {
    loop {
        match waitpid(keeper.pid, None) {
            Err(Errno::EINTR) => {}
            other => return other.ok(),
        }
    }
}

fn how(status: Option<WaitStatus>) -> String {
    match status {
        Some(status) => crate::keeper::how_it_ended(status),
        None => "was reaped by somebody else".into(),
    }
}

/// The signals that ask for an end, taken through a descriptor while a run goes on.
struct Signals {
    fd: SignalFd,
    before: SigSet,
}

impl Signals {
    fn take() -> io::Result<Signals> {
        let mut mask = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            // What the caller had ignored (nohup, a shell's background job) stays so.
            if !is_ignored(signal) {
                mask.add(signal);
            }
        }
        let mut before = SigSet::empty();
        sys::said(
            "sigprocmask",
            sigprocmask(SigmaskHow::SIG_BLOCK, Some(&mask), Some(&mut before)),
        )?;
        let fd = sys::said(
            "signalfd",
            SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK),
        )?;
        Ok(Signals { fd, before })
    }

    fn next(&mut self) -> Option<i32> {
        self.fd
            .read_signal()
            .ok()
            .flatten()
            .map(|info| info.ssi_signo as i32)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // What came meanwhile was meant for the run.
        while self.next().is_some() {}
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.before), None);
    }
}

fn is_ignored(signal: Signal) -> bool {
    // SAFETY: with a null new action, sigaction only fills `action`, which is valid for it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal as i32, std::ptr::null(), &mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

fn unprepared(why: &io::Error) -> LaunchError {
    LaunchError(Error {
        what: "preparing to start the keeper".into(),
        why: why.to_string(),
        next: "a Linux kernel of 5.11 or later is needed, and descriptors must be left (ulimit -n)".into(),
        machine: true,
    })
}
