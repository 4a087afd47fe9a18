//! The shim and its two pages, in the node's own /tmp; and what the node's processes say in them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::Init;
use crate::clock_rule::ProcessName;
use crate::keeper::Setting;
use crate::page::{Flicker, Line, Report, Reports, Rules};
use crate::sys;

/// The shim, as the build made it; empty where it is not for this processor.
const SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shim.so"));
/// Where it all is. The shim's own source names the pages too.
const FOLDER: &str = "/tmp/.ackall-clock";
/// What programs have preloaded.
const SHIM_PATH: &str = "/tmp/.ackall-clock/shim.so";
/// How many processes are named at most, so that the answer stays a packet.
const NAMED: usize = 64;

/// Whether this build has a shim; why not.
pub fn clock_shim_is_there() -> Result<(), String> {
    if SHIM.is_empty() {
        return Err(format!(
            "the clock shim is for x86_64 and aarch64; this is {}",
            std::env::consts::ARCH
        ));
    }
    Ok(())
}

/// What LD_PRELOAD must be for a program that would have had `before` in it; none where there is no shim.
pub fn preload(before: Option<&str>) -> Option<String> {
    clock_shim_is_there().ok()?;
    Some(match before {
        None | Some("") => SHIM_PATH.into(),
        Some(before) => format!("{SHIM_PATH}:{before}"),
    })
}

/// What init has seen of its processes' clocks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClockLook {
    pub at_ns: u64,
    pub reports: Vec<Said>,
    pub without: Vec<ProcessName>,
    pub silent: Vec<ProcessName>,
}

/// One process's report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Said {
    pub pid: i32,
    pub name: String,
    pub monotonic_true: i64,
    pub monotonic_shown: i64,
    pub wall_true: i64,
    pub wall_shown: i64,
    pub window: i64,
}

/// A file that is mapped shared, and stays so for the life of the process.
struct Mapped<T>(NonNull<T>);

impl<T> Mapped<T> {
    /// Makes the file, full of zeros.
    fn make(name: &str, mode: u32) -> io::Result<Mapped<T>> {
        let path = Path::new(FOLDER).join(name);
        let what = || format!("making {}", path.display());
        let mut options = File::options();
        options.create_new(true).read(true).write(true).mode(mode);
        let file = sys::said(what(), options.open(&path))?;
        let len = size_of::<T>();
        sys::said(what(), file.set_len(len as u64))?;
        // Past the umask.
        sys::said(what(), file.set_permissions(fs::Permissions::from_mode(mode)))?;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping of a file that is as long.
        let at = unsafe { libc::mmap(ptr::null_mut(), len, prot, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return sys::said(what(), Err(Errno::last()));
        }
        NonNull::new(at.cast())
            .map(Mapped)
            .ok_or_else(|| io::Error::other("mapped at address 0"))
    }

    fn get(&self) -> &T {
        // SAFETY: mapped for good, page-aligned, and big enough; both types are atomic numbers, for which any bits
        // will do, since programs of the node can write reports as they like.
        unsafe { self.0.as_ref() }
    }
}

/// The pages, as init holds them.
pub struct Pages {
    rules: Mapped<Rules>,
    reports: Mapped<Reports>,
    /// How many reports each process had made at the last look.
    counts: Vec<(i32, u64)>,
}

impl Pages {
    /// Writes the shim and makes the pages, at the node's birth.
    pub fn make(setting: &Setting) -> io::Result<Pages> {
        sys::said(format!("making {FOLDER}"), fs::create_dir(FOLDER))?;
        let mut shim = File::options();
        shim.create_new(true).write(true).mode(0o755);
        let written = shim.open(SHIM_PATH).and_then(|mut file| file.write_all(SHIM));
        sys::said(format!("writing {SHIM_PATH}"), written)?;
        let pages = Pages {
            rules: Mapped::make("rules", 0o644)?,
            reports: Mapped::make("reports", 0o666)?,
            counts: Vec::new(),
        };
        pages.set(setting);
        Ok(pages)
    }

    /// Puts other rules in force; the next call of any program sees them.
    pub fn set(&self, setting: &Setting) {
        let line = |[anchor, offset, rate]: [i64; 3]| Line { anchor, offset, rate };
        let flicker = |[anchor, amplitude, period]: [i64; 3]| Flicker {
            anchor,
            amplitude,
            period,
        };
        let strobes: Vec<Flicker> = setting.strobes.iter().copied().map(flicker).collect();
        let rules = self.rules.get();
        rules.write(line(setting.wall), line(setting.monotonic), &strobes);
        rules.asked.fetch_add(1, Release);
    }

    /// What has been said so far; asks all to say it again.
    fn said(&self) -> Vec<(Said, u64)> {
        let read = |report: &Report| read(report);
        let said = self.reports.get().0.iter().filter_map(read).collect();
        self.rules.get().asked.fetch_add(1, Release);
        said
    }
}

/// A report of a process that lives; a dead one's is cleared.
fn read(report: &Report) -> Option<(Said, u64)> {
    /// A report is written in a microsecond: after as many looks its writer was stopped in the middle.
    const LOOKS: u32 = 100;
    let pid = report.pid.load(Relaxed);
    if pid <= 0 {
        return None;
    }
    if kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH) {
        report.count.store(0, Relaxed);
        report.lock.store(0, Relaxed);
        report.pid.store(0, Release);
        return None;
    }
    for _ in 0..LOOKS {
        let count = report.count.load(Acquire);
        let unlocked = report.lock.load(Acquire) == 0;
        let said = Said {
            pid,
            name: name(pid),
            monotonic_true: report.monotonic_true.load(Relaxed),
            monotonic_shown: report.monotonic_shown.load(Relaxed),
            wall_true: report.wall_true.load(Relaxed),
            wall_shown: report.wall_shown.load(Relaxed),
            window: report.window.load(Relaxed),
        };
        std::sync::atomic::fence(Acquire);
        if unlocked && count > 0 && report.lock.load(Relaxed) == 0 && report.count.load(Relaxed) == count {
            return Some((said, count));
        }
    }
    None
}

fn name(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().into()
}

impl Init {
    /// What the node's processes are shown.
    pub fn look_at_clock(&mut self) -> ClockLook {
        let at_ns = sys::monotonic_ns();
        let said = self.clock.said();
        let spoke = |pid: i32| {
            let count =
                |counts: &[(i32, u64)]| counts.iter().find(|(other, _)| *other == pid).map(|(_, n)| *n);
            let now: Vec<(i32, u64)> = said.iter().map(|(said, count)| (said.pid, *count)).collect();
            count(&now).is_some_and(|now| count(&self.clock.counts) != Some(now))
        };
        let (mut without, mut silent) = (Vec::new(), Vec::new());
        // The outer /proc has other numbers: there only those who speak are known.
        let pids = if self.own_proc {
            super::signals::pids()
        } else {
            Vec::new()
        };
        for pid in pids.into_iter().filter(|pid| !spoke(*pid)) {
            let Some((process, maps)) = look_at(pid) else {
                continue;
            };
            let list = if maps.contains(SHIM_PATH) {
                &mut silent
            } else {
                &mut without
            };
            if list.len() < NAMED {
                list.push(process);
            }
        }
        self.clock.counts = said.iter().map(|(said, count)| (said.pid, *count)).collect();
        ClockLook {
            at_ns,
            reports: said.into_iter().map(|(said, _)| said).take(NAMED).collect(),
            without,
            silent,
        }
    }
}

/// A process and what it has mapped; none where it has ended.
fn look_at(pid: i32) -> Option<(ProcessName, String)> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let state = super::signals::state(&stat)?;
    let process = ProcessName {
        pid,
        name: name(pid),
        stopped: state == 'T',
    };
    // A process that has ended has nothing mapped.
    (!maps.is_empty() && !"ZX".contains(state)).then_some((process, maps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shim_goes_before_what_is_preloaded_already() {
        assert_eq!(preload(None).as_deref(), Some(SHIM_PATH));
        assert_eq!(preload(Some("")).as_deref(), Some(SHIM_PATH));
        assert_eq!(preload(Some("a b")), Some(format!("{SHIM_PATH}:a b")));
    }
}
