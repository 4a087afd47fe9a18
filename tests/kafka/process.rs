//! A process that goes when its owner goes, with what it says in a file.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::support::until;

/// How long a process that was told to stop may take.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// A running process; killed where it is dropped.
pub struct Process {
    child: Child,
    said: PathBuf,
}

impl Process {
    /// Starts one; what it says goes to `said`.
    pub fn start(mut command: Command, said: &Path) -> Process {
        let out = File::create(said).unwrap();
        let child = command
            .stdin(Stdio::null())
            .stderr(out.try_clone().unwrap())
            .stdout(out)
            .spawn()
            .unwrap_or_else(|why| panic!("starting {command:?}: {why}"));
        Process {
            child,
            said: said.to_owned(),
        }
    }

    /// Waits for its end; whether all was well, and what it said.
    pub fn wait(mut self, limit: Duration) -> (ExitStatus, String) {
        let what = format!("the end of a process that said {}", self.said());
        let status = until(&what, limit, || self.child.try_wait().unwrap());
        (status, self.said())
    }

    /// What it has said.
    pub fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.said).unwrap_or_default()).into_owned()
    }

    /// Has it stop by itself, and waits until it has.
    pub fn stop(self) -> (ExitStatus, String) {
        // Our own child, not yet waited for: its number is nobody else's.
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM).unwrap();
        self.wait(STOP_LIMIT)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only where it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
