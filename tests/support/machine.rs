//! What a run holds on the machine, and whether it let go of it: processes, namespaces, mounts, links, files.

use super::MARK;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// After the death of any part everything is gone within this.
pub const GONE_LIMIT: Duration = Duration::from_secs(1);

/// A living process of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub args: Vec<String>,
}

impl Process {
    /// Its part: the first argument, `__wire` for one.
    pub fn role(&self) -> &str {
        self.args.get(1).map_or("", String::as_str)
    }

    /// The number of the node that it is, where it is one that was started.
    pub fn node(&self) -> Option<i32> {
        if self.role() != "node" || self.args.get(2).map(String::as_str) != Some("start") {
            return None;
        }
        let config = self.args.iter().find(|arg| arg.ends_with("/server.properties"))?;
        Path::new(config).parent()?.file_name()?.to_str()?.parse().ok()
    }
}

/// The living processes of a run, by the mark in their environment.
pub fn processes(mark: &str) -> Vec<Process> {
    let marked = format!("{MARK}={mark}\0");
    pids()
        .filter(|pid| lives(*pid))
        .filter_map(|pid| marked_process(pid, marked.as_bytes()))
        .collect()
}

fn marked_process(pid: i32, mark: &[u8]) -> Option<Process> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    // At the start, or behind another variable's end.
    let found = environment
        .split_inclusive(|byte| *byte == 0)
        .any(|variable| variable == mark);
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok().filter(|_| found)?;
    let args = line
        .split(|byte| *byte == 0)
        .map(|arg| String::from_utf8_lossy(arg).into_owned())
        .collect();
    Some(Process { pid, args })
}

fn pids() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether it is there, and no zombie: that one holds nothing.
fn lives(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Clock ticks from the machine's boot to the start of a process.
fn began(pid: i32) -> Option<u64> {
    /// Where the start stands among the fields behind the name.
    const START: usize = 19;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(START)?.parse().ok()
}

/// Clock ticks from the machine's boot until now.
fn now() -> u64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    (uptime.split(' ').next().unwrap().parse::<f64>().unwrap() * TICKS_PER_SECOND) as u64
}

/// The kinds of namespaces that a node has its own of.
pub const OWN: [&str; 3] = ["pid", "mnt", "net"];
const KINDS: [&str; 6] = ["pid", "mnt", "net", "uts", "ipc", "user"];

/// A namespace of a process, by its inode.
pub fn namespace(pid: i32, kind: &str) -> Option<u64> {
    fs::metadata(format!("/proc/{pid}/ns/{kind}"))
        .ok()
        .map(|metadata| metadata.ino())
}

fn namespaces(pid: i32) -> BTreeSet<u64> {
    KINDS.iter().filter_map(|kind| namespace(pid, kind)).collect()
}

/// What the processes of a run hold.
#[derive(Clone, Debug)]
pub struct Trace {
    mark: String,
    pids: BTreeSet<i32>,
    /// The namespaces of those that lived at the last look, and its time. Their numbers may be given out again.
    namespaces: BTreeSet<u64>,
    looked: u64,
    /// The namespaces of each node that was seen: (kind, node) to inodes.
    pub nodes: BTreeMap<(&'static str, i32), BTreeSet<u64>>,
}

impl Trace {
    /// Of all that lives now.
    pub fn of(mark: &str) -> Trace {
        let mark = mark.to_string();
        let (pids, namespaces, nodes) = Default::default();
        let mut trace = Trace {
            mark,
            pids,
            namespaces,
            looked: 0,
            nodes,
        };
        trace.look();
        trace
    }

    /// Adds what lives now.
    pub fn look(&mut self) {
        let ours = namespaces(std::process::id() as i32);
        self.looked = now();
        self.namespaces.clear();
        for process in processes(&self.mark) {
            self.pids.insert(process.pid);
            self.namespaces.extend(namespaces(process.pid).difference(&ours));
            let Some(node) = process.node() else { continue };
            for kind in OWN {
                self.nodes
                    .entry((kind, node))
                    .or_default()
                    .extend(namespace(process.pid, kind));
            }
        }
    }

    /// What of it is still there.
    fn left(&self) -> Vec<String> {
        let alive = self
            .pids
            .iter()
            .filter(|pid| lives(**pid))
            .map(|pid| format!("process {pid}"));
        let more = processes(&self.mark)
            .into_iter()
            .map(|process| format!("{process:?}"));
        // A process that began after the look may be in a later namespace of the same number.
        let before = |pid: &i32| began(*pid).is_some_and(|began| began < self.looked);
        let inside = pids()
            .filter(|pid| lives(*pid) && before(pid) && !namespaces(*pid).is_disjoint(&self.namespaces));
        alive
            .chain(more)
            .chain(inside.map(|pid| format!("process {pid} in a namespace of the run")))
            .collect()
    }

    /// Waits until all is gone; how long it took.
    ///
    /// # Errors
    /// What is left past the limit.
    pub fn gone(&self, since: Instant) -> Result<Duration, String> {
        loop {
            let left = self.left();
            if left.is_empty() {
                return Ok(since.elapsed());
            }
            if since.elapsed() > GONE_LIMIT {
                return Err(format!("left after {GONE_LIMIT:?}: {}", left.join(", ")));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// What a run could leave on the machine beside processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    mounts: BTreeSet<String>,
    links: BTreeSet<String>,
    files: BTreeSet<String>,
}

impl Machine {
    /// As it is now.
    pub fn now() -> Machine {
        let names = |folder: &str| -> BTreeSet<String> {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries
                .map(|entry| entry.path().to_string_lossy().into_owned())
                .collect()
        };
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        Machine {
            mounts: mounts.lines().map(str::to_string).collect(),
            links: names("/sys/class/net"),
            files: ["/dev/shm", "/run", "/run/lock", "/run/netns", "/sys/fs/cgroup"]
                .into_iter()
                .flat_map(names)
                .collect(),
        }
    }

    /// What is there now that was not: links, files, mounts below the folder and kept namespaces. Mounts of others
    /// come and go.
    pub fn left(&self, folder: &Path) -> Vec<String> {
        let now = Machine::now();
        let folder = folder.to_string_lossy();
        let ours = |mount: &&String| {
            mount.contains(&*folder) || mount.contains(" nsfs ") || mount.contains("ackall")
        };
        let mounts = now.mounts.difference(&self.mounts).filter(ours);
        let others = now
            .links
            .difference(&self.links)
            .chain(now.files.difference(&self.files));
        mounts.chain(others).cloned().collect()
    }
}

/// Sends a signal; one that comes too late is no error.
pub fn signal(pid: i32, signal: nix::sys::signal::Signal) {
    let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal);
}
