//! What a cluster is like when no fault is in, and what is left over of one: rules, processes that stand still or are
//! missing, namespaces, cgroups, descriptors, memory.

use clusters::{Cluster, Port};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// The ground's processes, by the first argument.
const ROLES: [&str; 3] = ["__keeper", "__wire", "__disk"];
/// Descriptors that a process may have more than at the beginning: connections under way.
const FEW: usize = 4;

/// As it was at the beginning.
pub struct Whole {
    processes: usize,
    namespaces: usize,
    descriptors: BTreeMap<i32, usize>,
}

/// A process that /proc shows.
struct Seen {
    pid: i32,
    words: Vec<String>,
    state: char,
    namespace: u64,
}

fn all() -> Vec<Seen> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| {
        let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(Seen {
            pid,
            words: words.split('\0').map(str::to_string).collect(),
            state: stat.rsplit_once(')')?.1.trim_start().chars().next()?,
            namespace: fs::metadata(format!("/proc/{pid}/ns/pid")).ok()?.ino(),
        })
    })
    .collect()
}

fn descriptors(seen: &[Seen]) -> BTreeMap<i32, usize> {
    let ours = seen
        .iter()
        .filter(|seen| seen.words.iter().any(|word| ROLES.contains(&word.as_str())));
    let count = |pid: i32| fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, |all| all.count());
    ours.map(|seen| (seen.pid, count(seen.pid))).collect()
}

/// Resident memory of the ground's processes in KiB, by role.
pub fn memory() -> BTreeMap<&'static str, u64> {
    let mut sums = BTreeMap::new();
    for seen in all() {
        let Some(role) = ROLES
            .into_iter()
            .find(|role| seen.words.iter().any(|word| word == role))
        else {
            continue;
        };
        let status = fs::read_to_string(format!("/proc/{}/status", seen.pid)).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        *sums.entry(role).or_default() += kib.unwrap_or(0);
    }
    sums
}

/// Whether every process of the node's program stands still.
pub fn stands_still(cluster: &Cluster, node: i32) -> bool {
    let own = cluster.node(node).unwrap().address.to_string();
    let all = all();
    let mut program = all.iter().filter(|seen| seen.words.contains(&own)).peekable();
    program.peek().is_some() && program.all(|seen| seen.state == 'T')
}

impl Whole {
    /// Waits until all nodes answer, and looks.
    pub async fn of(cluster: &Cluster) -> Whole {
        for node in cluster.nodes() {
            while tokio::net::TcpStream::connect(node.address).await.is_err() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        let all = all();
        Whole {
            processes: all.len(),
            namespaces: all
                .iter()
                .map(|seen| seen.namespace)
                .collect::<BTreeSet<_>>()
                .len(),
            descriptors: descriptors(&all),
        }
    }

    /// What is left over now.
    pub async fn left_over(&self, cluster: &Cluster) -> Vec<String> {
        let mut left = Vec::new();
        let ids: Vec<i32> = cluster.nodes().iter().map(|node| node.id).collect();
        let ports: Vec<Port> = [Port::Clients]
            .into_iter()
            .chain(ids.iter().copied().map(Port::Node))
            .collect();
        let links: Vec<(Port, Port)> = ports
            .iter()
            .flat_map(|from| ports.iter().map(|to| (*from, *to)))
            .filter(|(from, to)| from != to)
            .collect();
        let free = cluster.free_links(&links).unwrap();
        left.extend(
            links
                .iter()
                .zip(free)
                .filter(|(_, free)| !free)
                .map(|(link, _)| format!("{link:?} is not free")),
        );
        let cut = cluster.counters().unwrap().into_iter().filter(|count| count.cut);
        left.extend(cut.map(|count| format!("{:?} to {:?} is cut", count.from, count.to)));
        left.extend(
            ids.iter()
                .filter(|id| !cluster.runs(**id))
                .map(|id| format!("node {id} does not run")),
        );
        for node in cluster.nodes() {
            let answers = tokio::net::TcpStream::connect(node.address);
            if !matches!(
                tokio::time::timeout(Duration::from_secs(1), answers).await,
                Ok(Ok(_))
            ) {
                left.push(format!("node {} does not answer", node.id));
            }
        }
        for id in &ids {
            let seen = cluster.clock_seen(*id).unwrap();
            let set = seen.processes.iter().filter(|process| process.wall_asked_ns != 0);
            left.extend(set.map(|process| format!("the clock of node {id} is set: {process:?}")));
        }
        let all = all();
        left.extend(
            all.iter()
                .filter(|seen| seen.state == 'T')
                .map(|seen| format!("{:?} stands still", seen.words)),
        );
        if all.len() != self.processes {
            left.push(format!("{} processes instead of {}", all.len(), self.processes));
        }
        let namespaces = all
            .iter()
            .map(|seen| seen.namespace)
            .collect::<BTreeSet<_>>()
            .len();
        if namespaces != self.namespaces {
            left.push(format!(
                "{namespaces} PID namespaces instead of {}",
                self.namespaces
            ));
        }
        for (pid, count) in descriptors(&all) {
            let before = self.descriptors.get(&pid).copied().unwrap_or(0);
            if count > before + FEW {
                left.push(format!(
                    "process {pid} has {count} descriptors instead of {before}"
                ));
            }
        }
        left.extend(
            groups()
                .into_iter()
                .map(|group| format!("the cgroup {group} is there")),
        );
        left
    }
}

/// This run's cgroups.
pub fn groups() -> Vec<String> {
    let tag = format!("ackall-{}-", fs::metadata("/proc/1/ns/pid").unwrap().ino());
    let mut found = Vec::new();
    for root in ["cpu", "cpu,cpuacct", "memory", "unified", ""] {
        let entries = fs::read_dir(format!("/sys/fs/cgroup/{root}"))
            .into_iter()
            .flatten()
            .flatten();
        let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&tag));
        found.extend(ours.map(|entry| entry.path().display().to_string()));
    }
    found
}
