//! Entering a node: a command that runs in its namespaces, on the terminal of whoever asked.
//!
//! ```text
//! C    the one who asked: enters the user namespace, and has its children born in the node's PID namespace; waits
//! └ X  in all of the node's namespaces: starts A, and is gone
//!
//! init of the node
//! └ A  waits for the command, and writes how it ended into a pipe; ends it when C is gone
//!   └ B  the command
//! ```
//!
//! A and B are processes of the node: they die with it, and its death waits for nobody outside. A PID namespace does not
//! end while one of its dead is still to be reaped; so A is an orphan, which the node's init reaps, and C, which may
//! have stopped (Ctrl-Z) or be gone, has no child but X, whose death it ignores. And C holds no mount and no network of
//! the node's. The terminal is C's own, and B is in its session: job control is that of any child of a shell.

use std::ffi::CString;
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::spawn::{Pointers, clear_signal_mask};
use crate::sys;

/// The namespaces of a node that A enters.
const OF_A_NODE: libc::c_int =
    libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWUTS | libc::CLONE_NEWIPC;

/// A way into a node, as long as it has power: its init, held so that its number means no other process.
#[derive(Debug)]
pub struct Entry(OwnedFd);

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
    /// Into the node whose init has this process id.
    pub(crate) fn into_node(init: i32) -> io::Result<Entry> {
        // SAFETY: a plain call; the descriptor it gives is new, and close-on-exec.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, init, 0u32) };
        let fd = sys::said("pidfd_open", sys::check(fd))? as i32;
        // SAFETY: just opened, and nobody else's.
        Ok(Entry(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    pub(crate) fn of(descriptor: OwnedFd) -> Entry {
        Entry(descriptor)
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// The init's process id as this process sees it.
    fn pid(&self) -> io::Result<i32> {
        let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", self.0.as_raw_fd()))?;
        let pid = text
            .lines()
            .find_map(|line| line.strip_prefix("Pid:")?.trim().parse().ok());
        pid.filter(|pid| *pid > 0)
            .ok_or_else(|| io::Error::other("the node has no power any more"))
    }

    /// Runs a command in the node, in this folder, with our environment and terminal, and waits for its end. A shell has a
    /// process group of its own, since it gives the terminal back to the one that it found, and ours is none of the
    /// node's numbers. Another command is in our group: what the terminal says is said to both. Call it in
    /// a process of one thread, which does nothing else after it: it is left in the node's user namespace.
    ///
    /// # Errors
    /// Where the node cannot be entered.
    pub fn run(&self, argv: &[String], folder: &Path, is_shell: bool) -> io::Result<Left> {
        let mut image = Image::new(argv, folder)?;
        let own = |pid: &str| fs::metadata(format!("/proc/{pid}/ns/user")).map(|user| user.ino());
        let other_user = sys::said("its user namespace", own(&self.pid()?.to_string()))? != own("self")?;
        let user = if other_user { libc::CLONE_NEWUSER } else { 0 };
        let (report, word) = sys::said("pipe", nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC))?;
        let entry = self.0.as_raw_fd();
        let (pid, group);
        // SAFETY: plain calls. The child of the fork runs only `become_starter`, on memory prepared above; this process
        // has one thread.
        unsafe {
            let entered = libc::setns(entry, user | libc::CLONE_NEWPID);
            sys::said("entering the node (setns)", sys::check(entered.into()))?;
            group = libc::getpgrp();
            image.leads = is_shell && libc::isatty(0) == 1 && libc::tcgetpgrp(0) == group;
            // X is reaped at once: see above. Interrupts of the terminal are the command's.
            for signal in [libc::SIGCHLD, libc::SIGINT, libc::SIGQUIT] {
                libc::signal(signal, libc::SIG_IGN);
            }
            pid = libc::fork();
            if pid == 0 {
                become_starter(&image, entry, word.as_raw_fd());
            }
        }
        sys::said("fork in the node", sys::check(pid.into()))?;
        drop(word);
        let left = heard(report);
        take_terminal_back(group);
        left
    }
}

/// Waits for A's word.
fn heard(report: OwnedFd) -> io::Result<Left> {
    let mut word = Vec::new();
    fs::File::from(report).read_to_end(&mut word)?;
    // The first word counts: after a B that could not be executed A tells of its end too.
    let Some([kind, a, b, c, d]) = word.first_chunk() else {
        return Ok(Left::WithTheNode);
    };
    let value = i32::from_ne_bytes([*a, *b, *c, *d]);
    match *kind {
        EXITED => Ok(Left::Exited(value as u8)),
        KILLED => Ok(Left::Killed(value)),
        NOT_EXECUTED => Ok(Left::NotExecuted(value)),
        _ => sys::said(
            "entering the node's network and mounts (setns)",
            Err(io::Error::from_raw_os_error(value)),
        ),
    }
}

const EXITED: u8 = 0;
const KILLED: u8 = 1;
const NOT_EXECUTED: u8 = 2;
const NOT_ENTERED: u8 = 3;

/// A shell of the node's with job control made itself the terminal's foreground; now we are it again.
fn take_terminal_back(group: libc::pid_t) {
    // SAFETY: plain calls on descriptor 0, which fail where it is no terminal.
    unsafe {
        if libc::isatty(0) == 1 && libc::tcgetpgrp(0) != group {
            // A background process that does this would be stopped.
            libc::signal(libc::SIGTTOU, libc::SIG_IGN);
            libc::tcsetpgrp(0, group);
            libc::signal(libc::SIGTTOU, libc::SIG_DFL);
        }
    }
}

/// All that the children need, allocated before the fork.
struct Image {
    file: CString,
    argv: Pointers,
    envp: Pointers,
    folder: CString,
    /// Whether the command leads the terminal's foreground group.
    leads: bool,
}

impl Image {
    fn new(argv: &[String], folder: &Path) -> io::Result<Image> {
        let words = argv.iter().map(|arg| CString::new(arg.as_str()));
        let words = words.collect::<Result<Vec<_>, _>>()?;
        let file = words.first().cloned();
        let pair = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            let mut pair = name.into_vec();
            pair.push(b'=');
            pair.extend(value.into_vec());
            CString::new(pair)
        };
        let environment = std::env::vars_os().map(pair).collect::<Result<Vec<_>, _>>()?;
        Ok(Image {
            file: file.ok_or_else(|| io::Error::other("no command is named"))?,
            argv: Pointers::new(words),
            envp: Pointers::new(environment),
            folder: CString::new(folder.as_os_str().as_bytes())?,
            leads: false,
        })
    }
}

/// Turns the child of a fork into X, which starts A and leaves it to the node's init.
///
/// # Safety
/// Only in a child that has just been forked, since it ends the process.
unsafe fn become_starter(image: &Image, entry: libc::c_int, word: libc::c_int) -> ! {
    // SAFETY: raw calls on memory that `Image` holds and on descriptors that this process got with the fork.
    unsafe {
        if libc::setns(entry, OF_A_NODE) < 0 {
            say(word, NOT_ENTERED, *libc::__errno_location());
        }
        match libc::fork() {
            0 => become_waiter(image, word),
            failed if failed < 0 => say(word, NOT_ENTERED, *libc::__errno_location()),
            _ => libc::_exit(0),
        }
    }
}

/// Turns the child of a fork into A, which starts B.
///
/// # Safety
/// As [`become_starter`].
unsafe fn become_waiter(image: &Image, word: libc::c_int) -> ! {
    // SAFETY: as above.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let pid = libc::fork();
        if pid == 0 {
            become_command(image, word);
        }
        let end = libc::syscall(libc::SYS_pidfd_open, pid, 0u32) as libc::c_int;
        if pid < 0 || end < 0 {
            say(word, NOT_ENTERED, *libc::__errno_location());
        }
        let watched = |fd, events| libc::pollfd {
            fd,
            events,
            revents: 0,
        };
        // The pipe has an error when its reader is gone: nobody is there for the command.
        let mut both = [watched(end, libc::POLLIN), watched(word, 0)];
        while both[0].revents == 0 {
            if libc::poll(both.as_mut_ptr(), 2, -1) > 0 && both[1].revents != 0 {
                // Not reaped, so the id is its own.
                libc::kill(pid, libc::SIGKILL);
                both[1].fd = -1;
            }
        }
        let mut status = 0;
        while libc::waitpid(pid, &mut status, 0) < 0 && *libc::__errno_location() == libc::EINTR {}
        if libc::WIFSIGNALED(status) {
            say(word, KILLED, libc::WTERMSIG(status));
        }
        say(word, EXITED, libc::WEXITSTATUS(status))
    }
}

/// Turns the child of a fork into B, the command.
///
/// # Safety
/// As [`become_starter`].
unsafe fn become_command(image: &Image, word: libc::c_int) -> ! {
    // SAFETY: as above.
    unsafe {
        clear_signal_mask();
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if image.leads && libc::setpgid(0, 0) == 0 {
            // A background process that does this would be stopped.
            libc::signal(libc::SIGTTOU, libc::SIG_IGN);
            libc::tcsetpgrp(0, libc::getpid());
            libc::signal(libc::SIGTTOU, libc::SIG_DFL);
        }
        // A folder that is not there leaves us in the root folder: as good a place.
        let _ = libc::chdir(image.folder.as_ptr());
        libc::execvpe(image.file.as_ptr(), image.argv.as_ptr(), image.envp.as_ptr());
        say(word, NOT_EXECUTED, *libc::__errno_location())
    }
}

/// Writes a word into the pipe, and ends.
///
/// # Safety
/// Only in a child before exec, X or A.
unsafe fn say(word: libc::c_int, kind: u8, value: i32) -> ! {
    // SAFETY: the buffer is on the stack and 5 bytes long.
    unsafe {
        let [a, b, c, d] = value.to_ne_bytes();
        let said = [kind, a, b, c, d];
        libc::write(word, said.as_ptr().cast(), said.len());
        libc::_exit(0)
    }
}
