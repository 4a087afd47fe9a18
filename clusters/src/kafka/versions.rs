//! Kafka's versions: which can be run here, and what was meant by a word for one.

use super::Absent;
use std::fmt;

/// The version where none is asked for.
pub const VERSION: &str = "4.3.1";
/// The releases that were tried, the newest patch of each line that a repository served; others of 3.9 to 4.x are
/// fetched too.
pub const TRIED: [&str; 6] = ["3.9.2", "4.0.1", "4.1.2", "4.2.1", "4.3.1", "4.4.0"];

/// A version that somebody asked for: a release (`4.1.2`), or a line of releases (`4.1`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    line: (u32, u32),
    /// The rest, with its dot; none of a line.
    patch: Option<String>,
}

impl Asked {
    /// Reads one.
    ///
    /// # Errors
    /// Where it is none, or none of 3.9 to 4.x.
    pub fn read(text: &str) -> Result<Asked, Absent> {
        let refused = || Absent::Unsupported(text.to_owned());
        let mut parts = text.splitn(3, '.');
        let mut number = || parts.next()?.parse::<u32>().ok();
        let line = number().zip(number()).ok_or_else(refused)?;
        // It stands in a path and in XML; `-rc1` and `-SNAPSHOT` are fine.
        let patch = parts.next().map(str::to_owned);
        let sound = |patch: &str| {
            patch.starts_with(|first: char| first.is_ascii_digit())
                && patch
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || ".-".contains(c))
        };
        if !patch.as_deref().is_none_or(sound) || !supported(line) {
            return Err(refused());
        }
        Ok(Asked { line, patch })
    }

    /// Whether a release is the one, or of the line.
    pub fn agrees(&self, release: &str) -> bool {
        Asked::read(release)
            .is_ok_and(|other| other.line == self.line && (self.patch.is_none() || other.patch == self.patch))
    }

    /// The release to fetch: of a line the one that was tried, else its first.
    pub fn release(&self) -> String {
        let of_line = || TRIED.into_iter().find(|release| self.agrees(release));
        match (&self.patch, of_line()) {
            (None, Some(tried)) => tried.to_owned(),
            (None, None) => format!("{self}.0"),
            (Some(_), _) => self.to_string(),
        }
    }
}

/// 3.9 is the last with the old rules, and the first whose quorum may change its voters; before it a cluster without
/// ZooKeeper lacks too much.
fn supported((major, minor): (u32, u32)) -> bool {
    (major == 3 && minor >= 9) || major == 4
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.line.0, self.line.1)?;
        self.patch.iter().try_for_each(|patch| write!(f, ".{patch}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_releases_means_the_one_that_was_tried() {
        let release = |text: &str| Asked::read(text).unwrap().release();
        assert_eq!(release("4.1"), "4.1.2");
        assert_eq!(release("4.1.0"), "4.1.0");
        assert_eq!(release("4.9"), "4.9.0");
        assert_eq!(release("4.4.0-rc1"), "4.4.0-rc1");
        assert!(TRIED.contains(&VERSION));
        for tried in TRIED {
            assert_eq!(release(tried), tried);
        }
    }

    #[test]
    fn what_cannot_be_run_here_is_refused_with_what_can() {
        for wrong in [
            "", "4", "3.8.1", "2.8.0", "5.0.0", "../up", "4.1.", "4.1.x", "1<2", "4.1.2/..", "latest",
        ] {
            let refused = Asked::read(wrong).unwrap_err();
            assert_eq!(refused, Absent::Unsupported(wrong.into()));
            assert!(refused.to_string().contains("3.9.2, 4.0.1"), "{refused}");
        }
    }
}
