//! What a check may use, and who is told how far it has come.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How far a check has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done, in a few words.
    pub doing: &'static str,
    /// Steps done.
    pub done: u64,
    /// Steps in all, where that is known; 0 otherwise.
    pub total: u64,
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// The time.
    Time(Duration),
    /// The memory, in bytes.
    Memory(u64),
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spent::Time(limit) => write!(f, "not decided within {:.1} s", limit.as_secs_f64()),
            Spent::Memory(limit) => write!(f, "not decided within {} MiB of memory", limit >> 20),
        }
    }
}

/// Time and memory that a check may use. Shared by all of its threads; searches ask it every so many steps.
///
/// Memory is what searches say that they hold ([`Budget::take`]), not what the operating system says of the process:
/// the parsed history is not in it.
pub struct Budget {
    began: Instant,
    time: Duration,
    memory: u64,
    held: AtomicU64,
    peak: AtomicU64,
    full: AtomicBool,
    told: Option<Box<dyn Fn(Progress) + Send + Sync>>,
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("time", &self.time)
            .field("memory", &self.memory)
            .field("held", &self.held)
            .finish_non_exhaustive()
    }
}

impl Budget {
    /// A budget that begins now.
    pub fn new(time: Duration, memory_bytes: u64) -> Budget {
        Budget {
            began: Instant::now(),
            time,
            memory: memory_bytes,
            held: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            full: AtomicBool::new(false),
            told: None,
        }
    }

    /// Without limits, for histories that are known to be easy.
    pub fn unlimited() -> Budget {
        Budget::new(Duration::MAX, u64::MAX)
    }

    /// Tells somebody how far the check has come. It may be called from any thread, and often.
    pub fn telling(mut self, told: impl Fn(Progress) + Send + Sync + 'static) -> Budget {
        self.told = Some(Box::new(told));
        self
    }

    /// Says how far the check has come.
    pub fn tell(&self, doing: &'static str, done: u64, total: u64) {
        if let Some(told) = &self.told {
            told(Progress { doing, done, total });
        }
    }

    /// The time since it began.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The time that is left.
    pub fn left(&self) -> Duration {
        self.time.saturating_sub(self.began.elapsed())
    }

    /// The memory that is left, in bytes.
    pub fn memory_left(&self) -> u64 {
        self.memory.saturating_sub(self.held.load(Ordering::Relaxed))
    }

    /// The limit that was reached, if one was.
    pub fn spent(&self) -> Option<Spent> {
        if self.full.load(Ordering::Relaxed) || self.held.load(Ordering::Relaxed) > self.memory {
            return Some(Spent::Memory(self.memory));
        }
        (self.began.elapsed() >= self.time).then_some(Spent::Time(self.time))
    }

    /// Says that the memory is spent: whoever watches the process sees what is held beside what searches say.
    pub fn memory_is_spent(&self) {
        self.full.store(true, Ordering::Relaxed);
    }

    /// Takes memory. It is counted even where it is more than was left: [`Budget::spent`] says so then.
    pub fn take(&self, bytes: u64) {
        let held = self.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(held, Ordering::Relaxed);
    }

    /// Gives memory back that was taken.
    pub fn give_back(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The most memory that was held at once, in bytes.
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}
