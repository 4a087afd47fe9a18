//! The mechanisms of faults that a default run can do without: each is tried for what it is for, in namespaces that
//! end with the try.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::api::Probe;
use crate::cgroup::Group;
use crate::init::clock_shim_is_there;
use crate::limit::Limit;
use crate::real_disk::{Kind, try_real_disk};
use crate::{mounts, sys};

/// Their names, in the order of the table: what a fault needs is named so.
pub const NAMES: [&str; 9] = [
    "signals",
    "clock shim",
    "descriptor limits",
    "cgroup cpu",
    "cgroup memory",
    "cgroup freezer",
    "cgroup v2",
    "loop device, ext4, shutdown",
    "loop device, xfs, shutdown",
];

/// How each is tried.
const HOW: [&str; 9] = [
    "a child stopped, continued and killed, each seen",
    "a program run with it preloaded",
    "a limit of our own lowered, met and raised again",
    "a group with a quota made, a process put in, and taken away",
    "a group with a limit made, a process put in, and taken away",
    "a group made, frozen, thawed and taken away",
    "a group made in the unified tree, and taken away; controllers are only there where version 1 has none",
    "a file system formatted, mounted, shut down by its ioctl and mounted again: what was synced is there, the rest is gone",
    "the same",
];

/// A refusal: why, and one line that helps.
struct No {
    why: String,
    remedy: String,
}

type Tried = Result<(), No>;

fn no<T>(why: impl std::fmt::Display, remedy: &str) -> Result<T, No> {
    let why = why.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    Err(No {
        why,
        remedy: remedy.into(),
    })
}

const ROOT: &str = "sudo ackall doctor, and sudo ackall run; in CI: run the step with sudo";
const V1: &str = "sudo mkdir -p /sys/fs/cgroup/cpu /sys/fs/cgroup/memory && sudo mount -t cgroup -o cpu none /sys/fs/cgroup/cpu && sudo mount -t cgroup -o memory none /sys/fs/cgroup/memory";

/// All of them, none tried.
pub fn untried(why: &str, remedy: &str) -> Vec<Probe> {
    NAMES
        .iter()
        .zip(HOW)
        .map(|(name, how)| row(name, how, no(why, remedy)))
        .collect()
}

/// All of them, tried in this process, which has namespaces of its own.
pub fn all() -> Vec<Probe> {
    // What is mounted from here on is ours, and gone with us.
    let settled = mounts::tmpfs(Path::new("/tmp"), "1777");
    mounts::own_proc();
    let mount = |kind: Kind| match &settled {
        Ok(()) => shut_down(kind),
        Err(why) => no(why, ROOT),
    };
    let tried: [Tried; 9] = [
        signals(),
        clock(),
        descriptors(),
        group("cpu", Limit::Cpu { permille: 500 }),
        group("memory", Limit::Memory { bytes: 64 << 20 }),
        freezer(),
        unified(),
        mount(Kind::Ext4),
        mount(Kind::Xfs),
    ];
    let rows = NAMES.iter().zip(HOW).zip(tried);
    rows.map(|((name, how), tried)| row(name, how, tried)).collect()
}

fn row(name: &str, how: &str, tried: Tried) -> Probe {
    let (available, why_not, remedy) = match tried {
        Ok(()) => (true, String::new(), String::new()),
        Err(No { why, remedy }) => (false, why, remedy),
    };
    Probe {
        name: name.into(),
        available,
        how: how.into(),
        why_not,
        remedy,
    }
}

/// A child that waits for its end.
fn with_child<T>(with: impl FnOnce(Pid) -> io::Result<T>) -> io::Result<T> {
    // SAFETY: this process has one thread, and the child makes one raw call until it is killed.
    let pid = sys::check(unsafe { libc::fork() }.into())?;
    if pid == 0 {
        loop {
            // SAFETY: pause has no arguments.
            unsafe { libc::pause() };
        }
    }
    let pid = Pid::from_raw(pid as i32);
    let done = with(pid);
    let _ = kill(pid, Signal::SIGKILL);
    let _ = waitpid(pid, None);
    done
}

fn signals() -> Tried {
    let seen = with_child(|pid| {
        let mut seen = Vec::new();
        for (signal, flag) in [
            (Signal::SIGSTOP, WaitPidFlag::WUNTRACED),
            (Signal::SIGCONT, WaitPidFlag::WCONTINUED),
            (Signal::SIGKILL, WaitPidFlag::empty()),
        ] {
            kill(pid, signal)?;
            seen.push(waitpid(pid, Some(flag))?);
        }
        Ok(seen)
    });
    match seen.as_deref() {
        Ok(
            [
                WaitStatus::Stopped(..),
                WaitStatus::Continued(_),
                WaitStatus::Signaled(..),
            ],
        ) => Ok(()),
        Ok(other) => no(
            format!("a child showed {other:?}"),
            "see what traces or filters signals here",
        ),
        Err(why) => no(why, "see what traces or filters signals here"),
    }
}

fn clock() -> Tried {
    // That a program is shown another time, each clock fault measures in that program.
    clock_shim_is_there().or_else(|why| no(why, "run on x86_64 or aarch64"))
}

fn descriptors() -> Tried {
    const OPEN: u64 = 64;
    let me = std::process::id() as i32;
    let tried = || -> io::Result<bool> {
        let before = sys::descriptors(me)?;
        let lowered = sys::Rlimit { soft: OPEN, ..before };
        sys::set_descriptors(me, lowered)?;
        // All at once: one that is closed again leaves its place to the next.
        let opened: Vec<File> = (0..=OPEN).map_while(|_| File::open("/dev/null").ok()).collect();
        sys::set_descriptors(me, before)?;
        Ok((opened.len() as u64) < OPEN)
    };
    match tried() {
        Ok(true) => Ok(()),
        Ok(false) => no(
            "a limit was set and not met",
            "this kernel does not hold RLIMIT_NOFILE: run elsewhere",
        ),
        Err(why) => no(why, "docker run --security-opt seccomp=unconfined ..."),
    }
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
        && fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| map.contains("4294967295"))
}

fn remedy_of_cgroups(why: &io::Error) -> &'static str {
    if why.kind() == io::ErrorKind::NotFound && is_root() {
        V1
    } else if is_root() {
        "docker run --privileged --cgroupns=host -v /sys/fs/cgroup:/sys/fs/cgroup:rw ..."
    } else {
        ROOT
    }
}

fn group(controller: &str, limit: Limit) -> Tried {
    let tag = u64::from(std::process::id()) | (sys::monotonic_ns() << 20);
    let tried = with_child(|pid| {
        let group = Group::make(tag, &format!("probe-{controller}"), &limit)?;
        let processes = group
            .take_in(pid.as_raw())
            .and_then(|()| group.seen())
            .map(|seen| seen.processes);
        group.remove()?;
        processes
    });
    match tried {
        Ok(1) => Ok(()),
        Ok(other) => no(format!("{other} processes are in it instead of 1"), ROOT),
        Err(why) => no(&why, remedy_of_cgroups(&why)),
    }
}

/// Makes a folder below a cgroup tree, and takes it away again.
fn folder_in(root: &str, with: impl FnOnce(&Path) -> io::Result<()>) -> Tried {
    let folder = Path::new(root).join(format!("ackall-probe-{}", sys::monotonic_ns()));
    let tried = fs::create_dir(&folder).and_then(|()| {
        let done = with(&folder);
        fs::remove_dir(&folder)?;
        done
    });
    tried.or_else(|why| no(format!("{root}: {why}"), remedy_of_cgroups(&why)))
}

fn freezer() -> Tried {
    let root = "/sys/fs/cgroup/freezer";
    if !Path::new(root).exists() {
        return no(
            format!("{root} is not there"),
            "sudo mkdir /sys/fs/cgroup/freezer && sudo mount -t cgroup -o freezer none /sys/fs/cgroup/freezer",
        );
    }
    folder_in(root, |folder| {
        for state in ["FROZEN", "THAWED"] {
            fs::write(folder.join("freezer.state"), state)?;
        }
        Ok(())
    })
}

fn unified() -> Tried {
    let roots = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
    match roots
        .into_iter()
        .find(|root| Path::new(root).join("cgroup.controllers").exists())
    {
        Some(root) => folder_in(root, |folder| fs::metadata(folder.join("cgroup.procs")).map(drop)),
        None => no(
            "no tree of version 2 is mounted",
            "sudo mount -t cgroup2 none /sys/fs/cgroup/unified",
        ),
    }
}

/// A real disk is made, cut and mounted again, as a node's is.
fn shut_down(kind: Kind) -> Tried {
    if !is_root() {
        return no("loop devices need root outside of user namespaces", ROOT);
    }
    match try_real_disk(kind, Path::new("/tmp")) {
        Ok(_) => Ok(()),
        Err(lacks) => no(lacks.why, &lacks.next),
    }
}
