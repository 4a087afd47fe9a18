//! Control groups, of version 1 or 2, chosen by trying: a folder of our own below the controller's, into which a
//! node's processes are put.
//!
//! A cgroup has a name on the host, so whoever makes one takes it away: the keeper when the limit is lifted, the front
//! when the run is over ([`sweep`]); both know it by the run's tag.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::limit::{Limit, LimitSeen};
use crate::sys;

/// Begins the name of each of our groups.
const PREFIX: &str = "ackall";
/// The period of a share of the processor, in microseconds: the kernel's own default.
const PERIOD_US: u64 = 100_000;
/// Where cgroups are mounted, version 2 last: where both are there, version 1 has the controllers.
const ROOTS: [(&str, Version); 5] = [
    ("/sys/fs/cgroup/cpu", Version::One),
    ("/sys/fs/cgroup/cpu,cpuacct", Version::One),
    ("/sys/fs/cgroup/memory", Version::One),
    ("/sys/fs/cgroup/unified", Version::Two),
    ("/sys/fs/cgroup", Version::Two),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A group of ours.
#[derive(Debug)]
pub struct Group {
    folder: PathBuf,
    root: PathBuf,
    version: Version,
    /// `cpu` or `memory`.
    controller: &'static str,
}

impl Group {
    /// Makes a group with this limit, and nobody in it.
    pub fn make(tag: u64, name: &str, limit: &Limit) -> io::Result<Group> {
        let controller = match limit {
            Limit::Cpu { .. } => "cpu",
            Limit::Memory { .. } => "memory",
            Limit::Descriptors { .. } => {
                return Err(io::Error::other("descriptors are limited without a cgroup"));
            }
        };
        let mut why = io::Error::new(
            io::ErrorKind::NotFound,
            format!("no cgroup file system with the controller {controller} is mounted below /sys/fs/cgroup"),
        );
        for (root, version) in ROOTS {
            let root = Path::new(root);
            if !offers(root, version, controller) {
                continue;
            }
            let group = Group {
                folder: root.join(format!("{PREFIX}-{tag}-{name}")),
                root: root.into(),
                version,
                controller,
            };
            match group.set_up(limit) {
                Ok(()) => return Ok(group),
                Err(error) => {
                    // Whatever of it is there goes again.
                    let _ = fs::remove_dir(&group.folder);
                    why = error;
                }
            }
        }
        Err(why)
    }

    fn set_up(&self, limit: &Limit) -> io::Result<()> {
        if self.version == Version::Two {
            // Already on, or on from now: what is refused shows when the limit is written.
            let _ = fs::write(
                self.root.join("cgroup.subtree_control"),
                format!("+{}", self.controller),
            );
        }
        sys::said(
            format!("making the cgroup {}", self.folder.display()),
            fs::create_dir(&self.folder),
        )?;
        match (limit, self.version) {
            (Limit::Cpu { permille }, Version::One) => {
                self.write("cpu.cfs_period_us", PERIOD_US)?;
                self.write("cpu.cfs_quota_us", u64::from(*permille) * PERIOD_US / 1000)
            }
            (Limit::Cpu { permille }, Version::Two) => self.write(
                "cpu.max",
                format!("{} {PERIOD_US}", u64::from(*permille) * PERIOD_US / 1000),
            ),
            (Limit::Memory { bytes }, Version::One) => self.write("memory.limit_in_bytes", bytes),
            (Limit::Memory { bytes }, Version::Two) => self.write("memory.max", bytes),
            (Limit::Descriptors { .. }, _) => Ok(()),
        }
    }

    fn write(&self, file: &str, value: impl std::fmt::Display) -> io::Result<()> {
        let path = self.folder.join(file);
        sys::said(
            format!("writing {}", path.display()),
            fs::write(&path, value.to_string()),
        )
    }

    /// Puts a process in, as our own PID namespace numbers it. One that has ended meanwhile is no error.
    pub fn take_in(&self, pid: i32) -> io::Result<()> {
        match self.write("cgroup.procs", pid) {
            Err(_) if !Path::new(&format!("/proc/{pid}")).exists() => Ok(()),
            other => other,
        }
    }

    /// What it has met so far.
    pub fn seen(&self) -> io::Result<LimitSeen> {
        let text = |file: &str| fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        let procs = self.folder.join("cgroup.procs");
        let processes = sys::said(format!("reading {}", procs.display()), fs::read_to_string(&procs))?;
        let whole = |file: &str| text(file).trim().parse().unwrap_or(0);
        let stat = text("cpu.stat");
        let (memory_bytes, memory_refused) = match self.version {
            Version::One => (whole("memory.usage_in_bytes"), whole("memory.failcnt")),
            Version::Two => (whole("memory.current"), field(&text("memory.events"), "max")),
        };
        Ok(LimitSeen {
            processes: processes.lines().count() as u64,
            throttled: field(&stat, "nr_throttled"),
            throttled_ns: field(&stat, "throttled_time") + field(&stat, "throttled_usec") * 1000,
            memory_bytes,
            memory_refused,
        })
    }

    /// Puts whoever is in it back where groups are made, and takes it away.
    pub fn remove(&self) -> io::Result<()> {
        let inside = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        for pid in inside.lines() {
            // One that ended meanwhile is out.
            let _ = fs::write(self.root.join("cgroup.procs"), pid);
        }
        sys::said(
            format!("removing the cgroup {}", self.folder.display()),
            fs::remove_dir(&self.folder),
        )
    }
}

fn offers(root: &Path, version: Version, controller: &str) -> bool {
    match version {
        Version::One => {
            let file = if controller == "cpu" {
                "cpu.cfs_quota_us"
            } else {
                "memory.limit_in_bytes"
            };
            root.join(file).exists()
        }
        Version::Two => root.join("cgroup.controllers").exists(),
    }
}

/// A number after a name, in lines of both.
fn field(text: &str, name: &str) -> u64 {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

/// Takes away every group of a run that is over: those that bear its tag and have nobody in them.
pub fn sweep(tag: u64) {
    let begins = format!("{PREFIX}-{tag}-");
    for (root, _) in ROOTS {
        for entry in fs::read_dir(root).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&begins) {
                // Somebody in it would be somebody else's.
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn numbers_stand_after_their_whole_names() {
        let stat = "nr_periods 7\nnr_throttled 3\nthrottled_time 12\n";
        assert_eq!((field(stat, "nr_throttled"), field(stat, "throttled")), (3, 0));
        assert_eq!(field("", "max"), 0);
    }
}
