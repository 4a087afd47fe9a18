//! Time: how much has passed since the node began, which no step of the wall clock disturbs; and the wall
//! clock, for the timestamps of records alone.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The node's clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    began: Instant,
}

impl Clock {
    /// Begins now.
    pub fn start() -> Self {
        Self {
            began: Instant::now(),
        }
    }

    /// Milliseconds since the beginning.
    pub fn ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Nanoseconds since the beginning.
    pub fn nanos(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// When so many milliseconds will have passed since the beginning.
    pub fn at(&self, ms: u64) -> Instant {
        // A deadline that no clock can hold is a day away.
        self.began
            .checked_add(Duration::from_millis(ms))
            .unwrap_or(self.began + Duration::from_secs(86_400))
    }

    /// Milliseconds since 1970; 0 on a machine that thinks it is earlier.
    pub fn wall_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}
