//! What a program says of a file: one line of JSON.

use serde::{Deserialize, Serialize};

/// A file, measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// The file.
    pub file: String,
    /// pass, fail or unknown.
    pub verdict: String,
    /// Operations or transactions.
    pub operations: usize,
    /// Each round's time in seconds.
    pub times_s: Vec<f64>,
    /// The peak of resident memory less what was resident before.
    pub memory_bytes: u64,
}

impl Measured {
    /// The median time in seconds.
    pub fn median(&self) -> f64 {
        let mut times = self.times_s.clone();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
    }
}
