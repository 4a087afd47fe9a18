//! What this machine allows, found out by use: each mechanism is tried, in namespaces that end with the try, so that
//! nothing is left behind.

mod faults;
pub(crate) mod stage;

use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;

use crate::api::{Error, Probe};
use crate::lacks::{self, Mechanism};
use crate::spawn::{self, Role, SpawnError, Step, spawn};
use crate::sys;

/// How long the tries may take in all; 20 ms are usual.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a run of some minutes may write: histories, logs, and the nodes' disks.
const ROOM: u64 = 512 << 20;

/// What a process that tries says; nothing where it ended without a word.
type Said = std::io::Result<Option<Vec<Probe>>>;

/// Tries everything that a run needs, on this machine and as this user, for runs whose folders are in `folder`.
pub fn probe(folder: &Path) -> Vec<Probe> {
    let mut probes = tried();
    probes.push(room(folder));
    probes
}

/// Tries the mechanisms of faults that a default run can do without.
pub fn probe_faults() -> Vec<Probe> {
    match try_in_namespaces(&["__probe", stage::FAULTS]) {
        Ok(Ok(Some(probes))) => probes,
        Ok(Ok(None)) => faults::untried("the process that tries them ended without a word", "try again"),
        Ok(Err(error)) => faults::untried(&error.to_string(), "try again"),
        Err((error, _)) => faults::untried(
            "not tried: it needs the namespaces",
            &lacks::cannot_spawn(&error).next,
        ),
    }
}

/// The mechanisms that need namespaces: tried in a process that has them.
fn tried() -> Vec<Probe> {
    let said = match try_in_namespaces(&["__probe"]) {
        Ok(said) => said,
        Err((error, user)) => return refused(&error, user),
    };
    let how = "clone with every namespace at once";
    let mut probes = vec![available(Mechanism::Namespaces, how)];
    match said {
        Ok(Some(rest)) => probes.extend(rest),
        Ok(None) => probes.push(ended("it ended without a word")),
        Err(error) => probes.push(ended(&error.to_string())),
    }
    probes
}

/// What a process in namespaces of its own says of its tries; or why there is none, and the flag of a user namespace
/// where one was needed.
fn try_in_namespaces(args: &[&'static str]) -> Result<Said, (SpawnError, libc::c_int)> {
    // Where it fails, what the caller left open stays open in a process that makes its tries and ends.
    let _ = sys::close_on_exec_all();
    let user = if nix::unistd::geteuid().is_root() {
        0
    } else {
        libc::CLONE_NEWUSER
    };
    let namespaces = spawn::NAMESPACES | user;
    let role = Role {
        args,
        namespaces,
        session: true,
        stdin: false,
        owner: None,
    };
    let child = match spawn(&role) {
        Ok(child) => child,
        Err(error) => return Err((error, user)),
    };
    let said = child.channel.receive_within::<Vec<Probe>>(PATIENCE);
    // Not reaped yet, so the id is its own.
    let _ = kill(child.pid, Signal::SIGKILL);
    while waitpid(child.pid, None) == Err(nix::errno::Errno::EINTR) {}
    Ok(said)
}

fn ended(why: &str) -> Probe {
    Probe {
        name: "probe".into(),
        available: false,
        how: "a process in namespaces of its own tries the rest".into(),
        why_not: why.into(),
        remedy: "try again; if it stays so, please report it".into(),
    }
}

/// No namespaces: says which of them are refused, each tried alone (with a user namespace where that is needed).
fn refused(error: &SpawnError, user: libc::c_int) -> Vec<Probe> {
    let names = [
        ("user namespace", 0),
        ("mount namespace", libc::CLONE_NEWNS),
        ("network namespace", libc::CLONE_NEWNET),
        ("PID namespace", libc::CLONE_NEWPID),
        ("UTS namespace", libc::CLONE_NEWUTS),
        ("IPC namespace", libc::CLONE_NEWIPC),
    ];
    let whole = lacks::cannot_spawn(error);
    let mut probes = vec![unavailable(
        "namespaces",
        "clone with every namespace at once",
        &whole,
    )];
    if error.step != Step::Clone {
        return probes;
    }
    for (name, flag) in names.into_iter().filter(|(_, flag)| flag | user != 0) {
        let how = format!("clone with a {name}");
        match spawn::try_clone(flag | user) {
            Ok(()) => {
                let (name, why_not, remedy) = (name.to_string(), String::new(), String::new());
                probes.push(Probe {
                    name,
                    available: true,
                    how,
                    why_not,
                    remedy,
                });
            }
            Err(why) => probes.push(unavailable(
                name,
                &how,
                &lacks::lacks(Mechanism::Namespaces, &why),
            )),
        }
    }
    for mechanism in [
        Mechanism::Mounts,
        Mechanism::Network,
        Mechanism::Tap,
        Mechanism::Fuse,
    ] {
        let why_not = "not tried: it needs the namespaces".into();
        let (name, how, remedy) = (mechanism.name().into(), String::new(), whole.next.clone());
        probes.push(Probe {
            name,
            available: false,
            how,
            why_not,
            remedy,
        });
    }
    probes
}

fn available(mechanism: Mechanism, how: &str) -> Probe {
    let (why_not, remedy) = (String::new(), String::new());
    Probe {
        name: mechanism.name().into(),
        available: true,
        how: how.into(),
        why_not,
        remedy,
    }
}

fn unavailable(name: &str, how: &str, error: &Error) -> Probe {
    let (why_not, remedy) = (error.why.clone(), error.next.clone());
    Probe {
        name: name.into(),
        available: false,
        how: how.into(),
        why_not,
        remedy,
    }
}

/// Room for a run in the folder, or in the nearest folder above it that is there.
fn room(folder: &Path) -> Probe {
    let there = folder
        .ancestors()
        .find(|folder| folder.exists())
        .unwrap_or(Path::new("."));
    let how = format!("free space below {}", there.display());
    let (why_not, remedy) = match nix::sys::statvfs::statvfs(there) {
        Ok(room) => {
            let free = room.blocks_available() * room.fragment_size();
            if free >= ROOM {
                (String::new(), String::new())
            } else {
                let why = format!("{} MiB are free, {} MiB are needed", free >> 20, ROOM >> 20);
                (why, "ackall run --out A_FOLDER_WITH_ROOM".into())
            }
        }
        Err(error) => (
            format!("statvfs: {error}"),
            "ackall run --out A_FOLDER_THAT_IS_THERE".into(),
        ),
    };
    Probe {
        name: "space".into(),
        available: why_not.is_empty(),
        how,
        why_not,
        remedy,
    }
}
