//! The conductor and the command line.
//!
//! What it does: reads the command line, makes the plan, starts the ground (this is the *front*), and, as a process
//! of its own inside the ground, runs the plan: cluster, workload, faults, observer, history, verdict (the
//! *harness*). What it does not: anything itself. Faults are in `nemesis`, operations in `workloads`, judgement in
//! `checker`, pictures in `results`. It cannot name the reference cluster.
//!
//! Invariants:
//! 1. The conductor knows the plan and nothing else; what it resolved is in the history.
//! 2. Steps wait for states, never for seconds; each has a limit, and so has the run.
//! 3. Every error is three lines: what, why, what next.

// Both panic where standard output is closed or full: `say!` and `say_as_is!` take their place.
#![deny(clippy::print_stdout)]

/// Prints a line of the result.
macro_rules! say {
    ($($arg:tt)*) => {
        $crate::print_to(&mut std::io::stdout(), format_args!("{}\n", format_args!($($arg)*)))
    };
}

/// Prints a text that ends its own lines.
macro_rules! say_as_is {
    ($($arg:tt)*) => {
        $crate::print_to(&mut std::io::stdout(), format_args!($($arg)*))
    };
}

mod cli;
mod commands;
mod conductor;
mod error;
mod hand;
mod judge;
mod needs;
mod plan;
mod scenario;
mod streams;
mod system;
mod target;

use clap::Parser;
use cli::{Cli, Command};
use error::{Error, Status};
use std::process::ExitCode;

/// The first argument of the harness's own process, inside the ground.
const HARNESS_ROLE: &str = "__harness";
/// Before what the harness is told of a cluster by hand.
const BY_HAND: &str = "--by-hand";

/// The entry point of everything that is not a node of the reference cluster.
pub fn main() -> ExitCode {
    if let Some(code) = ground::dispatch() {
        return code;
    }
    // Only flags and roles are looked for in it; clap reads the arguments as they are.
    let args: Vec<String> = std::env::args_os()
        .map(|arg| arg.to_string_lossy().into_owned())
        .collect();
    if args.get(1).map(String::as_str) == Some(HARNESS_ROLE) {
        return conductor::main(&args[2..]).into();
    }
    if args.get(1).map(String::as_str) == Some(commands::bench::RECORD_ROLE) {
        return commands::bench::record_until_killed(&args[2..]).into();
    }
    let json = args.iter().any(|arg| arg == "--json");
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return wrong_words(&e, json),
    };
    match act(cli, &args[1..]) {
        Ok(status) => status.into(),
        Err(error) => {
            tell(&error, json);
            error.status.into()
        }
    }
}

/// Where nobody can read a result (a closed pipe, a full disk) the exit status still tells: no panic.
fn print_to(out: &mut dyn std::io::Write, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text).and_then(|()| out.flush());
}

/// Shows an error: three lines on standard error; with `--json` an object on standard output as well.
fn tell(error: &Error, json: bool) {
    use std::io::Write;
    // Where nobody can read it the exit status still tells.
    let _ = writeln!(std::io::stderr(), "{error}");
    if json {
        let _ = writeln!(std::io::stdout(), "{}", error.json());
    }
}

fn act(cli: Cli, words: &[String]) -> Result<Status, Error> {
    match cli.command {
        None => commands::run::run(&cli.run, words),
        Some(Command::Run(args)) => commands::run::run(&args, words),
        Some(Command::Scenarios { name }) => commands::scenarios::scenarios(name.as_deref()),
        Some(Command::Systems { name }) => commands::systems::systems(name.as_deref()),
        Some(Command::Check(args)) => commands::check::check(&args),
        Some(Command::Analyze(args)) => commands::stored::analyze(&args),
        Some(Command::Report(args)) => commands::stored::report(&args),
        Some(Command::Explain { name }) => commands::explain::explain(name.as_deref()),
        Some(Command::Doctor { json }) => commands::doctor::doctor(json),
        Some(Command::Schema { of }) => commands::schema::schema(of),
        Some(Command::Bench(args)) => commands::bench::bench(&args),
        Some(Command::Up(args)) => commands::up::up(&args, words),
        Some(Command::Down(args)) => commands::hand::down(&args),
        Some(Command::Ps(args)) => commands::hand::ps(&args),
        Some(Command::Enter(args)) => commands::hand::enter(&args),
        Some(Command::Fault(args)) => commands::hand::fault(&args),
        Some(Command::Kafka { what }) => commands::kafka::kafka(&what),
        Some(Command::Admin { of }) => commands::admin::admin(&of),
        Some(Command::Node { .. }) => Err(Error::internal(
            "running a node",
            "this program was built without the reference cluster",
            "use the `ackall` executable",
        )),
    }
}

/// Help and version are answers; anything else is a usage error of three lines.
fn wrong_words(e: &clap::Error, json: bool) -> ExitCode {
    use clap::error::ErrorKind;
    if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        say_as_is!("{e}");
        return ExitCode::SUCCESS;
    }
    let text = e.to_string();
    // What is missing or allowed stands below the first line, up to an empty one.
    let first = text
        .lines()
        .take_while(|line| !line.trim().is_empty())
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ");
    let first = first.trim_start_matches("error: ");
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let next = tip.map_or("ackall --help".to_string(), |tip| format!("{tip}; ackall --help"));
    let error = Error::usage("reading the command line", first, next);
    tell(&error, json);
    error.status.into()
}

#[cfg(test)]
mod tests {
    use super::print_to;
    use std::fs::OpenOptions;

    #[test]
    fn what_nobody_can_read_is_no_panic() {
        let (reader, mut closed) = std::io::pipe().unwrap();
        drop(reader);
        print_to(&mut closed, format_args!("PASS\n"));
        let mut full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        print_to(&mut full, format_args!("PASS\n"));
        let mut open = Vec::new();
        print_to(&mut open, format_args!("{}\n", "PASS"));
        assert_eq!(open, b"PASS\n");
    }
}
