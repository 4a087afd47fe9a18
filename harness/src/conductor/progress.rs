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

/// A number as people read it: 1,204.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_grouped() {
        assert_eq!(super::grouped(0), "0");
        assert_eq!(super::grouped(204), "204");
        assert_eq!(super::grouped(1204), "1,204");
        assert_eq!(super::grouped(1234567), "1,234,567");
    }
}
