//! Thin wrappers over the system calls that neither `std` nor `nix` offers in the shape we need.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout};

/// The descriptor on which every role finds its control socket, which is its life-line too: end of file means die.
pub const CONTROL: RawFd = 3;

/// Makes an [`io::Error`] say what was tried.
pub fn said<T>(what: impl AsRef<str>, result: Result<T, impl Into<io::Error>>) -> io::Result<T> {
    result.map_err(|error| {
        let error: io::Error = error.into();
        io::Error::new(error.kind(), format!("{}: {error}", what.as_ref()))
    })
}

/// The result of a raw system call as a [`Result`].
pub fn check(result: i64) -> Result<i64, Errno> {
    if result < 0 {
        Err(Errno::last())
    } else {
        Ok(result)
    }
}

/// Lets the signals that end programs do so again in this process and in those that it starts, whatever it was started
/// with: under nohup, and in the background of a shell without job control, some of them are ignored.
pub fn default_signals() {
    use nix::sys::signal::{SigHandler, Signal, signal};
    for ends in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM] {
        // SAFETY: the default disposition runs no code of ours. It is refused to no signal of these.
        let _ = unsafe { signal(ends, SigHandler::SigDfl) };
    }
}

/// A limit that the kernel holds a process to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rlimit {
    /// What holds.
    pub soft: u64,
    /// How far the process itself may raise it.
    pub hard: u64,
}

/// How many descriptors a process may have.
pub fn descriptors(pid: i32) -> io::Result<Rlimit> {
    let mut now = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: with a null new limit prlimit only fills `now`, which is valid for it.
    let result = unsafe { libc::prlimit64(pid, libc::RLIMIT_NOFILE, std::ptr::null(), &mut now) };
    said("prlimit", check(result.into()))?;
    Ok(Rlimit {
        soft: now.rlim_cur,
        hard: now.rlim_max,
    })
}

/// Sets how many descriptors a process may have.
pub fn set_descriptors(pid: i32, limit: Rlimit) -> io::Result<()> {
    let new = libc::rlimit64 {
        rlim_cur: limit.soft,
        rlim_max: limit.hard,
    };
    // SAFETY: `new` is a valid limit, and no old one is asked for.
    let result = unsafe { libc::prlimit64(pid, libc::RLIMIT_NOFILE, &new, std::ptr::null_mut()) };
    said("prlimit", check(result.into())).map(drop)
}

/// CLOCK_MONOTONIC in nanoseconds: the one clock of all processes of a run.
pub fn monotonic_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a valid timespec for the kernel to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    // CLOCK_MONOTONIC begins at the machine's start and is never negative.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// CLOCK_REALTIME in nanoseconds: the machine's wall clock, as nobody has bent it.
pub fn wall_ns() -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a valid timespec for the kernel to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// The control socket that a role was given as descriptor 3, now close-on-exec.
///
/// An error where descriptor 3 is not open: the role was started by hand, not by its parent.
pub fn inherited_control() -> io::Result<OwnedFd> {
    // SAFETY: fcntl on a number is harmless whatever it is; it fails where it is not open.
    let marked = unsafe { libc::fcntl(CONTROL, libc::F_SETFD, libc::FD_CLOEXEC) };
    said("control socket (descriptor 3)", check(marked.into()))?;
    // SAFETY: descriptor 3 is open and was put there for us by the parent; nothing else in this process owns it,
    // since a role calls this once, first thing.
    Ok(unsafe { OwnedFd::from_raw_fd(CONTROL) })
}

/// Marks every descriptor from 3 on close-on-exec, so that nothing the caller left open reaches a node.
pub fn close_on_exec_all() -> io::Result<()> {
    // SAFETY: the call changes flags of descriptors only.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    said("close_range", check(result)).map(|_| ())
}

/// Puts this process's name where `ps` and `/proc/PID/comm` show it (15 bytes at most).
pub fn set_name(name: &str) {
    if let Ok(name) = CString::new(name) {
        // A name is for people: without it all goes on.
        let _ = nix::sys::prctl::set_name(&name);
    }
}

/// Asks for SIGKILL when the parent ends. Where it has ended already, `control` is at its end of file, and so is this
/// process.
pub fn die_with_parent(control: &impl AsFd) -> io::Result<()> {
    let asked = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
    said("PR_SET_PDEATHSIG", asked)?;
    let mut fds = [PollFd::new(control.as_fd(), PollFlags::empty())];
    if nix::poll::poll(&mut fds, PollTimeout::ZERO).is_ok_and(|ended| ended > 0) {
        // As the signal would have done, without a word: nobody is there to hear one.
        std::process::exit(0);
    }
    Ok(())
}

/// Waits until one of `fds` is readable or at its end, or `within` has passed; which ones are.
pub fn readable(fds: &[BorrowedFd<'_>], within: Option<Duration>) -> io::Result<Vec<bool>> {
    let deadline = within.map(|within| Instant::now() + within);
    let mut polled: Vec<PollFd> = fds.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
    loop {
        let left = match deadline {
            None => PollTimeout::NONE,
            // Rounded up, or the last millisecond would be a busy loop; a wait of weeks is as good as none.
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                PollTimeout::try_from(left.as_nanos().div_ceil(1_000_000) as i32).unwrap_or(PollTimeout::MAX)
            }
        };
        match nix::poll::poll(&mut polled, left) {
            Err(Errno::EINTR) => continue,
            Err(error) => return said("poll", Err(error)),
            Ok(_) => break,
        }
    }
    Ok(polled
        .iter()
        .map(|fd| fd.revents().is_some_and(|events| !events.is_empty()))
        .collect())
}

/// From now on big buffers come from fresh, zeroed maps. glibc's sliding threshold would take a FUSE session's
/// 16 MiB buffer from the heap and zero it by hand, 8 ms each time.
pub fn big_buffers_by_mmap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt sets a parameter of the allocator, before this process has other threads.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20);
    }
}

/// A descriptor by its number, for calls that `nix` wants raw.
pub fn raw(fd: &impl AsFd) -> RawFd {
    fd.as_fd().as_raw_fd()
}

/// Waits until `fd` can be written to, or `within` has passed; whether it can (an error on it counts: the write tells).
pub fn writable(fd: &impl AsFd, within: Duration) -> io::Result<bool> {
    let mut polled = [PollFd::new(fd.as_fd(), PollFlags::POLLOUT)];
    let timeout = PollTimeout::try_from(within).unwrap_or(PollTimeout::MAX);
    loop {
        match nix::poll::poll(&mut polled, timeout) {
            Err(Errno::EINTR) => continue,
            other => return said("poll", other).map(|ready| ready > 0),
        }
    }
}
