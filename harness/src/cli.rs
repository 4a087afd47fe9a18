//! The command line: one struct a command, from which the help is made.

use crate::error::Error;
use crate::hand::DEFAULT_NAME;
use crate::plan::KeepDisks;
use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use ground::DiskKind;
use std::io::IsTerminal;
use std::path::PathBuf;

/// Seeds are numbers that JSON keeps exactly.
pub const SEED_LIMIT: u64 = 1 << 53;
/// How many runs one command makes at most.
const RUNS_LIMIT: u64 = 10_000;

/// Does acks=all survive the night? Starts a cluster on hosts of its own, breaks it, and judges what its clients saw.
#[derive(Parser, Debug)]
#[command(
    name = "ackall",
    version,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true
)]
pub struct Cli {
    /// What to do; without it, `run`.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The options of `run`.
    #[command(flatten)]
    pub run: RunArgs,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// One run of a scenario (the default command)
    Run(RunArgs),
    /// The built-in scenarios, a line each; with a name, its TOML
    Scenarios {
        /// The scenario to print
        name: Option<String>,
    },
    /// The built-in systems, a line each; with a name, its TOML
    Systems {
        /// The system to print
        name: Option<String>,
    },
    /// Judge a history that something else recorded
    Check(CheckArgs),
    /// Judge a stored run again
    Analyze(StoredArgs),
    /// Write a stored run's report again
    Report(StoredArgs),
    /// The page on a fault, a scenario, an anomaly, a reason code, or on targets; without a name, which there are
    Explain {
        /// What to explain
        name: Option<String>,
    },
    /// Which faults this machine allows; why not, and what would help
    Doctor {
        /// One JSON array on standard output
        #[arg(long)]
        json: bool,
    },
    /// The JSON Schema of an output
    Schema {
        /// Which output
        #[arg(value_enum)]
        of: SchemaOf,
    },
    /// Measure: boot to first ack, a whole night, and operations recorded a second
    Bench(BenchArgs),
    /// A cluster by hand, on the same ground: in the foreground until Ctrl-C
    Up(UpArgs),
    /// End a cluster by hand; nothing of it is left
    Down(AtArgs),
    /// The nodes of a cluster by hand: where each is reached, from the host and inside
    Ps(AtArgs),
    /// A shell, or a command, inside a node of a cluster by hand
    Enter(EnterArgs),
    /// Put a fault into a cluster by hand, take it out (`heal`), or `list` those that are in
    Fault(FaultArgs),
    /// Administer a running cluster: the metadata quorum
    Admin {
        /// What is administered.
        #[command(subcommand)]
        of: crate::commands::admin::AdminArgs,
    },
    /// Apache Kafka's jars: fetch a version's into the cache
    Kafka {
        /// What is done
        #[command(subcommand)]
        what: KafkaArgs,
    },
    /// A node of the reference cluster: `ackall node --help`
    Node {
        /// Arguments of the node
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

/// What to do about Apache Kafka's jars.
#[derive(Subcommand, Debug)]
pub enum KafkaArgs {
    /// Fetch a version's jars with mvn, and make the archive of classes with which it starts fast; what is there is kept
    Fetch {
        /// A release (4.1.2), or a line of releases (4.1); without it, the one that `--system apache-kafka` takes
        version: Option<String>,
        /// One JSON object on standard output
        #[arg(long)]
        json: bool,
    },
}

/// The outputs that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// `result.json`
    Result,
    /// A line of `history.jsonl`
    History,
    /// A scenario
    Scenario,
    /// A system
    System,
    /// What `check --json` prints
    Check,
}

/// The options of `check`.
#[derive(Args, Debug, Clone)]
pub struct CheckArgs {
    /// The history; gzip is unpacked, and `-` is standard input
    pub file: PathBuf,
    /// How it is read: jepsen-edn, jepsen-json, case-json, porcupine-etcd-log, porcupine-kv-edn, plume-text,
    /// awdit-test-text, dbcop-bincode or ackall; guessed where left out
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// As what it is judged: register, cas-register, multi-register, mutex, set, set-full, queue, counter, log,
    /// key-value, list-append, rw-register, rw-register-sessions, bank, long-fork or kafka; guessed where left out
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The level of transactional models, `serializable` for one; strict-serializable where the format has real time,
    /// else serializable
    #[arg(long, value_name = "NAME")]
    pub level: Option<String>,
    /// The initial value, as JSON: 0, null, "a", {"x": 0}
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub initial: Option<String>,
    /// Kafka: partitions were had by subscribing, so that polls may skip and go back
    #[arg(long, conflicts_with = "assign")]
    pub subscribe: bool,
    /// Kafka: partitions were assigned by hand (the default)
    #[arg(long)]
    pub assign: bool,
    /// Kafka: the order of offsets is the order in which transactions wrote
    #[arg(long)]
    pub ww_deps: bool,
    /// What a compare-and-set that failed says: that the register held something else, or nothing. Without it, observe;
    /// but drop where reads or writes failed too, for then operations fail for other reasons
    #[arg(long, value_enum)]
    pub failed_cas: Option<FailedCasArg>,
    /// Another option, as histories name them: linearizable-keys, sequential-keys and wfr-keys of rw-register,
    /// group-size of long-fork; repeatable
    #[arg(long = "option", value_name = "NAME=VALUE")]
    pub options: Vec<String>,
    /// The time it may take
    #[arg(long, default_value = "60s", value_name = "TIME")]
    pub budget: String,
    /// The memory it may take, the history with it
    #[arg(long, default_value = "2GiB", value_name = "SIZE")]
    pub memory: String,
    /// One JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Write an explanation with pictures, one HTML file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// No progress, only the result
    #[arg(long, short)]
    pub quiet: bool,
    /// No progress lines
    #[arg(long)]
    pub no_progress: bool,
    /// Colours
    #[arg(long, value_enum, default_value = "auto", env = "ACKALL_COLOR")]
    pub color: Color,
}

/// The words of `--failed-cas`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailedCasArg {
    /// The register did not hold the old value
    Observe,
    /// Nothing
    Drop,
}

/// A stored run.
#[derive(Args, Debug)]
pub struct StoredArgs {
    /// A path, scenario/id, a unique prefix of an id, `latest` or `latest-fail`
    #[arg(default_value = "latest")]
    pub run: String,
    /// The folder with the runs
    #[arg(long, default_value = "runs", env = "ACKALL_OUT")]
    pub out: PathBuf,
    /// One JSON object on standard output
    #[arg(long)]
    pub json: bool,
}

/// What to measure.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// The system that is measured, beside the reference cluster
    #[command(flatten)]
    pub system: SystemArgs,
    /// How many boots of each
    #[arg(long, default_value_t = 20)]
    pub boots: u32,
    /// How many whole nights of each
    #[arg(long, default_value_t = 3)]
    pub nights: u32,
    /// How many operations are recorded
    #[arg(long, default_value_t = 500_000)]
    pub operations: u64,
    /// One JSON object on standard output
    #[arg(long)]
    pub json: bool,
}

/// Which cluster by hand.
#[derive(Args, Debug)]
pub struct AtArgs {
    /// The cluster's name
    #[arg(long, default_value = DEFAULT_NAME, env = "ACKALL_NAME")]
    pub name: String,
    /// One JSON object on standard output
    #[arg(long)]
    pub json: bool,
}

/// Which system.
#[derive(Args, Debug, Clone)]
pub struct SystemArgs {
    /// The system under test: reference, apache-kafka, apache-kafka:VERSION, or a file FILE.toml that describes another
    #[arg(
        long,
        default_value = "reference",
        env = "ACKALL_SYSTEM",
        value_name = "NAME | FILE"
    )]
    pub system: String,
    /// A folder with Apache Kafka, its libs/ in it; without it its jars come from Maven
    // A variable that is set to nothing, as jobs do, names none.
    #[arg(long, env = "ACKALL_KAFKA_HOME", value_name = "DIR", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub kafka_home: Option<PathBuf>,
}

/// The options of `up`.
#[derive(Args, Debug)]
pub struct UpArgs {
    /// The cluster's name
    #[arg(long, default_value = DEFAULT_NAME, env = "ACKALL_NAME")]
    pub name: String,
    /// Return when it is up, and leave it there
    #[arg(long)]
    pub detach: bool,
    /// The front of a detached cluster
    #[arg(long, hide = true, conflicts_with = "detach")]
    pub detached: bool,
    /// The first broker's port on 127.0.0.1; the others follow. Without it, ports that are free
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// The seed of what faults draw by chance; drawn where not given
    #[arg(long, env = "ACKALL_SEED", value_parser = clap::value_parser!(u64).range(..SEED_LIMIT))]
    pub seed: Option<u64>,
    /// The system under test
    #[command(flatten)]
    pub system: SystemArgs,
    /// A server property of every node; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// A feature level, given to the format step; repeatable
    #[arg(long = "feature", value_name = "NAME=LEVEL")]
    pub feature: Vec<String>,
    /// A bug to switch on in every node (reference cluster only)
    #[arg(long, value_name = "NAME")]
    pub bug: Option<String>,
    /// The nodes' disks: ackall's own, or a real ext4 or xfs on a loop device (root only)
    #[arg(long, default_value = "fuse", value_parser = disks())]
    pub disk: DiskKind,
    /// The folder for runs
    #[arg(long, default_value = "runs", env = "ACKALL_OUT")]
    pub out: PathBuf,
    /// Exactly this folder for the run, new or empty
    #[arg(long, value_name = "PATH")]
    pub run_dir: Option<PathBuf>,
    /// Whether the nodes' disks stay in the run's folder: on-fail is never, for nothing is judged
    #[arg(long, value_enum, default_value = "never", env = "ACKALL_KEEP_DISKS")]
    pub keep_disks: KeepDisks,
    /// The state as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// No lines about faults and ends
    #[arg(long, short)]
    pub quiet: bool,
}

/// Whom to enter.
#[derive(Args, Debug)]
pub struct EnterArgs {
    /// A node's number, or a role that means one node (`leader:TOPIC-0`, `active-controller`)
    pub node: String,
    /// The command; a shell where there is none
    #[arg(last = true)]
    pub command: Vec<String>,
    /// The cluster's name
    #[arg(long, default_value = DEFAULT_NAME, env = "ACKALL_NAME")]
    pub name: String,
}

/// What to do with faults.
#[derive(Args, Debug)]
pub struct FaultArgs {
    /// A fault to put in (`ackall explain` lists them), `heal`, or `list`
    #[arg(value_name = "FAULT | heal | list")]
    pub what: String,
    /// On whom: numbers or roles, as in a scenario; of `heal`, a fault's number or `all`
    #[arg(value_name = "TARGET | ID")]
    pub targets: Vec<String>,
    /// What the fault is told; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub param: Vec<String>,
    /// The cluster's name
    #[arg(long, default_value = DEFAULT_NAME, env = "ACKALL_NAME")]
    pub name: String,
    /// One JSON object on standard output
    #[arg(long)]
    pub json: bool,
}

/// The options of `run`.
#[derive(Args, Debug, Clone)]
pub struct RunArgs {
    /// A scenario's name, or a TOML file
    #[arg(default_value = "last-replica-standing")]
    pub scenario: String,
    /// The seed of the plan; drawn where not given
    #[arg(long, env = "ACKALL_SEED", conflicts_with = "seeds")]
    pub seed: Option<u64>,
    /// Several seeds, one run each: `1..20`, both ends included
    #[arg(long, value_name = "A..B")]
    pub seeds: Option<String>,
    /// Length of the steady part of a scenario without steps, `60s` for one
    #[arg(long)]
    pub time: Option<String>,
    /// The system under test
    #[command(flatten)]
    pub system: SystemArgs,
    /// A server property of every node; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// A feature level, given to the format step; repeatable
    #[arg(long = "feature", value_name = "NAME=LEVEL")]
    pub feature: Vec<String>,
    /// A bug to switch on in every node (reference cluster only): is it noticed?
    #[arg(long, value_name = "NAME")]
    pub bug: Option<String>,
    /// The nodes' disks: ackall's own, or a real ext4 or xfs on a loop device (root only)
    #[arg(long, default_value = "fuse", value_parser = disks())]
    pub disk: DiskKind,
    /// The folder for runs
    #[arg(long, default_value = "runs", env = "ACKALL_OUT")]
    pub out: PathBuf,
    /// Exactly this folder for the run, new or empty
    #[arg(long, value_name = "PATH", conflicts_with = "seeds")]
    pub run_dir: Option<PathBuf>,
    /// When the nodes' disks stay in the run's folder
    #[arg(long, value_enum, default_value = "on-fail", env = "ACKALL_KEEP_DISKS")]
    pub keep_disks: KeepDisks,
    /// Print the plan, with where each value came from, and stop
    #[arg(long)]
    pub dry_run: bool,
    /// The result as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// No progress, only the result
    #[arg(long, short)]
    pub quiet: bool,
    /// No progress lines
    #[arg(long)]
    pub no_progress: bool,
    /// Colours
    #[arg(long, value_enum, default_value = "auto", env = "ACKALL_COLOR")]
    pub color: Color,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// Whether standard output is to have colours.
    pub fn on_stdout(self) -> bool {
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        }
    }
}

/// The words of `--disk`.
fn disks() -> impl TypedValueParser<Value = DiskKind> {
    let words = PossibleValuesParser::new(DiskKind::ALL.map(DiskKind::word));
    words.map(|said| {
        // The parser before takes no other word.
        let mut all = DiskKind::ALL.into_iter();
        all.find(|disk| disk.word() == said).unwrap_or_default()
    })
}

impl RunArgs {
    /// The seeds to run, in order.
    ///
    /// # Errors
    /// Usage, where they are no numbers below 2^53, or too many.
    pub fn seeds(&self) -> Result<Vec<u64>, Error> {
        let wrong = |why: String| {
            Error::usage(
                "reading the seeds",
                why,
                "--seed 7, or --seeds 1..20 (numbers below 2^53)",
            )
        };
        let one = |text: &str| match text.parse::<u64>() {
            Ok(seed) if seed < SEED_LIMIT => Ok(seed),
            _ => Err(wrong(format!("{text:?} is no seed"))),
        };
        let Some(range) = &self.seeds else {
            let seed = self.seed.map_or_else(drawn_seed, Ok)?;
            return Ok(vec![one(&seed.to_string())?]);
        };
        let (low, high) = range
            .split_once("..")
            .ok_or_else(|| wrong(format!("{range:?} is no range")))?;
        let (low, high) = (one(low)?, one(high.trim_start_matches('='))?);
        if low > high || high - low >= RUNS_LIMIT {
            return Err(wrong(format!("{range} is not 1 to {RUNS_LIMIT} seeds")));
        }
        Ok((low..=high).collect())
    }

    /// `KEY=VALUE` pairs of `--set`.
    ///
    /// # Errors
    /// Usage, where one has no `=`.
    pub fn properties(&self) -> Result<Vec<(String, String)>, Error> {
        properties(&self.set)
    }

    /// `NAME=LEVEL` pairs of `--feature`.
    ///
    /// # Errors
    /// Usage, where one has no `=`, or its level is no number.
    pub fn features(&self) -> Result<Vec<(String, i16)>, Error> {
        features(&self.feature)
    }
}

/// `KEY=VALUE` pairs of `--set`.
///
/// # Errors
/// Usage, where one has no `=`.
pub fn properties(set: &[String]) -> Result<Vec<(String, String)>, Error> {
    set.iter().map(|text| pair("--set", "KEY=VALUE", text)).collect()
}

/// `NAME=LEVEL` pairs of `--feature`.
///
/// # Errors
/// Usage, where one has no `=`, or its level is no number.
pub fn features(feature: &[String]) -> Result<Vec<(String, i16)>, Error> {
    let level = |text: &String| {
        let (name, level) = pair("--feature", "NAME=LEVEL", text)?;
        let level = level.parse().map_err(|_| {
            Error::usage(
                format!("reading --feature {text}"),
                format!("{level:?} is no level"),
                "--feature NAME=0",
            )
        })?;
        Ok((name, level))
    };
    feature.iter().map(level).collect()
}

/// The two parts of a word that a flag wants with `=` in it.
///
/// # Errors
/// Usage, where it has none.
pub fn pair(flag: &str, form: &str, text: &str) -> Result<(String, String), Error> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_string(), value.to_string())),
        _ => Err(Error::usage(
            format!("reading {flag} {text}"),
            format!("it is no {form}"),
            format!("{flag} {form}"),
        )),
    }
}

/// A seed that nobody chose, from the system's randomness.
pub fn drawn_seed() -> Result<u64, Error> {
    use std::hash::{BuildHasher, Hasher};
    // Short enough to be typed again.
    const DRAWN_BELOW: u64 = 1_000_000;
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    Ok(hasher.finish() % DRAWN_BELOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Cli {
        Cli::try_parse_from(std::iter::once("ackall").chain(args.iter().copied())).unwrap()
    }

    #[test]
    fn no_argument_runs_the_default_scenario() {
        let cli = parse(&[]);
        assert!(cli.command.is_none());
        assert_eq!(cli.run.scenario, "last-replica-standing");
        let cli = parse(&["--feature", "eligible.leader.replicas.version=0"]);
        assert_eq!(
            cli.run.features().unwrap(),
            [("eligible.leader.replicas.version".to_string(), 0)]
        );
    }

    #[test]
    fn seeds_are_a_number_or_a_range() {
        assert_eq!(parse(&["--seeds", "3..5"]).run.seeds().unwrap(), [3, 4, 5]);
        assert_eq!(parse(&["calm", "--seed", "9"]).run.seeds().unwrap(), [9]);
        for bad in ["5..3", "x..3", "3", "0..100000", "1..9007199254740992"] {
            assert!(parse(&["--seeds", bad]).run.seeds().is_err(), "{bad}");
        }
        assert!(parse(&["--seed", "9007199254740992"]).run.seeds().is_err());
    }

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
