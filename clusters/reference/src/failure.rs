//! How a command fails: what was tried, why it failed, what to do next; one line each.

use std::fmt;
use std::process::ExitCode;

/// The command was misused: a bad argument, a bad configuration.
const USAGE: u8 = 64;
/// Anything else.
const OTHER: u8 = 1;

/// Why a command ended badly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    what: String,
    why: String,
    next: String,
    status: u8,
}

impl Failure {
    /// A misuse of the command line or of a configuration.
    pub fn usage(what: impl Into<String>, why: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            why: why.into(),
            next: next.into(),
            status: USAGE,
        }
    }

    /// Anything else: a disk that refuses, an address in use.
    pub fn other(what: impl Into<String>, why: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            status: OTHER,
            ..Self::usage(what, why, next)
        }
    }

    /// The exit status of the process.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.status)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}\n{}", self.what, self.why, self.next)
    }
}

impl std::error::Error for Failure {}
