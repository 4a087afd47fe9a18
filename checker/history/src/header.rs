//! The first line of a history: what was run, and what the run promised.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The first line of a history. A history can be judged from it and the entries alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`crate::SCHEMA`] of the writer.
    pub schema: u32,
    /// The version of `ackall` that wrote it.
    pub ackall_version: String,
    /// Wall-clock time at which the run's clock stood at zero, RFC 3339.
    pub started_at: String,
    /// The scenario's name.
    pub scenario: String,
    /// The seed of the plan.
    pub seed: u64,
    /// The system under test, `reference` for one.
    pub system: String,
    /// What the scenario promises about acknowledged records. Each is judged.
    pub promises: Vec<Promise>,
    /// What must have happened, or the run says nothing (verdict unknown).
    pub requirements: Vec<Requirement>,
    /// The topics whose records are judged.
    pub topics: Vec<TopicPlan>,
    /// The finalised feature levels that the plan asks for.
    #[serde(default)]
    pub features: BTreeMap<String, i16>,
    /// The properties that the plan gives every node; none where the writer did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<BTreeMap<String, String>>,
}

/// A topic of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopicPlan {
    /// Its name.
    pub name: String,
    /// How many partitions it has.
    pub partitions: i32,
    /// Replicas of each partition.
    pub replication_factor: i16,
    /// `min.insync.replicas` at its creation.
    pub min_insync_replicas: i32,
    /// Whether retention, compaction or DeleteRecords may move a log's start.
    #[serde(default)]
    pub log_start_may_move: bool,
}

/// A promise that a scenario may name; what acks=all means in it (`promise.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// Fewer than min ISR unclean shutdowns between two wholes lose nothing (KIP-966).
    #[serde(rename = "kip-966")]
    Kip966,
    /// No replica lost a byte of the partition, so nothing is lost, whatever the count.
    NoBytesLost,
    /// Each append is flushed, so any number of power cuts loses nothing.
    Fsync,
    /// The metadata quorum keeps what it committed.
    Quorum,
}

/// What a run must have met for its pass to mean anything. Steps are named by [`crate::Step`] entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Requirement {
    /// At least so many acks=all acknowledgements in all.
    Acks {
        /// The least count.
        at_least: u64,
    },
    /// At least so many completed before the step began.
    AcksBefore {
        /// The step's name.
        step: String,
        /// The least count.
        at_least: u64,
    },
    /// At least so many completed after one step began and before another did.
    AcksBetween {
        /// The earlier step.
        from: String,
        /// The later step.
        to: String,
        /// The least count.
        at_least: u64,
    },
    /// The named fault was applied, and took at least so many acknowledged records with it.
    AckedRecordsTaken {
        /// The fault's name.
        fault: String,
        /// The least count.
        at_least: u64,
    },
    /// The named fault was applied, and took no acknowledged record (each append was flushed).
    NoAckedRecordTaken {
        /// The fault's name.
        fault: String,
    },
    /// The named fault was applied at least so often.
    FaultApplied {
        /// The fault's name.
        fault: String,
        /// The least count.
        at_least: u64,
    },
}
