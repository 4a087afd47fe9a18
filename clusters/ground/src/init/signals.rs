//! Signals to the node's processes, and whether they took.
//!
//! `kill(-1)` of a PID 1 reaches every process of its PID namespace but itself.

use std::fs;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal as UnixSignal, kill};
use nix::unistd::Pid;

use super::Init;
use crate::api::{Signal, Signalled};
use crate::sys;

/// How long a signal may take to take.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two looks at the processes' states. Stopping takes well below a millisecond.
const LOOK_AGAIN: Duration = Duration::from_micros(200);

impl Init {
    pub fn signal(&mut self, signal: Signal) -> Result<Signalled, String> {
        let number = match signal {
            Signal::Terminate => return self.terminate(),
            Signal::Kill => UnixSignal::SIGKILL,
            Signal::Stop => UnixSignal::SIGSTOP,
            Signal::Continue => UnixSignal::SIGCONT,
        };
        if let (Signal::Kill, Some(running)) = (signal, &mut self.running) {
            running.killed = true;
        }
        let at_ns = sys::monotonic_ns();
        match kill(Pid::from_raw(-1), number) {
            // No process but init: nothing to reach.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => return Err(format!("kill: {error}")),
        }
        Ok(Signalled {
            at_ns,
            took_at_ns: self.await_effect(signal),
        })
    }

    fn terminate(&self) -> Result<Signalled, String> {
        let running = self.running.as_ref().ok_or("no program runs on it")?;
        let at_ns = sys::monotonic_ns();
        // Not reaped, so the id is its own.
        kill(running.pid, UnixSignal::SIGTERM).map_err(|error| format!("kill: {error}"))?;
        Ok(Signalled {
            at_ns,
            took_at_ns: None,
        })
    }

    /// When the signal was seen to have taken.
    fn await_effect(&mut self, signal: Signal) -> Option<u64> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let took = match signal {
                Signal::Terminate => return None,
                Signal::Kill => !self.reap(),
                Signal::Stop => self.states()?.iter().all(|state| "TtZX".contains(*state)),
                Signal::Continue => self.states()?.iter().all(|state| *state != 'T'),
            };
            if took {
                return Some(sys::monotonic_ns());
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// The state letter of each process of the node but init; None where /proc is not the node's own.
    fn states(&self) -> Option<Vec<char>> {
        if !self.own_proc {
            return None;
        }
        // One that ended meanwhile has no state.
        Some(
            pids()
                .into_iter()
                .filter_map(|pid| state(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?))
                .collect(),
        )
    }
}

/// The node's processes but init, where /proc is the node's own.
pub fn pids() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != 1)
        .collect()
}

/// The state in a line of /proc/PID/stat: after the name, which may hold anything, brackets included.
pub fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

#[cfg(test)]
mod tests {
    use super::state;

    #[test]
    fn a_name_with_brackets_hides_no_state() {
        assert_eq!(state("7 (sh) S 1 7 7"), Some('S'));
        assert_eq!(state("7 (a) T (b) R) T 1 7 7"), Some('T'));
        assert_eq!(state(""), None);
    }
}
