//! The words of `ackall admin`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What is administered.
#[derive(Subcommand, Debug)]
pub enum AdminArgs {
    /// The metadata quorum: who leads, who votes
    Quorum {
        /// What to do.
        #[command(subcommand)]
        action: QuorumAction,
    },
}

/// What is asked of the metadata quorum.
#[derive(Subcommand, Debug)]
pub enum QuorumAction {
    /// Who leads, who votes, who follows, and how far each is
    Describe {
        /// Whom to ask.
        #[command(flatten)]
        target: TargetArgs,
        /// One JSON object on standard output
        #[arg(long)]
        json: bool,
    },
    /// Has a controller vote (KIP-853): it runs already, formatted with --no-initial-controllers, and follows
    AddVoter(AddVoterArgs),
    /// Has a controller vote no more (KIP-853)
    RemoveVoter(RemoveVoterArgs),
}

/// Whom to ask.
#[derive(Args, Debug, Clone)]
pub struct TargetArgs {
    #[command(flatten)]
    pub bootstrap: BootstrapArgs,
    /// How long to try
    #[arg(long, default_value = "10s", value_name = "TIME")]
    pub timeout: String,
}

/// Brokers or controllers.
#[derive(Args, Debug, Clone)]
#[group(required = true, multiple = false)]
pub struct BootstrapArgs {
    /// Brokers to ask, with commas between them
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub bootstrap_server: Vec<String>,
    /// Controllers to ask, with commas between them
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub bootstrap_controller: Vec<String>,
}

/// Who is to vote.
#[derive(Args, Debug, Clone)]
pub struct AddVoterArgs {
    /// Whom to ask.
    #[command(flatten)]
    pub target: TargetArgs,
    /// The new voter's server.properties: its id, listener and folder, whose meta.properties is read too
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "directory_id", "listener"])]
    pub config: Option<PathBuf>,
    /// The new voter's id
    #[arg(
        long,
        value_name = "ID",
        required_unless_present = "config",
        alias = "controller-id"
    )]
    pub id: Option<i32>,
    /// The id of its folder: directory.id in its meta.properties
    #[arg(
        long,
        value_name = "ID",
        required_unless_present = "config",
        alias = "controller-directory-id",
        allow_hyphen_values = true
    )]
    pub directory_id: Option<String>,
    /// Where it listens; repeatable
    #[arg(long, value_name = "NAME://HOST:PORT", required_unless_present = "config")]
    pub listener: Vec<String>,
}

/// Who is to vote no more.
#[derive(Args, Debug, Clone)]
pub struct RemoveVoterArgs {
    /// Whom to ask.
    #[command(flatten)]
    pub target: TargetArgs,
    /// The voter's id
    #[arg(long, value_name = "ID", alias = "controller-id")]
    pub id: i32,
    /// The id of its folder, as `describe` shows it
    #[arg(
        long,
        value_name = "ID",
        alias = "controller-directory-id",
        allow_hyphen_values = true
    )]
    pub directory_id: String,
}
