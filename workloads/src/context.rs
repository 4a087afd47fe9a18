//! What all workloads of a run share.

use client::Cluster;
use history::Recorder;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a workload runs in.
#[derive(Clone)]
pub struct Context {
    /// The cluster, as its clients reach it.
    pub cluster: Arc<Cluster>,
    /// The run's history.
    pub recorder: Arc<Recorder>,
    /// The run's process numbers.
    pub processes: Processes,
    /// The seed of the workload's streams.
    pub seed: u64,
}

/// Gives out process numbers, each once. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct Processes(Arc<AtomicU64>);

impl Processes {
    /// From 0.
    pub fn new() -> Processes {
        Processes::default()
    }

    /// The next number.
    pub fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Why a workload ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The plan cannot be carried out.
    #[error("the workload's plan is wrong: {0}")]
    Plan(String),
    /// The history takes no more entries.
    #[error("the history cannot be written: {0}; is the disk full?")]
    Recorder(#[from] io::Error),
    /// A bug of the workload.
    #[error("a client's task died: {0}")]
    Died(String),
}
