//! `ackall node format`: a node's folder, made ready for its first start.
//!
//! Two files: `meta.properties`, whose folder it is, and `bootstrap.checkpoint`, the feature levels that the
//! first active controller writes into an empty metadata log. Both are durable when the command ends, the
//! folder itself too.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use records::{FeatureLevel, Record};
use storage::meta_properties::{self, MetaProperties};
use storage::{BatchBuilder, Records, StorageError};
use uuid::Uuid;

use crate::clock::Clock;
use crate::config::Config;
use crate::failure::Failure;
use crate::features;

/// The name of the file with the initial records.
pub const BOOTSTRAP_FILE: &str = "bootstrap.checkpoint";

/// Levels of features, by name.
pub type Levels = BTreeMap<String, i16>;

const FEATURE_FORM: &str =
    "Write --feature NAME=LEVEL, for example --feature eligible.leader.replicas.version=1.";

/// The levels a cluster begins with: those asked for, and the usual ones of the others.
///
/// # Errors
/// When a feature is unknown, or a level is not supported.
pub fn features(asked: &[String]) -> Result<Levels, Failure> {
    let mut levels: Levels = features::SUPPORTED
        .iter()
        .map(|feature| (feature.name.to_owned(), feature.initial))
        .collect();
    for text in asked {
        let what = format!("Cannot use --feature {text}.");
        let (name, level) = text
            .split_once('=')
            .ok_or_else(|| Failure::usage(&what, "It is not of the form NAME=LEVEL.", FEATURE_FORM))?;
        let feature = features::find(name).ok_or_else(|| {
            let known: Vec<&str> = features::SUPPORTED.iter().map(|feature| feature.name).collect();
            Failure::usage(
                &what,
                format!("There is no feature '{name}'."),
                format!("There are: {}.", known.join(", ")),
            )
        })?;
        let level = level
            .parse::<i16>()
            .ok()
            .filter(|level| (feature.least..=feature.most).contains(level))
            .ok_or_else(|| {
                let why = format!("Its levels are {} to {}.", feature.least, feature.most);
                Failure::usage(&what, why, FEATURE_FORM)
            })?;
        levels.insert(name.to_owned(), level);
    }
    Ok(levels)
}

/// Formats the folder of a node.
///
/// # Errors
/// When it is formatted already, unless `ignore_formatted`, or the disk refuses.
pub fn format(
    config: &Config,
    cluster_id: &str,
    levels: &Levels,
    ignore_formatted: bool,
) -> Result<(), Failure> {
    let folder = &config.log_dir;
    let path = folder.join(meta_properties::FILE_NAME);
    let what = format!("Cannot format {}.", folder.display());
    if cluster_id.is_empty() || cluster_id.contains(['\n', '\r']) {
        return Err(Failure::usage(
            what,
            "The cluster's id is empty, or more than a line.",
            "Name it with --cluster-id ID.",
        ));
    }
    if path.exists() {
        if ignore_formatted {
            return Ok(());
        }
        return Err(Failure::other(
            what,
            "It is formatted already.",
            "Use an empty folder, or --ignore-formatted to leave this one as it is.",
        ));
    }
    write(folder, &path, config.node_id, cluster_id, levels).map_err(|error| {
        Failure::other(
            what,
            error.to_string(),
            "Free the disk, or name another folder in log.dirs.",
        )
    })
}

fn write(
    folder: &Path,
    path: &Path,
    node_id: i32,
    cluster_id: &str,
    levels: &Levels,
) -> Result<(), StorageError> {
    make_durable(folder)?;
    write_bootstrap(&folder.join(BOOTSTRAP_FILE), levels)?;
    // Last: it is what says that the folder is formatted.
    let properties = MetaProperties {
        cluster_id: cluster_id.to_owned(),
        node_id,
        directory_id: Uuid::new_v4(),
    };
    properties.write(path)
}

/// Makes the folder and whatever lies above it, and syncs each name that was made.
fn make_durable(folder: &Path) -> Result<(), StorageError> {
    let missing: Vec<PathBuf> = folder
        .ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
        .map(Path::to_owned)
        .collect();
    fs::create_dir_all(folder).map_err(refused("make the folder", folder))?;
    for made in missing {
        let parent = match made.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        File::open(parent)
            .and_then(|opened| opened.sync_all())
            .map_err(refused("sync", parent))?;
    }
    Ok(())
}

fn refused(tried: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StorageError {
    let path = path.to_owned();
    move |source| StorageError::Io { tried, path, source }
}

/// One batch of metadata records, as a log has them.
fn write_bootstrap(path: &Path, levels: &Levels) -> Result<(), StorageError> {
    let invalid = |error: storage::BatchError| StorageError::Batch {
        path: path.to_owned(),
        source: error,
    };
    let mut batch = BatchBuilder::new(Clock::start().wall_ms());
    for (name, level) in levels {
        let record = Record::FeatureLevel(FeatureLevel {
            name: name.clone(),
            level: *level,
        });
        batch.push(None, Some(&record.encode()), &[]).map_err(invalid)?;
    }
    let bytes = batch.build(0, 0).map_err(invalid)?;
    let mut file = File::create(path).map_err(refused("create", path))?;
    file.write_all(&bytes)
        .and_then(|()| file.sync_all())
        .map_err(refused("write", path))
}

/// The feature levels in the bootstrap file of a formatted folder.
///
/// # Errors
/// When it cannot be read, or is not what [`format()`] wrote.
pub fn read_bootstrap(folder: &Path) -> Result<Levels, Failure> {
    let path = folder.join(BOOTSTRAP_FILE);
    let failed = |why: String| {
        Failure::other(
            format!("Cannot read {}.", path.display()),
            why,
            "Restore the file, or format an empty folder.",
        )
    };
    let bytes = fs::read(&path).map_err(|error| failed(error.to_string()))?;
    let mut levels = Levels::new();
    for record in Records::of(&bytes).map_err(|error| failed(error.to_string()))? {
        let record = record.map_err(|error| failed(error.to_string()))?;
        match Record::decode(record.value.unwrap_or_default()) {
            Ok(Record::FeatureLevel(level)) => drop(levels.insert(level.name, level.level)),
            Ok(other) => {
                return Err(failed(format!(
                    "It holds a record that does not belong there: {other:?}"
                )));
            }
            Err(error) => return Err(failed(error.to_string())),
        }
    }
    Ok(levels)
}
