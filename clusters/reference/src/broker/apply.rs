//! From metadata to partitions: folders made, roles taken.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use replication::{Replica, Settings, Transition};
use storage::{Log, LogConfig, StorageError, offsets, partition_metadata};

use super::Broker;
use super::checkpoint::Checkpoint;
use super::image::Image;
use super::partition::{Key, Partition};
use crate::config::Config;
use crate::diary::{info, warning};
use crate::quorum::{Fatal, METADATA_FOLDER, Next, for_each_record};

/// A log that was found in the data folder.
#[derive(Debug)]
pub struct FoundLog {
    /// Its topic's name.
    pub topic: String,
    log: Log,
}

/// Opens every partition's log in the data folder, which repairs those that need it.
///
/// # Errors
/// When the disk refuses.
pub fn find_logs(config: &Config) -> Result<(BTreeMap<Key, FoundLog>, Checkpoint), StorageError> {
    let path = config.log_dir.join(offsets::HIGH_WATERMARKS_FILE);
    let marks = offsets::read(&path).unwrap_or_else(|error| {
        warning!("{error}; high watermarks begin at the logs' starts");
        offsets::Offsets::new()
    });
    let mut found = BTreeMap::new();
    for folder in folders(&config.log_dir) {
        let Some((topic, index)) = topic_and_index(&folder) else {
            continue;
        };
        // A folder whose file was not written yet holds no record that counts: it is made again.
        let Ok(Some(topic_id)) = partition_metadata::read(&folder.join(partition_metadata::FILE_NAME)) else {
            warning!(
                "{} has no readable {}, and is left alone",
                folder.display(),
                partition_metadata::FILE_NAME
            );
            continue;
        };
        let log = open_log(&folder, config)?;
        found.insert((topic_id, index), FoundLog { topic, log });
    }
    Ok((found, Checkpoint::new(path, marks)))
}

/// The folders in the data folder, by name.
pub fn folders(log_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(log_dir).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

fn topic_and_index(folder: &Path) -> Option<(String, i32)> {
    let name = folder.file_name()?.to_str()?;
    if name == METADATA_FOLDER {
        return None;
    }
    let (topic, index) = name.rsplit_once('-')?;
    Some((topic.to_owned(), index.parse().ok().filter(|index| *index >= 0)?))
}

fn open_log(folder: &Path, config: &Config) -> Result<Log, StorageError> {
    let settings = LogConfig {
        segment_bytes: config.segment_bytes,
    };
    let (log, recovery) = Log::open(folder, settings, 0)?;
    if let Some(reason) = recovery.reason {
        info!(
            "{} was cut by {} bytes, and ends at {}: {reason}",
            folder.display(),
            recovery.cut_bytes,
            log.end_offset()
        );
    }
    Ok(log)
}

/// Batches of metadata that are applied before other events have their turn: some milliseconds.
const MAX_APPLIED: usize = 1024;

impl Broker {
    /// Applies what was committed since the last time; of much, a part, so that heartbeats go out in between.
    pub fn apply_metadata(&mut self) -> Result<(), Fatal> {
        if let Some(standing) = self.quorum.take_standing_change()
            && let Some(leader) = standing.leader
        {
            info!("controller {leader} is active in epoch {}", standing.epoch);
            self.report_now();
        }
        let mut changed = BTreeSet::new();
        self.behind = true;
        for _ in 0..MAX_APPLIED {
            let Some(next) = self.quorum.next_committed()? else {
                self.behind = false;
                break;
            };
            match next {
                Next::Batch(batch) => self.image.apply(&batch, &mut changed).map_err(Fatal::Quorum)?,
                Next::Snapshot(snapshot) => {
                    // Whatever was there may have changed, or gone.
                    changed.extend(self.image.partition_keys());
                    self.image = Image::new(&self.config.advertised.name);
                    for_each_record(&snapshot, |record| {
                        self.image.apply_record(record, &mut changed);
                        Ok(())
                    })?;
                    changed.extend(self.image.partition_keys());
                }
            }
        }
        if !self.active {
            // What is older than this registration may call the broker a leader that it no longer is.
            let own = self.image.broker(self.config.node_id).map(|broker| broker.epoch);
            if own.is_none() || own != self.registration.epoch {
                return Ok(());
            }
            self.active = true;
            self.report_now();
            changed = self.image.partition_keys();
            // Logs of partitions that went while this broker was away.
            changed.extend(self.found.keys());
        }
        // Folders first make room for topics of the same name.
        self.depart(&changed)?;
        for key in changed {
            self.apply_partition(key)?;
        }
        Ok(())
    }

    fn apply_partition(&mut self, key: Key) -> Result<(), Fatal> {
        let Some(state) = self.image.partition(key) else {
            return Ok(());
        };
        if !state.replicas.contains(&self.config.node_id) {
            return Ok(());
        }
        let metadata = state.replication();
        let settings = self.settings(key);
        self.ensure(key, settings)?;
        let now = self.clock.ms();
        let Some(partition) = self.partitions.get_mut(&key) else {
            return Ok(());
        };
        partition.replica.set_settings(settings);
        let transition = partition.metadata(&metadata, now, &self.image.brokers_view())?;
        let name = format!("{}-{}", partition.topic, key.1);
        self.grown.insert(key);
        match transition {
            Transition::Stale => {}
            Transition::Updated(effects) => self.effects(key, effects),
            Transition::BecameLeader {
                leader_epoch,
                start_offset,
                effects,
            } => {
                info!(
                    "{name}: leader of epoch {leader_epoch} from offset {start_offset}, ISR {:?}",
                    metadata.isr
                );
                self.effects(key, effects);
            }
            Transition::BecameFollower { leader, leader_epoch } => match leader {
                Some(leader) => info!("{name}: follower of {leader} in epoch {leader_epoch}"),
                None => info!("{name}: no leader in epoch {leader_epoch}"),
            },
        }
        Ok(())
    }

    /// The settings of a partition: its topic's, or the cluster's, or the node's.
    fn settings(&self, key: Key) -> Settings {
        let min_insync_replicas = self
            .image
            .min_insync_replicas(key.0)
            .unwrap_or(self.config.min_insync_replicas);
        Settings {
            min_insync_replicas: usize::try_from(min_insync_replicas).unwrap_or(1),
            replica_lag_time_max_ms: u64::try_from(self.config.replica_lag_time_max.as_millis())
                .unwrap_or(u64::MAX),
        }
    }

    /// Makes the partition, its folder included, unless there is one.
    fn ensure(&mut self, key: Key, settings: Settings) -> Result<(), StorageError> {
        if self.partitions.contains_key(&key) {
            return Ok(());
        }
        let Some(topic) = self.image.topic(key.0).map(|topic| topic.name.clone()) else {
            return Ok(());
        };
        let log = match self.found.remove(&key) {
            Some(found) => found.log,
            None => self.create_log(key, &topic)?,
        };
        let mark = self.checkpoint.offsets().get(&(topic.clone(), key.1)).copied();
        let high_watermark = offsets::clamp_high_watermark(mark, log.start_offset(), log.end_offset());
        let epoch = self.registration.epoch.unwrap_or(-1);
        let replica = Replica::new(self.config.node_id, epoch, settings, high_watermark);
        let partition = Partition::new(topic, log, replica, self.config.flush_interval_messages);
        self.partitions.insert(key, partition);
        Ok(())
    }

    /// Makes the folder, and says in it which topic it belongs to, all of it durable.
    fn create_log(&mut self, key: Key, topic: &str) -> Result<Log, StorageError> {
        let folder = self.config.log_dir.join(format!("{topic}-{}", key.1));
        let log = open_log(&folder, &self.config)?;
        partition_metadata::write(&folder.join(partition_metadata::FILE_NAME), key.0)?;
        Ok(log)
    }
}
