//! Starts a role: this executable again, in new namespaces where asked, with its control socket as descriptor 3.
//!
//! Everything between clone and exec is prepared before the clone, so that the child makes raw calls only: it
//! allocates nothing and takes no lock, whatever threads its parent has.

use std::ffi::{CStr, CString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::ptr;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use crate::owner;
use crate::packet::Channel;
use crate::sys;

/// Namespaces of the run, and again of each node: processes, mounts, network, host name, System V IPC.
pub const NAMESPACES: libc::c_int =
    libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWUTS | libc::CLONE_NEWIPC;

/// How long a child may take from clone to exec. It only makes a few calls; more means that the machine hangs.
const EXEC_PATIENCE: Duration = Duration::from_secs(10);

/// Descriptors are first copied up here, so that `dup2` onto 0 to 3 never treads on its own source.
const OUT_OF_THE_WAY: libc::c_int = 64;

/// The parent's end and the process.
#[derive(Debug)]
pub struct Child {
    pub pid: Pid,
    pub channel: std::rc::Rc<Channel>,
}

/// What to start.
pub struct Role<'a> {
    /// The first argument, `__wire` for one, and what follows.
    pub args: &'a [&'a str],
    /// CLONE_NEW... flags.
    pub namespaces: libc::c_int,
    /// A session of its own: no signal from the terminal reaches it.
    pub session: bool,
    /// Whether it reads what the caller's standard input brings; else it has /dev/null.
    pub stdin: bool,
    /// Told to act as this user (see [`crate::act_as_owner`]).
    pub owner: Option<(u32, u32)>,
}

/// The step at which a child failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Prepare,
    Clone,
    UserMap,
    Setup,
    Exec,
}

const STEPS: [Step; 5] = [Step::Prepare, Step::Clone, Step::UserMap, Step::Setup, Step::Exec];

/// A role that could not be started.
#[derive(Debug)]
pub struct SpawnError {
    pub step: Step,
    pub why: io::Error,
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = match self.step {
            Step::Prepare => "preparing to start it",
            Step::Clone => "clone",
            Step::UserMap => "mapping the user of the new user namespace",
            Step::Setup => "setting up its descriptors and session",
            Step::Exec => "executing /proc/self/exe",
        };
        write!(f, "{step}: {}", self.why)
    }
}

fn prepare<T>(result: io::Result<T>) -> Result<T, SpawnError> {
    result.map_err(|why| SpawnError {
        step: Step::Prepare,
        why,
    })
}

/// Starts a role and gives back its process and our end of its control socket.
pub fn spawn(role: &Role<'_>) -> Result<Child, SpawnError> {
    let (ours, theirs) = prepare(Channel::pair())?;
    let image = prepare(Image::new(role))?;
    let (report, word) = prepare(nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC).map_err(io::Error::from))?;
    let flags = (role.namespaces | libc::SIGCHLD) as libc::c_ulong;
    // SAFETY: with a null stack this is fork; the child goes on here with a copy of our memory and runs only
    // `become_role`, which makes raw calls on memory prepared above and never returns.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0usize, 0usize, 0usize, 0usize) };
    if pid == 0 {
        // SAFETY: we are the child of the clone above.
        unsafe { become_role(&image, sys::raw(&theirs), sys::raw(&word)) }
    }
    let pid = sys::check(pid).map_err(|errno| SpawnError {
        step: Step::Clone,
        why: errno.into(),
    })?;
    let pid = Pid::from_raw(pid as i32);
    drop((theirs, word));
    match failure(report) {
        None => Ok(Child {
            pid,
            channel: std::rc::Rc::new(ours),
        }),
        Some(failed) => {
            // It has failed and is ending, or hangs and is ended; either way it is ours to reap.
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
            while waitpid(pid, None) == Err(Errno::EINTR) {}
            Err(failed)
        }
    }
}

/// Whether a process can be made in these new namespaces: one that ends at once.
pub fn try_clone(namespaces: libc::c_int) -> io::Result<()> {
    let flags = (namespaces | libc::SIGCHLD) as libc::c_ulong;
    // SAFETY: with a null stack this is fork, and the child makes one raw call.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0usize, 0usize, 0usize, 0usize) };
    if pid == 0 {
        // SAFETY: ends the child and nothing else.
        unsafe { libc::_exit(0) }
    }
    let pid = Pid::from_raw(sys::said("clone", sys::check(pid))? as i32);
    while waitpid(pid, None) == Err(Errno::EINTR) {}
    Ok(())
}

/// Waits for the child's exec, which closes the pipe, or for its word on what failed.
fn failure(report: OwnedFd) -> Option<SpawnError> {
    match sys::readable(&[report.as_fd()], Some(EXEC_PATIENCE)) {
        Ok(ready) if ready[0] => {}
        Ok(_) => {
            return Some(SpawnError {
                step: Step::Exec,
                why: io::ErrorKind::TimedOut.into(),
            });
        }
        Err(why) => {
            return Some(SpawnError {
                step: Step::Exec,
                why,
            });
        }
    }
    let mut word = [0; 8];
    let step = match File::from(report).read(&mut word) {
        Ok(0) => return None,
        Ok(_) => STEPS.get(usize::from(word[0])).copied().unwrap_or(Step::Exec),
        Err(why) => {
            return Some(SpawnError {
                step: Step::Exec,
                why,
            });
        }
    };
    let errno = i32::from_ne_bytes([word[4], word[5], word[6], word[7]]);
    Some(SpawnError {
        step,
        why: io::Error::from_raw_os_error(errno),
    })
}

/// All that the child needs, allocated before the clone.
struct Image {
    argv: Pointers,
    envp: Pointers,
    /// Files of /proc/self and what goes into them.
    map: Vec<(&'static CStr, CString)>,
    session: bool,
    stdin: bool,
}

impl Image {
    fn new(role: &Role<'_>) -> io::Result<Image> {
        let argv = ["ackall"]
            .iter()
            .chain(role.args)
            .map(|arg| CString::new(*arg))
            .collect::<Result<Vec<_>, _>>()?;
        let mut map = Vec::new();
        if role.namespaces & libc::CLONE_NEWUSER != 0 {
            let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
            map.push((c"/proc/self/setgroups", CString::new("deny")?));
            map.push((c"/proc/self/uid_map", CString::new(format!("0 {uid} 1"))?));
            map.push((c"/proc/self/gid_map", CString::new(format!("0 {gid} 1"))?));
        }
        let envp = Pointers::new(environment(role.owner)?);
        Ok(Image {
            argv: Pointers::new(argv),
            envp,
            map,
            session: role.session,
            stdin: role.stdin,
        })
    }
}

fn environment(owner: Option<(u32, u32)>) -> io::Result<Vec<CString>> {
    let ours = std::env::vars_os().filter(|(name, _)| name != owner::VARIABLE);
    let mut all = Vec::new();
    for (name, value) in ours {
        let mut pair = name.into_vec();
        pair.push(b'=');
        pair.extend(value.into_vec());
        all.push(CString::new(pair)?);
    }
    if let Some((uid, gid)) = owner {
        all.push(CString::new(format!("{}={uid}:{gid}", owner::VARIABLE))?);
    }
    Ok(all)
}

/// C strings, and the null-terminated array of pointers to them.
pub struct Pointers {
    _strings: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl Pointers {
    pub fn new(strings: Vec<CString>) -> Pointers {
        // The pointers stay good while `_strings` lives: a CString's bytes do not move with it.
        let pointers = strings.iter().map(|s| s.as_ptr()).chain([ptr::null()]).collect();
        Pointers {
            _strings: strings,
            pointers,
        }
    }

    pub fn as_ptr(&self) -> *const *const libc::c_char {
        self.pointers.as_ptr()
    }
}

/// Turns the child of a clone into the role.
///
/// # Safety
/// Only in a child that has just been cloned, since it changes descriptors and ends the process.
unsafe fn become_role(image: &Image, control: libc::c_int, word: libc::c_int) -> ! {
    // SAFETY: raw calls on memory that `Image` holds and on descriptors that this process got with the clone.
    unsafe {
        for (file, text) in &image.map {
            write_file(file, text.as_bytes()).unwrap_or_else(|()| give_up(word, Step::UserMap));
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        clear_signal_mask();
        if image.session && libc::setsid() < 0 {
            give_up(word, Step::Setup);
        }
        if !image.stdin && !redirect(c"/dev/null", libc::O_RDONLY, 0) {
            give_up(word, Step::Setup);
        }
        let high = libc::fcntl(control, libc::F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
        let word = libc::fcntl(word, libc::F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
        if high < 0 || word < 0 || libc::dup2(high, sys::CONTROL) < 0 {
            give_up(word, Step::Setup);
        }
        libc::execve(
            c"/proc/self/exe".as_ptr(),
            image.argv.as_ptr(),
            image.envp.as_ptr(),
        );
        give_up(word, Step::Exec)
    }
}

/// Unblocks all signals: a mask outlives exec.
///
/// # Safety
/// Async-signal-safe; only where nobody else counts on this thread's mask.
pub unsafe fn clear_signal_mask() {
    // SAFETY: `none` is filled by sigemptyset before it is used.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
    }
}

/// Writes a short file of /proc in one call.
///
/// # Safety
/// Async-signal-safe: `path` and `text` must be valid, which references are.
pub unsafe fn write_file(path: &CStr, text: &[u8]) -> Result<(), ()> {
    // SAFETY: plain calls on valid memory; the descriptor is ours.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return Err(());
        }
        let written = libc::write(fd, text.as_ptr().cast(), text.len());
        let errno = *libc::__errno_location();
        libc::close(fd);
        *libc::__errno_location() = errno;
        if written == text.len() as isize {
            Ok(())
        } else {
            Err(())
        }
    }
}

/// Opens a file as descriptor `target`.
///
/// # Safety
/// Async-signal-safe; replaces `target`, so only in a child before exec.
pub unsafe fn redirect(path: &CStr, flags: libc::c_int, target: libc::c_int) -> bool {
    // SAFETY: plain calls on valid memory; dup2 clears close-on-exec on `target`.
    unsafe {
        let fd = libc::open(path.as_ptr(), flags | libc::O_CLOEXEC);
        if fd == target {
            return libc::fcntl(fd, libc::F_SETFD, 0) >= 0;
        }
        let done = fd >= 0 && libc::dup2(fd, target) >= 0;
        if fd >= 0 {
            libc::close(fd);
        }
        done
    }
}

/// Tells the parent which step failed and why, and ends.
///
/// # Safety
/// Only in a child before exec.
unsafe fn give_up(word: libc::c_int, step: Step) -> ! {
    // SAFETY: errno is this thread's; the word is on the stack.
    unsafe { report_and_exit(word, STEPS.iter().position(|s| *s == step).unwrap_or(0) as u8) }
}

/// Writes a step's number and errno into the pipe, and ends.
///
/// # Safety
/// Only in a child before exec.
pub unsafe fn report_and_exit(word: libc::c_int, step: u8) -> ! {
    // SAFETY: errno is this thread's; the buffer is on the stack and 8 bytes long.
    unsafe {
        let errno = (*libc::__errno_location()).to_ne_bytes();
        let said = [step, 0, 0, 0, errno[0], errno[1], errno[2], errno[3]];
        libc::write(word, said.as_ptr().cast(), said.len());
        libc::_exit(125)
    }
}
