//! What the tests of whole runs and the campaigns share: starting `ackall`, waiting for it, and what it left.
#![allow(dead_code)] // each test takes what it needs

pub mod answers;
pub mod deaths;
pub mod decoder;
pub mod faults;
pub mod history;
pub mod machine;
pub mod private;
pub mod wire;

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long a run may take in tests, debug build and a busy machine included.
pub const RUN_LIMIT: Duration = Duration::from_secs(150);
/// The variable that marks the processes of one run, for their environment is handed down.
pub const MARK: &str = "ACKALL_TEST_RUN";

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

/// The ground, for one test at a time: two cores are all there is. A machine that cannot have it fails the test,
/// in doctor's words.
pub fn ground() -> MutexGuard<'static, ()> {
    static GROUND: Mutex<()> = Mutex::new(());
    static DOCTOR: OnceLock<Result<(), String>> = OnceLock::new();
    // A test that failed holding it has said so; the next one starts from a clean machine all the same.
    let guard = GROUND.lock().unwrap_or_else(PoisonError::into_inner);
    let word = DOCTOR.get_or_init(|| {
        let output = ackall().arg("doctor").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            Ok(())
        } else {
            Err(said)
        }
    });
    if let Err(said) = word {
        panic!("this machine cannot run ackall; doctor says:\n{said}");
    }
    guard
}

/// Says that an optional thing is missing; an error where `ACKALL_REQUIRE` names it.
pub fn skipped(name: &str, reason: &str) {
    let required = std::env::var("ACKALL_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|required| required == name),
        "{name} is required: {reason}"
    );
    println!("SKIPPED {name}: {reason}");
    // Past the test harness's capture, so that it is seen when all is well too.
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED {name}: {reason}");
}

/// The executable under test: of this build, where a test runs; beside the campaign, where that runs.
pub fn executable() -> PathBuf {
    if let Some(path) = option_env!("CARGO_BIN_EXE_ackall") {
        return path.into();
    }
    let example = std::env::current_exe().unwrap();
    example.parent().and_then(Path::parent).unwrap().join("ackall")
}

/// `ackall`, as a stranger would start it.
pub fn ackall() -> Command {
    clean(Command::new(executable()))
}

/// A command without anybody's settings.
pub fn clean(mut command: Command) -> Command {
    for name in [
        "ACKALL_SEED",
        "ACKALL_OUT",
        "ACKALL_KEEP_DISKS",
        "ACKALL_COLOR",
        "SUDO_UID",
        "SUDO_GID",
    ] {
        command.env_remove(name);
    }
    command
}

/// A run that goes on. Its output goes to files, so that nobody has to drain it.
pub struct Started {
    /// The process that was started: the front.
    child: Child,
    /// What marks all its processes.
    pub mark: String,
    /// The run's folder.
    pub dir: PathBuf,
    /// When it was started.
    pub began: Instant,
    said: PathBuf,
}

/// A run that has ended.
pub struct Run {
    /// How its front ended.
    pub status: ExitStatus,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// The run's folder.
    pub dir: PathBuf,
    /// How long it took.
    pub took: Duration,
}

/// Starts `ackall run` with these arguments; the run's folder is `name` below `folder`.
pub fn start(folder: &Path, name: &str, args: &[&str]) -> Started {
    let dir = folder.join(name);
    let mut command = ackall();
    command.arg("run").args(args).arg("--run-dir").arg(&dir);
    spawn(command, folder, name)
}

/// Starts `ackall run` with these arguments and waits for its end, past the limit with SIGTERM.
pub fn start_within(folder: &Path, name: &str, args: &[&str], limit: Duration) -> Run {
    let mut run = start(folder, name, args);
    while !run.has_ended() && run.began.elapsed() < limit {
        std::thread::sleep(Duration::from_millis(20));
    }
    if !run.has_ended() {
        let front = nix::unistd::Pid::from_raw(run.front());
        let _ = nix::sys::signal::kill(front, nix::sys::signal::Signal::SIGTERM);
    }
    run.ended()
}

/// Starts a command that runs `ackall`; the run's folder is `name` below `folder`, by the command's own words.
pub fn spawn(command: Command, folder: &Path, name: &str) -> Started {
    spawn_on(command, folder, name, Stdio::null())
}

/// The same, with this standard input.
pub fn spawn_on(mut command: Command, folder: &Path, name: &str, stdin: Stdio) -> Started {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mark = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let said = folder.join(format!("{name}.said"));
    let file = |what: &str| File::create(said.with_extension(what)).unwrap();
    command
        .env(MARK, &mark)
        .stdin(stdin)
        .stdout(file("out"))
        .stderr(file("err"));
    // The run is to hear the signals that a test sends, also where the tests were started under nohup.
    ground::sys::default_signals();
    let began = Instant::now();
    let child = command
        .spawn()
        .unwrap_or_else(|e| panic!("starting {command:?}: {e}"));
    Started {
        child,
        mark,
        dir: folder.join(name),
        began,
        said,
    }
}

impl Started {
    /// The front's process id.
    pub fn front(&self) -> i32 {
        self.child.id() as i32
    }

    /// Whether the front has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end, and kills it past the limit.
    pub fn wait(mut self) -> Run {
        while !self.has_ended() {
            if self.began.elapsed() > RUN_LIMIT {
                self.child.kill().unwrap();
                panic!("a run did not end within {RUN_LIMIT:?}: {}", self.ended().said());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.ended()
    }

    fn read(&self, what: &str) -> String {
        let bytes = fs::read(self.said.with_extension(what)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// What it has said until now.
    pub fn said_so_far(&self) -> String {
        self.read("out") + &self.read("err")
    }

    fn ended(mut self) -> Run {
        let took = self.began.elapsed();
        let status = self.child.wait().unwrap();
        Run {
            status,
            out: self.read("out"),
            err: self.read("err"),
            dir: self.dir,
            took,
        }
    }
}

impl Run {
    /// The exit status; a front that a signal ended has 256 and the signal's number.
    pub fn code(&self) -> i32 {
        self.status
            .code()
            .unwrap_or_else(|| 256 + self.status.signal().unwrap_or_default())
    }

    /// Its `result.json`.
    pub fn result(&self) -> serde_json::Value {
        let text = fs::read_to_string(self.dir.join("result.json"))
            .unwrap_or_else(|e| panic!("no result.json: {e}\n{}", self.said()));
        serde_json::from_str(&text).unwrap()
    }

    /// Everything it said.
    pub fn said(&self) -> String {
        format!("exit status {}\n{}{}", self.code(), self.out, self.err)
    }
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

/// Whether the tests run as root: some of what a machine may forbid can only be arranged by root.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// All that the seed varies in a plan, but the numbers that break ties, which always differ.
pub fn varied(plan: &str) -> String {
    use serde_json::{Value, json};
    let plan: Value = toml::from_str(plan).unwrap();
    let acks = |condition: &Value| condition["acks"].clone();
    let steps = plan["steps"].as_array().unwrap().iter().map(|step| {
        let until = step["until"].as_array().into_iter().flatten().map(acks);
        json!([acks(&step["after"]), until.collect::<Vec<_>>()])
    });
    let workload = &plan["workload"];
    let steps: Vec<Value> = steps.collect();
    json!([
        plan["assignment"],
        workload["producers"],
        workload["record_bytes"],
        steps
    ])
    .to_string()
}
