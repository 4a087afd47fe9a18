//! Errors that a person reads: what was tried, why it failed, what to do next; and the exit status.

pub use clusters::nearest;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::process::ExitCode;

/// The exit statuses of the command line; others rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// The run passed.
    Pass = 0,
    /// An anomaly inside the promise.
    Fail = 1,
    /// Neither can be said.
    Unknown = 2,
    /// The command line, a scenario, a property, a file name is wrong.
    Usage = 64,
    /// A history that cannot be read.
    Data = 65,
    /// This machine lacks what the run needs.
    Unavailable = 69,
    /// The harness itself failed.
    Internal = 70,
    /// Interrupted from the terminal.
    Interrupted = 130,
    /// Ended by SIGTERM, or by the terminal's closing.
    Terminated = 143,
}

impl Status {
    /// The status of this number, where there is one.
    pub fn from_code(code: u8) -> Option<Status> {
        use Status::*;
        [
            Pass,
            Fail,
            Unknown,
            Usage,
            Data,
            Unavailable,
            Internal,
            Interrupted,
            Terminated,
        ]
        .into_iter()
        .find(|status| *status as u8 == code)
    }

    /// The status of a run that this signal ended.
    pub fn of_signal(signal: i32) -> Status {
        const SIGINT: i32 = 2;
        if signal == SIGINT {
            Status::Interrupted
        } else {
            Status::Terminated
        }
    }

    /// The status of several runs in one command: interrupted if any, else 70 if any, else 1, 2, 0.
    pub fn worst(self, other: Status) -> Status {
        let rank = |status: Status| match status {
            Status::Pass => 0,
            Status::Unknown => 1,
            Status::Fail => 2,
            Status::Usage | Status::Data | Status::Unavailable => 3,
            Status::Internal => 4,
            Status::Interrupted | Status::Terminated => 5,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        ExitCode::from(status as u8)
    }
}

/// An error in three lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error {
    /// The exit status.
    pub status: Status,
    /// What was tried.
    pub what: String,
    /// Why it failed.
    pub why: String,
    /// What to do next.
    pub next: String,
}

impl Error {
    /// An error of the given status.
    pub fn new(
        status: Status,
        what: impl Into<String>,
        why: impl fmt::Display,
        next: impl Into<String>,
    ) -> Error {
        // A cause of several lines is one line here: the form is three lines.
        let why = why.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        Error {
            status,
            what: what.into(),
            why,
            next: next.into(),
        }
    }

    /// A wrong command line, scenario, property or file name.
    pub fn usage(what: impl Into<String>, why: impl fmt::Display, next: impl Into<String>) -> Error {
        Error::new(Status::Usage, what, why, next)
    }

    /// A failure of the harness itself.
    pub fn internal(what: impl Into<String>, why: impl fmt::Display, next: impl Into<String>) -> Error {
        Error::new(Status::Internal, what, why, next)
    }

    /// The JSON form: `{"error": {"code", "message", "help"}}`.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({"error": {
            "code": self.status as u8,
            "message": format!("{}: {}", self.what, self.why),
            "help": self.next,
        }})
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "error: {}\n  why: {}\n  next: {}",
            self.what, self.why, self.next
        )
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_three_lines_whatever_its_cause() {
        let text = Error::usage("reading x", "line one\n  line two", "write y").to_string();
        assert_eq!(
            text,
            "error: reading x\n  why: line one line two\n  next: write y"
        );
    }

    #[test]
    fn signals_have_their_statuses() {
        assert_eq!(
            [2, 15, 1].map(|signal| Status::of_signal(signal) as u8),
            [130, 143, 143]
        );
    }

    #[test]
    fn several_runs_end_with_the_worst() {
        use Status::*;
        assert_eq!(Pass.worst(Unknown).worst(Fail), Fail);
        assert_eq!(Internal.worst(Fail), Internal);
        assert_eq!(Pass.worst(Pass), Pass);
    }
}
