//! The host's side: starts fronts, ends them in every way, and looks for what is left.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::front::{DIED, INTERRUPTED, LACKS, USER};

/// After the death of any part everything is gone within this time.
const GONE: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(60);

type Test = (&'static str, fn(bool));

/// Mostly waiting: all at once.
const CALM: [Test; 13] = [
    ("real_disks_are_cut", real_disks_are_cut),
    (
        "a_real_disk_that_cannot_be_is_refused",
        a_real_disk_that_cannot_be_is_refused,
    ),
    ("doctor_finds_what_is_there", doctor_finds_what_is_there),
    ("what_the_machine_lacks_is_said", what_the_machine_lacks_is_said),
    (
        "two_runs_do_not_disturb_each_other",
        two_runs_do_not_disturb_each_other,
    ),
    ("ends_of_the_harness_are_told", ends_of_the_harness_are_told),
    ("what_hangs_ends_the_run", what_hangs_ends_the_run),
    ("links_are_broken_and_heal", links_are_broken_and_heal),
    ("who_is_silent_and_who_is_not", who_is_silent_and_who_is_not),
    (
        "power_is_cut_in_bad_moments_and_by_policy",
        power_is_cut_in_bad_moments_and_by_policy,
    ),
    (
        "a_connection_is_seen_on_its_own_link_only",
        a_connection_is_seen_on_its_own_link_only,
    ),
    (
        "under_sudo_files_belong_to_the_caller",
        under_sudo_files_belong_to_the_caller,
    ),
    ("a_folder_outside_tmp_will_do", a_folder_outside_tmp_will_do),
];

/// Held to a time: one by one.
const TIMED: [Test; 4] = [
    (
        "with_real_disks_nothing_is_left_whatever_is_killed",
        with_real_disks_nothing_is_left_whatever_is_killed,
    ),
    ("interrupts_are_told", interrupts_are_told),
    (
        "whatever_is_killed_nothing_is_left",
        whatever_is_killed_nothing_is_left,
    ),
    (
        "killed_while_starting_nothing_is_left",
        killed_while_starting_nothing_is_left,
    ),
];

pub fn main(args: &[&str]) -> ExitCode {
    if args.contains(&"--list") {
        return ExitCode::SUCCESS;
    }
    let wanted = args
        .iter()
        .find(|arg| !arg.starts_with('-'))
        .copied()
        .unwrap_or("");
    let users = if nix::unistd::geteuid().is_root() {
        &[false, true][..]
    } else {
        &[false]
    };
    let chosen = |tests: &'static [Test]| {
        let named = tests.iter().filter(move |(name, _)| name.contains(wanted));
        named.flat_map(move |test| users.iter().map(move |as_user| (*test, *as_user)))
    };
    // Fronts are to hear the signals that they are sent, also where the tests were started in the background of a shell.
    ground::sys::default_signals();
    let executable = Executable::copied();
    std::thread::scope(|scope| {
        for (test, as_user) in chosen(&CALM) {
            scope.spawn(move || run_test(test, as_user));
        }
    });
    chosen(&TIMED).for_each(|(test, as_user)| run_test(test, as_user));
    drop(executable);
    ExitCode::SUCCESS
}

fn run_test((name, test): Test, as_user: bool) {
    let (began, who) = (Instant::now(), if as_user { " as a user" } else { "" });
    test(as_user);
    println!("test {name}{who} ... ok, {:.1?}", began.elapsed());
}

/// A copy of this executable where every user may come to it. One for all: a file being copied cannot be executed.
struct Executable;

impl Executable {
    fn path() -> PathBuf {
        std::env::temp_dir().join(format!("ground-test-{}", std::process::id()))
    }

    fn copied() -> Executable {
        fs::copy("/proc/self/exe", Executable::path()).unwrap();
        Executable
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        let _ = fs::remove_file(Executable::path());
    }
}

/// A run's folder and what marks its processes.
struct Run {
    folder: PathBuf,
    token: String,
    as_user: bool,
}

impl Run {
    fn new(as_user: bool) -> Run {
        Run::below(&std::env::temp_dir(), as_user)
    }

    fn below(parent: &std::path::Path, as_user: bool) -> Run {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let token = format!("ground-test-{}-{count}", std::process::id());
        let folder = parent.join(&token);
        fs::create_dir(&folder).unwrap();
        if as_user {
            chown(&folder, Some(USER), Some(USER)).unwrap();
        }
        Run {
            folder,
            token,
            as_user,
        }
    }

    fn front(&self, scenario: &str) -> Front<'_> {
        let role = if self.as_user {
            "__front_as_user"
        } else {
            "__front"
        };
        let mut command = self.command();
        command.args([role, self.folder.to_str().unwrap(), scenario]);
        self.spawn(command)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(Executable::path());
        command
            .env("GROUND_TEST_DIR", &self.folder)
            .env("GROUND_TEST_TOKEN", &self.token);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    fn spawn(&self, mut command: Command) -> Front<'_> {
        Front {
            run: self,
            child: command.spawn().unwrap(),
        }
    }

    /// The processes of this run that are alive: by the mark in their environment.
    fn processes(&self) -> Vec<Process> {
        let mark = format!("GROUND_TEST_TOKEN={}\0", self.token);
        let pids = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(|pid: i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
            let marked = environment
                .windows(mark.len())
                .any(|window| window == mark.as_bytes());
            marked.then(|| Process {
                pid,
                name: name(pid).unwrap_or_default(),
            })
        })
        .collect()
    }

    fn pid_of(&self, name: &str) -> i32 {
        let found = self.processes().into_iter().find(|process| process.name == name);
        found
            .unwrap_or_else(|| panic!("no {name} among {:?}", self.processes()))
            .pid
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[derive(Debug)]
struct Process {
    pid: i32,
    name: String,
}

fn name(pid: i32) -> Option<String> {
    Some(
        fs::read_to_string(format!("/proc/{pid}/comm"))
            .ok()?
            .trim()
            .to_string(),
    )
}

/// Whether it is there and not a zombie, which holds nothing.
fn lives(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !matches!(
            stat.rsplit_once(')').map(|(_, rest)| &rest[1..2]),
            Some("Z" | "X")
        )
    })
}

struct Front<'a> {
    run: &'a Run,
    child: Child,
}

impl Front<'_> {
    fn await_ready(&mut self) {
        let (ready, deadline) = (self.run.folder.join("ready"), Instant::now() + LONG);
        while !ready.exists() {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("the run ended before it was ready: {status}, {}", self.said());
            }
            assert!(Instant::now() < deadline, "not ready");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn said(&mut self) -> String {
        let mut said = String::new();
        self.child
            .stdout
            .as_mut()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        said
    }

    /// Waits for its end: exit status (none where a signal ended it) and what it printed.
    fn end(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + LONG;
        loop {
            match self.child.try_wait().unwrap() {
                Some(status) => return (status.code(), self.said()),
                None if Instant::now() > deadline => panic!("it does not end: {:?}", self.run.processes()),
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }
}

/// What the processes of a run hold on the host.
struct Trace {
    pids: Vec<i32>,
    namespaces: HashSet<u64>,
    /// When it was taken, in clock ticks from the machine's boot: the kernel gives namespaces' numbers out again.
    taken: u64,
}

impl Trace {
    /// Of all that lives now, but what the front shares with us.
    fn of(run: &Run) -> Trace {
        let ours = namespaces_of("self");
        let pids: Vec<i32> = run.processes().iter().map(|process| process.pid).collect();
        let namespaces = pids
            .iter()
            .flat_map(|pid| namespaces_of(&pid.to_string()))
            .collect::<HashSet<_>>();
        Trace {
            pids,
            namespaces: namespaces.difference(&ours).copied().collect(),
            taken: ticks_now(),
        }
    }

    /// Waits until all is gone; how long it took.
    fn await_gone(&self, run: &Run, since: Instant) -> Duration {
        loop {
            let alive: Vec<i32> = self.pids.iter().copied().filter(|pid| lives(*pid)).collect();
            let more = run.processes();
            if alive.is_empty() && more.is_empty() && !self.is_held() {
                break;
            }
            assert!(since.elapsed() < GONE, "left after {GONE:?}: {alive:?} {more:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
        let took = since.elapsed();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(&run.token), "a mount is left: {mounts}");
        for device in ["clients", "observer"] {
            assert!(
                !PathBuf::from(format!("/sys/class/net/{device}")).exists(),
                "{device} is left"
            );
        }
        took
    }

    /// Whether any living process is in one of the run's namespaces. One that began after the trace was taken may be
    /// in a later namespace of the same number: another run's.
    fn is_held(&self) -> bool {
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let mut pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let before = |pid: i32| ticks_at_start(pid).is_some_and(|began| began < self.taken);
        pids.any(|pid| {
            lives(pid) && before(pid) && !namespaces_of(&pid.to_string()).is_disjoint(&self.namespaces)
        })
    }
}

/// Clock ticks from the machine's boot to the start of a process.
fn ticks_at_start(pid: i32) -> Option<u64> {
    /// Where the start stands among the fields behind the name.
    const START: usize = 19;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(START)?.parse().ok()
}

/// Clock ticks from the machine's boot until now.
fn ticks_now() -> u64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    (uptime.split(' ').next().unwrap().parse::<f64>().unwrap() * TICKS_PER_SECOND) as u64
}

fn namespaces_of(pid: &str) -> HashSet<u64> {
    let inode = |name: &str| {
        fs::metadata(format!("/proc/{pid}/ns/{name}"))
            .ok()
            .map(|metadata| metadata.ino())
    };
    ["pid", "mnt", "net", "uts", "ipc", "user"]
        .iter()
        .filter_map(|name| inode(name))
        .collect()
}

fn doctor_finds_what_is_there(as_user: bool) {
    if as_user {
        // As an ordinary user the devices may well be closed; the other tests open them.
        return;
    }
    let probes = ground::doctor::probe(&std::env::temp_dir());
    for probe in &probes {
        assert!(probe.available, "{probe:?}");
        assert!(
            probe.why_not.is_empty() && probe.remedy.is_empty() && !probe.how.is_empty(),
            "{probe:?}"
        );
    }
    let names: Vec<&str> = probes.iter().map(|probe| probe.name.as_str()).collect();
    let expected = [
        "namespaces",
        "mounts",
        "network namespace",
        "TAP device",
        "FUSE",
        "nested namespaces",
        "space",
    ];
    assert_eq!(names, expected);
}

fn what_the_machine_lacks_is_said(as_user: bool) {
    if as_user || !nix::unistd::geteuid().is_root() {
        return;
    }
    let run = Run::new(true);
    let mut command = run.command();
    command.args([
        "__front_with_closed_devices",
        run.folder.to_str().unwrap(),
        "polite",
    ]);
    let (code, said) = run.spawn(command).end();
    assert_eq!(code, Some(i32::from(LACKS)), "{said}");
    assert!(
        said.contains("sudo chmod 0666 /dev/net/tun") && said.contains("machine: true"),
        "{said}"
    );

    let run = Run::new(false);
    let mut command = run.command();
    command.args(["__front_without_namespaces", run.folder.to_str().unwrap()]);
    let (code, said) = run.spawn(command).end();
    assert_eq!(code, Some(i32::from(LACKS)), "{said}");
    let line = |name: &str| {
        said.lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{said}"))
    };
    assert!(
        line("namespaces false").contains("user.max_net_namespaces=15000"),
        "{said}"
    );
    assert!(
        line("network namespace false").contains("No space left"),
        "{said}"
    );
    assert!(line("PID namespace true").contains("[]"), "{said}");
    assert!(line("FUSE false").contains("not tried"), "{said}");
    assert!(
        line("Err(LaunchError").contains("user.max_net_namespaces=15000"),
        "{said}"
    );
}

fn what_hangs_ends_the_run(as_user: bool) {
    let parts = [
        ("hang-disk", "the disk of node 1 hangs"),
        ("hang-wire", "the wire hangs"),
        ("hang-init", "the init of node 1 hangs"),
    ];
    let runs = parts.map(|_| Run::new(as_user));
    let fronts: Vec<Front> = runs
        .iter()
        .zip(parts)
        .map(|(run, (scenario, _))| run.front(scenario))
        .collect();
    for (front, (_, expected)) in fronts.into_iter().zip(parts) {
        let (code, said) = front.end();
        assert_eq!(code, Some(i32::from(DIED)), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}

fn a_folder_outside_tmp_will_do(as_user: bool) {
    let run = Run::below(std::path::Path::new("/var/tmp"), as_user);
    assert_eq!(run.front("checks").end(), (Some(0), "Ok(Exited(0))\n".into()));
}

fn a_connection_is_seen_on_its_own_link_only(as_user: bool) {
    let run = Run::new(as_user);
    assert_eq!(run.front("pairs").end(), (Some(0), "Ok(Exited(0))\n".into()));
}

fn power_is_cut_in_bad_moments_and_by_policy(as_user: bool) {
    let run = Run::new(as_user);
    assert_eq!(run.front("power").end(), (Some(0), "Ok(Exited(0))\n".into()));
}

fn who_is_silent_and_who_is_not(as_user: bool) {
    let run = Run::new(as_user);
    assert_eq!(run.front("silence").end(), (Some(0), "Ok(Exited(0))\n".into()));
}

fn links_are_broken_and_heal(as_user: bool) {
    let run = Run::new(as_user);
    assert_eq!(run.front("links").end(), (Some(0), "Ok(Exited(0))\n".into()));
}

fn two_runs_do_not_disturb_each_other(as_user: bool) {
    let (a, b) = (Run::new(as_user), Run::new(as_user));
    let (one, other) = (a.front("checks"), b.front("checks"));
    assert_eq!(one.end(), (Some(0), "Ok(Exited(0))\n".into()));
    assert_eq!(other.end(), (Some(0), "Ok(Exited(0))\n".into()));
    assert_eq!((a.processes().len(), b.processes().len()), (0, 0));
}

fn ends_of_the_harness_are_told(as_user: bool) {
    let ends = [
        ("exit-7", 7, "Ok(Exited(7))"),
        ("panic", 101, "Ok(Exited(101))"),
        ("abort", i32::from(DIED), "the harness was killed by signal 6"),
    ];
    for (scenario, code, expected) in ends {
        let run = Run::new(as_user);
        let (ended, said) = run.front(scenario).end();
        assert_eq!(ended, Some(code), "{said}");
        assert!(said.contains(expected), "{said}");
        assert_eq!(run.processes().len(), 0);
    }
}

fn interrupts_are_told(as_user: bool) {
    for (signal, code) in [
        (Signal::SIGINT, 130),
        (Signal::SIGTERM, 143),
        (Signal::SIGHUP, 129),
    ] {
        let run = Run::new(as_user);
        let mut front = run.front("polite");
        front.await_ready();
        front.signal(signal);
        assert_eq!(front.end(), (Some(code), format!("Ok(Exited({code}))\n")));
    }
    // A harness that does not listen: the second signal ends all.
    let run = Run::new(as_user);
    let mut front = run.front("hold");
    front.await_ready();
    let trace = Trace::of(&run);
    front.signal(Signal::SIGINT);
    std::thread::sleep(Duration::from_millis(100));
    let second = Instant::now();
    front.signal(Signal::SIGINT);
    assert_eq!(
        front.end(),
        (
            Some(i32::from(INTERRUPTED)),
            "Ok(Interrupted { signal: 2 })\n".into()
        )
    );
    trace.await_gone(&run, second);
}

/// Whether a test of real disks can be: only root can have them. Said where they cannot.
fn real_disks(as_user: bool) -> Vec<&'static str> {
    use ground::real_disk::{Kind, try_real_disk};
    if as_user {
        return Vec::new();
    }
    let tried = Kind::ALL.map(|kind| (kind.word(), try_real_disk(kind, &std::env::temp_dir())));
    let required = std::env::var("ACKALL_REQUIRE").unwrap_or_default();
    let required = required.split(',').any(|word| word == "root");
    tried
        .into_iter()
        .filter_map(|(word, tried)| match tried {
            Ok(_) => Some(word),
            Err(lacks) => {
                assert!(!required, "root is required: {lacks}");
                println!("SKIPPED root: {word}: {lacks}");
                None
            }
        })
        .collect()
}

fn real_disks_are_cut(as_user: bool) {
    for kind in real_disks(as_user) {
        let run = Run::new(false);
        let (code, said) = run.front(&format!("real-{kind}")).end();
        assert_eq!(code, Some(0), "{said}");
        print!("{}", said.replace("Ok(Exited(0))\n", ""));
        await_no_loop_device(&run, Instant::now());
    }
}

fn a_real_disk_that_cannot_be_is_refused(as_user: bool) {
    if as_user {
        let run = Run::new(true);
        let (code, said) = run.front("real-refused").end();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("sudo ackall run"), "{said}");
    } else if nix::unistd::geteuid().is_root() {
        let run = Run::new(false);
        let mut command = run.command();
        let empty = run.folder.join("empty");
        fs::create_dir(&empty).unwrap();
        command.args(["__front_without_mkfs", run.folder.to_str().unwrap()]);
        let (code, said) = run.spawn(command).end();
        assert_eq!(code, Some(0), "{said}");
        assert!(
            said.contains("install -y e2fsprogs") && said.contains("install -y xfsprogs"),
            "{said}"
        );
        await_no_loop_device(&run, Instant::now());
    }
}

/// Waits until no loop device of the machine has an image of a run.
fn await_no_loop_device(run: &Run, since: Instant) {
    let left = || {
        let devices = fs::read_dir("/sys/block").unwrap().flatten();
        devices
            .filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok())
            .find(|file| file.contains(&run.token))
    };
    while let Some(file) = left() {
        assert!(since.elapsed() < GONE, "a loop device is left: {file}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn with_real_disks_nothing_is_left_whatever_is_killed(as_user: bool) {
    for kind in real_disks(as_user) {
        killed_in_turn(false, &format!("hold-{kind}"));
        let mut slowest = Duration::ZERO;
        for step in 0..20 {
            let run = Run::new(false);
            let front = run.front(&format!("hold-{kind}"));
            std::thread::sleep(Duration::from_millis(12) * step);
            let trace = Trace::of(&run);
            let began = Instant::now();
            front.signal(Signal::SIGKILL);
            front.end();
            slowest = slowest.max(trace.await_gone(&run, began));
            await_no_loop_device(&run, began);
            assert!(!images(&run), "an image is left");
        }
        println!("  {kind}, 20 instants of the start: all gone after {slowest:.0?} at most");
    }
}

/// Whether an image has a name.
fn images(run: &Run) -> bool {
    let nodes = fs::read_dir(run.folder.join("nodes"))
        .into_iter()
        .flatten()
        .flatten();
    nodes
        .flat_map(|node| fs::read_dir(node.path()).into_iter().flatten().flatten())
        .any(|entry| entry.file_name().to_string_lossy().starts_with('.'))
}

fn whatever_is_killed_nothing_is_left(as_user: bool) {
    killed_in_turn(as_user, "hold");
}

/// Kills each part of a run that holds.
fn killed_in_turn(as_user: bool, scenario: &str) {
    let victims = [
        ("ackall-front", ""),
        ("ackall-keeper", "the keeper was killed by signal 9"),
        ("ackall-harness", "the harness was killed by signal 9"),
        ("ackall-wire", "the wire was killed by signal 9"),
        ("ackall-disk", "was killed by signal 9"),
        ("ackall-init", "was killed by signal 9"),
    ];
    for (victim, expected) in victims {
        let run = Run::new(as_user);
        let mut front = run.front(scenario);
        front.await_ready();
        let trace = Trace::of(&run);
        assert!(trace.pids.len() >= 13, "{:?}", run.processes());
        let pid = run.pid_of(victim);
        let began = Instant::now();
        kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
        let (code, said) = front.end();
        let took = trace.await_gone(&run, began);
        await_no_loop_device(&run, began);
        assert!(said.contains(expected), "{victim}: {said}");
        assert_eq!(
            code,
            (!expected.is_empty()).then_some(i32::from(DIED)),
            "{victim}: {said}"
        );
        println!("  {victim} killed: all gone after {took:.0?}");
    }
}

fn killed_while_starting_nothing_is_left(as_user: bool) {
    let mut slowest = Duration::ZERO;
    for step in 0..20 {
        let run = Run::new(as_user);
        let front = run.front("hold");
        std::thread::sleep(Duration::from_millis(4) * step);
        let trace = Trace::of(&run);
        let began = Instant::now();
        front.signal(Signal::SIGKILL);
        front.end();
        slowest = slowest.max(trace.await_gone(&run, began));
    }
    println!("  20 instants of the start: all gone after {slowest:.0?} at most");
}

fn under_sudo_files_belong_to_the_caller(as_user: bool) {
    if as_user || !nix::unistd::geteuid().is_root() {
        return;
    }
    let run = Run::new(false);
    chown(&run.folder, Some(USER), Some(USER)).unwrap();
    let mut command = run.command();
    command
        .args(["__front", run.folder.to_str().unwrap(), "checks"])
        .env("GROUND_TEST_OWNER", USER.to_string());
    let (code, said) = run.spawn(command).end();
    assert_eq!(code, Some(0), "{said}");
    let mut folders = vec![run.folder.join("nodes")];
    let mut seen = 0;
    while let Some(path) = folders.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        assert_eq!(
            (metadata.uid(), metadata.gid()),
            (USER, USER),
            "{}",
            path.display()
        );
        seen += 1;
        if metadata.is_dir() {
            folders.extend(fs::read_dir(path).unwrap().flatten().map(|entry| entry.path()));
        }
    }
    assert!(seen > 10, "{seen}");
}
