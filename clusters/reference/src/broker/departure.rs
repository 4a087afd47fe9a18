//! Partitions that are this broker's no more: their topic was deleted, or a reassignment took the replica away. Whoever
//! waits for them is told, and their folders go.
//!
//! Only the committed metadata makes a log go: a folder that came back with a loss of power, because its going was not
//! synced, goes again once the broker has read that far.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use kafka_protocol::ResponseError;
use storage::StorageError;

use super::Broker;
use super::apply::folders;
use super::partition::Key;
use crate::config::Config;
use crate::diary::info;

/// What the name of a folder that is on its way out ends in; no partition's folder ends so.
const GOING: &str = "-delete";

impl Broker {
    /// Drops those of these partitions that this broker does not hold.
    pub fn depart(&mut self, keys: &BTreeSet<Key>) -> Result<(), StorageError> {
        let mut gone = Vec::new();
        for key in keys {
            if self.holds(*key) {
                continue;
            }
            if let Some(partition) = self.partitions.remove(key) {
                let error = match self.image.partition(*key) {
                    Some(_) => ResponseError::NotLeaderOrFollower,
                    None => ResponseError::UnknownTopicOrPartition,
                };
                self.produces.fail(&partition.waiting, error);
                // Fetches that wait there are answered when all is settled.
                self.grown.insert(*key);
                gone.push((*key, partition.topic));
            }
            if let Some(found) = self.found.remove(key) {
                gone.push((*key, found.topic));
            }
        }
        if gone.is_empty() {
            return Ok(());
        }
        // First the marks: a topic of the same name must not find them.
        let names: Vec<_> = gone.iter().map(|(key, topic)| (topic.clone(), key.1)).collect();
        self.checkpoint.forget(&names)?;
        for (key, topic) in gone {
            info!(
                "{topic}-{}: this broker does not hold it any more; its folder goes",
                key.1
            );
            remove(&self.config.log_dir, &topic, key)?;
        }
        Ok(())
    }

    /// Whether the metadata says that this broker has a replica.
    fn holds(&self, key: Key) -> bool {
        let state = self.image.partition(key);
        state.is_some_and(|state| state.replicas.contains(&self.config.node_id))
    }
}

/// Removes a partition's folder: renamed first, so that a crash on the way leaves no half of a log under its name.
fn remove(log_dir: &Path, topic: &str, key: Key) -> Result<(), StorageError> {
    let folder = log_dir.join(format!("{topic}-{}", key.1));
    let going = log_dir.join(format!("{}-{}{GOING}", key.0.simple(), key.1));
    fs::rename(&folder, &going).map_err(io("rename", &folder))?;
    let synced = File::open(log_dir).and_then(|opened| opened.sync_all());
    synced.map_err(io("sync", log_dir))?;
    fs::remove_dir_all(&going).map_err(io("remove", &going))
}

/// Removes what was on its way out when the broker ended.
pub fn finish_removals(config: &Config) -> Result<(), StorageError> {
    let is_going = |folder: &PathBuf| {
        let name = folder.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.ends_with(GOING))
    };
    for folder in folders(&config.log_dir).into_iter().filter(is_going) {
        fs::remove_dir_all(&folder).map_err(io("remove", &folder))?;
    }
    Ok(())
}

fn io(tried: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StorageError {
    let path = path.to_owned();
    move |source| StorageError::Io { tried, path, source }
}
