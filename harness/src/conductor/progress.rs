//! One line a step on standard error, also without a terminal.

/// Where progress goes.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Whether lines are printed at all.
    pub shown: bool,
}

impl Progress {
    /// A line.
    pub fn line(&self, text: &str) {
        if self.shown {
            // The terminal may be gone; the run goes on until a signal says otherwise.
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }
}
