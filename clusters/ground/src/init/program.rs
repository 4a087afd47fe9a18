//! The node's program: starting it, and taking in its end.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::fchown;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal as UnixSignal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::clock::preload;
use super::{FromInit, Init};
use crate::api::Program;
use crate::spawn::{Pointers, clear_signal_mask, redirect, report_and_exit, write_file};
use crate::sys;

/// The program's name that means this executable.
const OURSELVES: &str = "{self}";
/// How long a program may take from fork to exec: entering its folder on a slow disk is what takes time.
const EXEC_PATIENCE: Duration = Duration::from_secs(10);
/// Nodes are likelier victims of the kernel's out-of-memory killer than what judges them.
const OOM_SCORE_ADJ: &[u8] = b"500";

/// The steps between fork and exec, as the child reports them.
const STEPS: [&str; 3] = [
    "setting up its descriptors",
    "entering its working folder",
    "executing it",
];

/// The program that runs.
pub struct Running {
    pub pid: Pid,
    start: u32,
    /// Whether we sent SIGKILL.
    pub killed: bool,
    oom_kills_before: Option<u64>,
}

impl Init {
    /// Starts the program; when it had replaced us.
    pub fn start(&mut self, start: u32, program: &Program, owner: Option<(u32, u32)>) -> Result<u64, String> {
        if self.running.is_some() {
            return Err("its program runs already".into());
        }
        let log = open_log(program, owner).map_err(|error| error.to_string())?;
        let image = Image::new(program, log).map_err(|error| error.to_string())?;
        let oom_kills_before = oom_kills();
        let (report, word) =
            nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC).map_err(|error| error.to_string())?;
        // SAFETY: the child runs only `become_program`, which makes raw calls on memory prepared above.
        let pid = sys::check(unsafe { libc::fork() }.into()).map_err(|error| format!("fork: {error}"))?;
        if pid == 0 {
            // SAFETY: we are the child.
            unsafe { become_program(&image, word.as_raw_fd()) }
        }
        drop(word);
        let pid = Pid::from_raw(pid as i32);
        match await_exec(report) {
            Ok(at_ns) => {
                self.running = Some(Running {
                    pid,
                    start,
                    killed: false,
                    oom_kills_before,
                });
                Ok(at_ns)
            }
            Err(why) => {
                // Reaped by the loop: it is not the running program.
                let _ = kill(pid, UnixSignal::SIGKILL);
                Err(why)
            }
        }
    }

    /// Takes in every death so far; whether any child is left.
    pub fn reap(&mut self) -> bool {
        while let Ok(Some(_)) = self.deaths.read_signal() {}
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return true,
                Err(Errno::EINTR) => {}
                Err(_) => return false,
                Ok(status) => {
                    if self
                        .running
                        .as_ref()
                        .is_some_and(|running| status.pid() == Some(running.pid))
                    {
                        self.program_ended(status);
                    }
                }
            }
        }
    }

    fn program_ended(&mut self, end: WaitStatus) {
        let at_ns = sys::monotonic_ns();
        let Some(running) = self.running.take() else {
            return;
        };
        let (status, signal) = match end {
            WaitStatus::Exited(_, status) => (Some(status), None),
            WaitStatus::Signaled(_, signal, _) => (None, Some(signal as i32)),
            _ => (None, None),
        };
        let rose = running
            .oom_kills_before
            .zip(oom_kills())
            .is_some_and(|(before, now)| now > before);
        let oom = rose && signal == Some(libc::SIGKILL) && !running.killed;
        self.say(&FromInit::Ended {
            start: running.start,
            status,
            signal,
            oom,
            at_ns,
        });
    }
}

fn open_log(program: &Program, owner: Option<(u32, u32)>) -> io::Result<File> {
    let path = &program.log;
    let opened = File::options().create(true).append(true).open(path);
    let log = sys::said(format!("opening the log {}", path.display()), opened)?;
    if let Some((uid, gid)) = owner {
        sys::said(
            format!("giving {} to its owner", path.display()),
            fchown(&log, Some(uid), Some(gid)),
        )?;
    }
    Ok(log)
}

/// Out-of-memory kills of this kernel since its start, where it tells.
fn oom_kills() -> Option<u64> {
    let text = fs::read_to_string("/proc/vmstat").ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("oom_kill "))?
        .trim()
        .parse()
        .ok()
}

/// Waits for the exec, which closes the pipe, or for the child's word on what failed.
fn await_exec(report: OwnedFd) -> Result<u64, String> {
    let ready = sys::readable(&[report.as_fd()], Some(EXEC_PATIENCE)).map_err(|error| error.to_string())?;
    let at_ns = sys::monotonic_ns();
    if !ready[0] {
        return Err(format!(
            "it was not executing after {EXEC_PATIENCE:?}: its disk does not answer"
        ));
    }
    let mut word = [0; 8];
    match File::from(report).read(&mut word) {
        Ok(0) => Ok(at_ns),
        Ok(_) => {
            let step = STEPS.get(usize::from(word[0])).unwrap_or(&"starting it");
            let errno = i32::from_ne_bytes([word[4], word[5], word[6], word[7]]);
            Err(format!("{step}: {}", io::Error::from_raw_os_error(errno)))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// All that the child needs, allocated before the fork.
struct Image {
    file: CString,
    argv: Pointers,
    envp: Pointers,
    cwd: CString,
    log: File,
}

impl Image {
    fn new(program: &Program, log: File) -> io::Result<Image> {
        let first = program
            .argv
            .first()
            .ok_or_else(|| io::Error::other("no program is named"))?;
        let ourselves = first == OURSELVES;
        let name = |name: &str| CString::new(if name == OURSELVES { "ackall" } else { name });
        let mut argv = vec![name(first)?];
        for arg in &program.argv[1..] {
            argv.push(CString::new(arg.as_str())?);
        }
        let file = if ourselves {
            c"/proc/self/exe".into()
        } else {
            CString::new(first.as_str())?
        };
        let cwd = CString::new(program.cwd.as_os_str().as_bytes())?;
        Ok(Image {
            file,
            argv: Pointers::new(argv),
            envp: Pointers::new(environment(program)?),
            cwd,
            log,
        })
    }
}

/// Ours, and over it the program's; and the clock shim before what else is preloaded.
fn environment(program: &Program) -> io::Result<Vec<CString>> {
    const PRELOAD: &str = "LD_PRELOAD";
    let said = program.env.iter().find(|(name, _)| name == PRELOAD);
    let inherited = std::env::var(PRELOAD).ok();
    let preload = preload(said.map(|(_, value)| value.as_str()).or(inherited.as_deref()));
    let is_set = |name: &std::ffi::OsStr| {
        let ours = preload.is_some() && name == PRELOAD;
        ours || program.env.iter().any(|(set, _)| name == set.as_str())
    };
    let mut all = Vec::new();
    if let Some(preload) = &preload {
        all.push(CString::new(format!("{PRELOAD}={preload}"))?);
    }
    for (name, value) in std::env::vars_os().filter(|(name, _)| !is_set(name)) {
        let mut pair = name.into_vec();
        pair.push(b'=');
        pair.extend(value.into_vec());
        all.push(CString::new(pair)?);
    }
    let not_preload = |(name, _): &&(String, String)| preload.is_none() || name != PRELOAD;
    for (name, value) in program.env.iter().filter(not_preload) {
        all.push(CString::new(format!("{name}={value}"))?);
    }
    Ok(all)
}

/// Turns the child of a fork into the program.
///
/// # Safety
/// Only in a child that has just been forked, since it changes descriptors and ends the process.
unsafe fn become_program(image: &Image, word: libc::c_int) -> ! {
    // SAFETY: raw calls on memory that `Image` holds and on descriptors that this process got with the fork.
    // Descriptors 0 to 2 are open in init, so neither the log nor the pipe is one of them.
    unsafe {
        clear_signal_mask();
        // Ignored by Rust's runtime, and an ignored signal outlives exec.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let _ = write_file(c"/proc/self/oom_score_adj", OOM_SCORE_ADJ);
        let log = image.log.as_raw_fd();
        if !redirect(c"/dev/null", libc::O_RDONLY, 0) || libc::dup2(log, 1) < 0 || libc::dup2(log, 2) < 0 {
            report_and_exit(word, 0);
        }
        if libc::chdir(image.cwd.as_ptr()) < 0 {
            report_and_exit(word, 1);
        }
        libc::execvpe(image.file.as_ptr(), image.argv.as_ptr(), image.envp.as_ptr());
        report_and_exit(word, 2)
    }
}
