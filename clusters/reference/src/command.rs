//! The command line: `ackall node format | start | properties | bugs`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

use crate::config::{Config, table};
use crate::failure::Failure;
use crate::format::{self, Initial, Request};
use crate::{names, node};

/// A node of the reference cluster.
#[derive(Debug, Parser)]
#[command(
    name = "ackall node",
    bin_name = "ackall node",
    disable_help_subcommand = true
)]
struct Command {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Prepares a node's folder for its first start
    Format(FormatOptions),
    /// Runs a node until it is told to stop (SIGTERM, SIGINT)
    Start(StartOptions),
    /// Lists the properties that a configuration may have
    Properties {
        /// As JSON: an array of {name, type, default, doc}
        #[arg(long)]
        json: bool,
    },
    /// Lists the bugs that `start --bug` can switch on
    Bugs {
        /// As JSON: an array of names
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
struct ConfigOption {
    /// The node's configuration
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

#[derive(Debug, Args)]
struct StartOptions {
    #[command(flatten)]
    config: ConfigOption,
    /// Break the node on purpose, for a harness to notice; `ackall node bugs` lists the names
    #[arg(long, value_name = "NAME")]
    bug: Option<String>,
}

impl StartOptions {
    fn config(&self) -> Result<Config, Failure> {
        let config = Config::read(&self.config.config)?;
        let bug = self.bug.as_deref().map(bug_named).transpose()?;
        Ok(Config { bug, ..config })
    }
}

fn bug_names() -> impl Iterator<Item = &'static str> {
    raft::Bug::ALL.into_iter().map(|(_, name)| name)
}

fn bug_named(name: &str) -> Result<raft::Bug, Failure> {
    name.parse().map_err(|_| {
        Failure::usage(
            format!("Cannot switch on the bug '{name}'."),
            "There is none of that name.",
            format!(
                "The nearest are {}. `ackall node bugs` lists all.",
                names::nearest(name, bug_names()).join(", ")
            ),
        )
    })
}

#[derive(Debug, Args)]
struct FormatOptions {
    #[command(flatten)]
    config: ConfigOption,
    /// The cluster that the node belongs to
    #[arg(long, value_name = "ID")]
    cluster_id: String,
    /// The id of the node's folder; drawn where none is named
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    directory_id: Option<String>,
    /// Voters may change (KIP-853): this controller is the first, and alone
    #[arg(long, group = "first voters")]
    standalone: bool,
    /// Voters may change: these are the first
    #[arg(
        long,
        group = "first voters",
        value_delimiter = ',',
        value_name = "ID@HOST:PORT:DIRECTORY_ID,..."
    )]
    initial_controllers: Vec<String>,
    /// Voters may change: this node joins a quorum that is there
    #[arg(long, group = "first voters")]
    no_initial_controllers: bool,
    /// The level of a feature that the cluster begins with; may be repeated
    #[arg(long = "feature", value_name = "NAME=LEVEL")]
    features: Vec<String>,
    /// Leave a folder that is formatted already as it is, instead of refusing it
    #[arg(long)]
    ignore_formatted: bool,
}

impl FormatOptions {
    fn request(&self) -> Result<Request, Failure> {
        let directory_id = self
            .directory_id
            .as_deref()
            .map(|text| format::directory_id("--directory-id", text))
            .transpose()?;
        Ok(Request {
            cluster_id: self.cluster_id.clone(),
            directory_id,
            levels: format::features(&self.features)?,
            initial: Initial::of_options(
                self.standalone,
                &self.initial_controllers,
                self.no_initial_controllers,
            )?,
            ignore_formatted: self.ignore_formatted,
        })
    }
}

/// Runs the command of the process's arguments, of which the first two are `ackall node`.
pub fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1);
    let outcome = match Command::try_parse_from(arguments) {
        Ok(command) => run(command.action),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            // Standard output may be closed: there is nobody to tell then.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => Err(misuse(&error)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit_code()
        }
    }
}

fn run(action: Action) -> Result<(), Failure> {
    match action {
        Action::Format(options) => {
            let config = Config::read(&options.config.config)?;
            format::format(&config, &options.request()?)
        }
        Action::Start(options) => node::start(options.config()?),
        Action::Properties { json } => {
            properties(json);
            Ok(())
        }
        Action::Bugs { json } => {
            bugs(json);
            Ok(())
        }
    }
}

fn properties(json: bool) {
    if json {
        // Serialising constant texts and names cannot fail.
        println!(
            "{}",
            serde_json::to_string_pretty(table::PROPERTIES).unwrap_or_default()
        );
        return;
    }
    for property in table::PROPERTIES {
        let default = property
            .default
            .map_or("no default".to_owned(), |value| format!("default '{value}'"));
        println!(
            "{} ({:?}, {default})\n    {}",
            property.name, property.kind, property.doc
        );
    }
}

fn bugs(json: bool) {
    let names: Vec<&str> = bug_names().collect();
    if json {
        // Serialising names cannot fail.
        println!("{}", serde_json::to_string_pretty(&names).unwrap_or_default());
    } else {
        println!("{}", names.join("\n"));
    }
}

/// clap's words, in three lines: what it says up to its first empty line, which may go on to name what is missing.
fn misuse(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let why = lines.join(" ").trim_start_matches("error: ").to_owned();
    Failure::usage("Cannot run `ackall node`.", why, "See `ackall node --help`.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Command::command().debug_assert();
    }

    #[test]
    fn a_bug_is_on_only_where_it_was_named() {
        let folder = std::env::temp_dir().join(format!("ackall-command-{}.properties", std::process::id()));
        let text = "process.roles=controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:1\n\
                    listeners=CONTROLLER://127.0.0.1:1\nlog.dirs=/d\n";
        std::fs::write(&folder, text).unwrap();
        let start = |words: &[&str]| {
            let config = folder.display().to_string();
            let words = [&["node", "start", "--config", &config], words].concat();
            match Command::try_parse_from(words).unwrap().action {
                Action::Start(options) => options.config(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(start(&[]).unwrap().bug, None);
        for (bug, name) in raft::Bug::ALL {
            assert_eq!(start(&["--bug", name]).unwrap().bug, Some(bug));
        }
        let refused = start(&["--bug", "quorum-no-prevote"]).unwrap_err().to_string();
        assert!(
            refused.contains("The nearest are quorum-no-pre-vote, "),
            "{refused}"
        );
        assert_eq!(refused.lines().count(), 3, "{refused}");
        std::fs::remove_file(&folder).unwrap();
    }

    #[test]
    fn misuse_names_what_is_missing_in_three_lines() {
        let error = Command::try_parse_from(["node", "format"]).unwrap_err();
        let told = misuse(&error).to_string();
        assert!(
            told.contains("--config <FILE>") && told.contains("--cluster-id <ID>"),
            "{told}"
        );
        assert_eq!(told.lines().count(), 3, "{told}");
    }

    #[test]
    fn only_one_way_to_begin_a_quorum_can_be_named() {
        let format = ["node", "format", "--config", "c", "--cluster-id", "c"];
        let parse = |words: &[&str]| Command::try_parse_from([&format[..], words].concat());
        let list = ["--initial-controllers", "1@h:1:A,2@h:2:B"];
        assert!(parse(&list).is_ok() && parse(&["--standalone"]).is_ok());
        assert!(parse(&[&list[..], &["--standalone"]].concat()).is_err());
        assert!(parse(&["--no-initial-controllers", "--standalone"]).is_err());
    }
}
