//! `ackall node format`: a node's folder, made ready for its first start, as Kafka's storage tool does it.
//!
//! - `meta.properties`: whose folder it is, the folder's own id included.
//! - `bootstrap.checkpoint`: the feature levels that the first active controller writes into an empty
//!   metadata log.
//! - Where the voters may change (KIP-853) and this node is one of the first:
//!   `__cluster_metadata-0/00000000000000000000-0000000000.checkpoint`, the snapshot that names them.
//!
//! All of it is durable when the command ends, the folder itself too, and nothing that was there is written
//! over: what a format that was interrupted left behind is told from a metadata log by being nothing else.

mod bootstrap;
mod files;
mod initial;
mod levels;

use storage::meta_properties::{self, MetaProperties};
use uuid::Uuid;

pub use bootstrap::{BOOTSTRAP_FILE, read_bootstrap};
pub use initial::{Initial, InitialController};
pub use levels::{Levels, features};

use crate::config::{Config, Role};
use crate::failure::Failure;

/// Ids below are not drawn for folders: Kafka keeps the first hundred for meanings of its own.
const RESERVED_IDS: u128 = 100;

/// What to format a folder with.
#[derive(Debug, Clone)]
pub struct Request {
    /// The cluster.
    pub cluster_id: String,
    /// The folder's id; drawn where none is named, unless [`Initial::Named`] names it.
    pub directory_id: Option<Uuid>,
    /// The features, as [`features`] reads them.
    pub levels: Levels,
    /// Who the first voters are.
    pub initial: Initial,
    /// A folder that is formatted already is left as it is, instead of refused.
    pub ignore_formatted: bool,
}

impl Request {
    /// Of a cluster, with these features, and nothing else said.
    pub fn new(cluster_id: impl Into<String>, levels: Levels) -> Self {
        Self {
            cluster_id: cluster_id.into(),
            directory_id: None,
            levels,
            initial: Initial::Unsaid,
            ignore_formatted: false,
        }
    }
}

/// Formats the folder of a node.
///
/// # Errors
/// When the request contradicts itself or the configuration, the folder is formatted already, or the disk
/// refuses.
pub fn format(config: &Config, request: &Request) -> Result<(), Failure> {
    let folder = &config.log_dir;
    let what = format!("Cannot format {}.", folder.display());
    check_cluster_id(&what, &request.cluster_id)?;
    let levels = request.levels.checked(&what, config.has_dynamic_quorum())?;
    let voters = request.initial.voters(&what, config, request.directory_id)?;
    let directory_id = match voters.own_directory.or(request.directory_id) {
        Some(id) => check_directory_id(&what, id)?,
        None => drawn_directory_id(),
    };
    if folder.join(meta_properties::FILE_NAME).exists() {
        if request.ignore_formatted {
            return Ok(());
        }
        return Err(Failure::other(
            what,
            "It is formatted already.",
            "Use an empty folder, or --ignore-formatted to leave this one as it is.",
        ));
    }
    let properties = MetaProperties {
        cluster_id: request.cluster_id.clone(),
        node_id: config.node_id,
        directory_id,
    };
    // As in Kafka: a node that is none of the first voters hears of them from the leader.
    let first_voters = voters.own_directory.and(voters.first);
    files::check_empty(&what, folder)?;
    files::write(folder, &properties, &levels, first_voters.as_ref()).map_err(|error| {
        Failure::other(
            what,
            error.to_string(),
            "Free the disk, or name another folder in log.dirs.",
        )
    })
}

/// The file has one line for it, whose ends are trimmed when it is read.
fn check_cluster_id(what: &str, id: &str) -> Result<(), Failure> {
    if !id.is_empty() && id.trim() == id && !id.contains(['\n', '\r']) {
        return Ok(());
    }
    Err(Failure::usage(
        what,
        "The cluster's id is empty, more than a line, or has spaces around it.",
        "Name it with --cluster-id ID.",
    ))
}

/// The id of a folder, from the command line.
///
/// # Errors
/// When it is none.
pub fn directory_id(option: &str, text: &str) -> Result<Uuid, Failure> {
    let what = format!("Cannot use {option}: '{text}' as a folder's id.");
    let id = storage::parse_uuid(text).ok_or_else(|| {
        Failure::usage(
            &what,
            "It is not 16 bytes in URL-safe base64 without padding: 22 characters.",
            "Leave it out, and one is drawn; or take it from a meta.properties (directory.id).",
        )
    })?;
    check_directory_id(&what, id)
}

fn check_directory_id(what: &str, id: Uuid) -> Result<Uuid, Failure> {
    let why = if is_reserved(id) {
        "Ids of folders begin at 100: those below have meanings of their own, as 'no folder'."
    } else if looks_like_an_option(id) {
        "A folder's id never begins with a dash: command lines would take it for an option."
    } else {
        return Ok(id);
    };
    Err(Failure::usage(
        what,
        format!("The folder's id {}: {why}", storage::format_uuid(id)),
        "Leave --directory-id out, and one is drawn.",
    ))
}

fn is_reserved(id: Uuid) -> bool {
    id.as_u128() < RESERVED_IDS
}

fn looks_like_an_option(id: Uuid) -> bool {
    storage::format_uuid(id).starts_with('-')
}

fn drawn_directory_id() -> Uuid {
    loop {
        let id = Uuid::new_v4();
        if !is_reserved(id) && !looks_like_an_option(id) {
            return id;
        }
    }
}

/// Whether the role is one that votes.
fn votes(config: &Config) -> bool {
    config.role == Role::Controller
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_id_can_stand_on_any_command_line() {
        for _ in 0..1000 {
            let id = drawn_directory_id();
            let text = storage::format_uuid(id);
            assert_eq!(directory_id("--directory-id", &text).unwrap(), id);
        }
    }

    #[test]
    fn ids_that_are_none_are_refused() {
        // Nobody; the metadata topic's; one that begins with a dash (62 << 2 in its first byte).
        let dash = storage::format_uuid(Uuid::from_u128(62 << 122));
        assert!(dash.starts_with('-'));
        for bad in ["", "x", "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ", &dash] {
            let refused = directory_id("--directory-id", bad).unwrap_err().to_string();
            assert_eq!(refused.lines().count(), 3, "{refused}");
        }
    }
}
