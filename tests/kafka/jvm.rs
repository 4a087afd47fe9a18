//! Kafka's classes, run one at a time; and runs of `ackall` on nodes of it.

use clusters::System;
use clusters::kafka::{self as apache, KafkaJars};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::process::Process;
use crate::support::{Folder, ackall, skipped};

/// A tool's heap, MiB: with less the JVM collects instead of working.
const TOOL_HEAP: u32 = 128;
/// A node's heap, MiB.
const NODE_HEAP: u32 = 256;
/// How long a tool may take: half a second, on a machine with nothing else to do.
const TOOL_LIMIT: Duration = Duration::from_secs(90);

/// Kafka's jars, and the right to run a JVM.
pub struct Kafka {
    jars: KafkaJars,
    /// Held until this is dropped: two JVMs on two cores would make everyone's time-outs a lottery.
    _turn: File,
    folder: Folder,
}

/// Where these tests keep jars, and the archive of their classes.
pub fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("kafka")
}

/// Kafka, once it is this test's turn; none, and a word about it, where it cannot be had.
pub fn kafka(test: &str) -> Option<Kafka> {
    static FOUND: OnceLock<Result<KafkaJars, String>> = OnceLock::new();
    let cache = cache();
    let home = std::env::var_os(apache::HOME);
    let found = FOUND.get_or_init(|| {
        let found = apache::find(None, home.as_deref().map(Path::new), &cache);
        let mut jars = found.map_err(|absent| absent.to_string())?;
        // Once, and not in the midst of a test that looks at the time.
        if let Err(slow) = jars.train(&cache, apache::Retry::Never) {
            println!("{slow}");
        }
        Ok(jars)
    });
    let jars = match found {
        Ok(jars) => jars.clone(),
        Err(reason) => {
            skipped("kafka", reason);
            return None;
        }
    };
    fs::create_dir_all(&cache).unwrap();
    let turn = File::create(cache.join("turn")).unwrap();
    turn.lock().unwrap();
    println!("Kafka {} from {:?}", jars.version(), jars.source());
    Some(Kafka {
        jars,
        _turn: turn,
        folder: Folder::new(&format!("kafka-{test}")),
    })
}

impl Kafka {
    /// A command that runs a class.
    fn class(&self, heap_mib: u32, class: &str) -> Command {
        let mut command = self.jars.command(heap_mib);
        command
            .arg(format!("-Dlog4j2.configurationFile={}", self.quiet().display()))
            .arg(class);
        command
    }

    /// A command that runs a node.
    pub fn node(&self, config: &Path) -> Command {
        let mut command = self.class(NODE_HEAP, "kafka.Kafka");
        command.arg(config);
        command
    }

    /// Runs a tool to its end: what it said, where all was well.
    pub fn tool(&self, class: &str, args: &[&str]) -> Result<String, String> {
        let mut command = self.class(TOOL_HEAP, class);
        command.args(args);
        self.run(command).map_err(|why| format!("{class}: {why}"))
    }

    /// Runs a command to its end: what it said, where all was well.
    pub fn run(&self, command: Command) -> Result<String, String> {
        let process = Process::start(command, &self.folder.0.join("said"));
        match process.wait(TOOL_LIMIT) {
            (status, said) if status.success() => Ok(said),
            (status, said) => Err(format!("{status}\n{said}")),
        }
    }

    /// The jars.
    pub fn jars(&self) -> &KafkaJars {
        &self.jars
    }

    /// `ackall`, with the same jars at hand.
    pub fn ackall(&self) -> Command {
        let mut command = ackall();
        command.env(apache::CACHE, cache());
        command
    }

    /// What `--system` takes for this version.
    pub fn name(&self) -> String {
        format!("apache-kafka:{}", self.jars.version())
    }

    /// The description of it, as `--system` would have it.
    pub fn system(&self) -> System {
        System::apache_kafka(self.jars.version(), self.jars.variables())
    }

    /// Whether it has eligible leader replicas; a word about it, where not.
    pub fn has_elr(&self) -> bool {
        let has = self.system().highest_level("eligible.leader.replicas.version") > 0;
        if !has {
            println!("{} has no eligible leader replicas", self.name());
        }
        has
    }

    /// A folder for the test's files.
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// A configuration that logs warnings only.
    fn quiet(&self) -> PathBuf {
        let path = self.folder.0.join("log4j2.properties");
        let text = "appender.out.type=Console\nappender.out.name=out\nappender.out.layout.type=PatternLayout\n\
                    appender.out.layout.pattern=%d{HH:mm:ss.SSS} %p %c{1} %m%n\nrootLogger.level=WARN\n\
                    rootLogger.appenderRef.out.ref=out\n";
        fs::write(&path, text).unwrap();
        path
    }
}
