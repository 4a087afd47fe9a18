//! What the tests of whole runs share: running `ackall`, finding its processes, and what a machine looks like before
//! and after.
#![allow(dead_code)] // each test takes what it needs

pub mod decoder;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long a run may take in tests, debug build and a busy machine included.
const RUN_LIMIT: Duration = Duration::from_secs(150);
/// After the death of any part everything is gone within this.
pub const GONE_LIMIT: Duration = Duration::from_secs(1);

/// A folder of a test's own, removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    /// A new one.
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ackall-test-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The `ackall` of this build.
pub fn ackall() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackall"));
    command.env_remove("ACKALL_SEED").env_remove("ACKALL_OUT");
    command
}

/// A run that ends by itself: its exit status, output and folder.
pub struct Run {
    pub output: Output,
    pub dir: PathBuf,
}

impl Run {
    pub fn code(&self) -> i32 {
        self.output.status.code().unwrap_or(-1)
    }

    pub fn result(&self) -> serde_json::Value {
        let text = fs::read_to_string(self.dir.join("result.json"))
            .unwrap_or_else(|e| panic!("no result.json: {e}\n{}", self.said()));
        serde_json::from_str(&text).unwrap()
    }

    pub fn said(&self) -> String {
        format!(
            "{}{}",
            String::from_utf8_lossy(&self.output.stdout),
            String::from_utf8_lossy(&self.output.stderr)
        )
    }
}

/// Runs a scenario in the folder `name` below `folder`, its disks kept.
pub fn run(folder: &Folder, name: &str, args: &[&str]) -> Run {
    let dir = folder.0.join(name);
    let child = ackall()
        .arg("run")
        .args(args)
        .args(["--keep-disks", "always", "--run-dir"])
        .arg(&dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Run { output: wait(child), dir }
}

/// Waits for a child, and kills it past the limit.
pub fn wait(mut child: Child) -> Output {
    let began = Instant::now();
    // The output is a few lines, less than a pipe holds.
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > RUN_LIMIT {
            child.kill().unwrap();
            panic!("a run did not end within {RUN_LIMIT:?}: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

/// Waits until something is there, or panics past the limit.
pub fn until<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < limit, "{what} did not come within {limit:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What a run could leave behind on the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    mounts: String,
    links: BTreeSet<String>,
}

impl Machine {
    pub fn now() -> Machine {
        let links = fs::read_dir("/sys/class/net").unwrap().flatten();
        Machine {
            mounts: fs::read_to_string("/proc/self/mountinfo").unwrap(),
            links: links.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect(),
        }
    }
}

/// A living process below another.
#[derive(Clone, Debug)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    pub name: String,
}

/// All living processes (zombies left out).
pub fn processes() -> Vec<Process> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?)).collect()
}

fn process(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (head, tail) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_string();
    let mut fields = tail.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(Process { pid, parent, name })
}

/// The processes that descend from one, itself left out.
pub fn descendants(of: i32) -> Vec<Process> {
    let all = processes();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = BTreeSet::from([of]);
    loop {
        let next: Vec<Process> =
            all.iter().filter(|p| parents.contains(&p.parent) && !parents.contains(&p.pid)).cloned().collect();
        if next.is_empty() {
            return found;
        }
        parents.extend(next.iter().map(|p| p.pid));
        found.extend(next);
    }
}

/// The namespaces of a process.
pub fn namespaces(pid: i32) -> BTreeSet<String> {
    let links = fs::read_dir(format!("/proc/{pid}/ns")).into_iter().flatten().flatten();
    links.filter_map(|link| Some(fs::read_link(link.path()).ok()?.to_string_lossy().into_owned())).collect()
}

/// The processes that live in any of these namespaces.
pub fn living_in(spaces: &BTreeSet<String>) -> Vec<i32> {
    let lives = |p: &Process| !namespaces(p.pid).is_disjoint(spaces);
    processes().into_iter().filter(lives).map(|p| p.pid).collect()
}

/// The namespaces that the descendants of a front have and this process has not.
pub fn spaces_of_run(front: i32) -> BTreeSet<String> {
    let ours = namespaces(std::process::id() as i32);
    let theirs: BTreeSet<String> = descendants(front).iter().flat_map(|p| namespaces(p.pid)).collect();
    theirs.difference(&ours).cloned().collect()
}

/// Sends a signal to one process.
pub fn signal(pid: i32, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap();
    assert!(status.success() || process(pid).is_none(), "kill -{name} {pid}");
}

/// The newest run's folder below an `--out` folder.
pub fn only_run(out: &Path) -> PathBuf {
    fs::canonicalize(out.join("latest")).unwrap()
}
