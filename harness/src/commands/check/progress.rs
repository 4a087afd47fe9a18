//! How far a check has come, on standard error: from the first second on, on a terminal in one line that is written
//! over, else a line now and then.

use checker::Progress;
use results::grouped;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Nothing is told before this: most checks are over by then.
const SILENT: Duration = Duration::from_secs(1);
/// Between two lines on a terminal, and elsewhere.
const EVERY: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));
/// Back to the line's beginning, and nothing behind it.
const OVER: &str = "\r\u{1b}[K";

/// Who tells how far a check has come.
pub struct Teller {
    began: Instant,
    next: Instant,
    terminal: bool,
    silent: bool,
    told: bool,
}

impl Teller {
    /// Tells from now on, unless it is to be silent.
    pub fn new(silent: bool) -> Teller {
        let began = Instant::now();
        Teller {
            began,
            next: began + SILENT,
            terminal: stderr().is_terminal(),
            silent,
            told: false,
        }
    }

    /// Tells, where it is time to.
    pub fn tell(&mut self, bytes: u64, total: u64, progress: Option<Progress>) {
        let now = Instant::now();
        if self.silent || now < self.next {
            return;
        }
        self.next = now + if self.terminal { EVERY.0 } else { EVERY.1 };
        self.told = true;
        let line = line(now - self.began, bytes, total, progress);
        // Where nobody can read it the check goes on.
        let _ = if self.terminal {
            write!(stderr(), "{OVER}{line}")
        } else {
            writeln!(stderr(), "{line}")
        };
    }

    /// Nothing is left of it on a terminal.
    pub fn end(&self) {
        if self.told && self.terminal {
            let _ = write!(stderr(), "{OVER}");
        }
    }
}

fn line(after: Duration, bytes: u64, total: u64, progress: Option<Progress>) -> String {
    let mib = |bytes: u64| grouped(bytes >> 20);
    let read = if total > bytes {
        format!("read {} of {} MiB", mib(bytes), mib(total))
    } else {
        format!("read {} MiB", mib(bytes))
    };
    let doing = match progress {
        None => String::new(),
        Some(Progress {
            doing,
            done,
            total: 0,
        }) => format!(" · {doing}: {}", grouped(done)),
        Some(Progress { doing, done, total }) => {
            format!(" · {doing}: {} of {}", grouped(done), grouped(total))
        }
    };
    format!("{} s · {read}{doing}", after.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_known() {
        let after = Duration::from_secs(3);
        assert_eq!(line(after, 5 << 20, 10 << 20, None), "3 s · read 5 of 10 MiB");
        let progress = Progress {
            doing: "keys",
            done: 2,
            total: 1204,
        };
        assert_eq!(
            line(after, 10 << 20, 0, Some(progress)),
            "3 s · read 10 MiB · keys: 2 of 1,204"
        );
    }
}
