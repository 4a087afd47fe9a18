//! How what a node writes comes to its disk: at once, or through the cache of the node's kernel.
use crate::policy::{UnknownWord, known};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// How a disk is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Every write call comes at once, and its answer is the call's: an error or a delay of a single write is felt by
    /// it, and when it was written is known.
    #[default]
    WriteThrough,
    /// The node's kernel keeps written pages, and writes them when it likes, at a sync, a close or the mount's end: an
    /// error is met there, and slowness too. Lengths and times of modification are the kernel's. What comes after the
    /// power went counts as un-synced, as late pages of shared mappings do in either mode.
    WriteBack,
}

impl Mode {
    /// Both, the default first.
    pub const ALL: &'static [Mode] = &[Mode::WriteThrough, Mode::WriteBack];

    /// Its word on command lines and in messages.
    pub fn word(self) -> &'static str {
        match self {
            Mode::WriteThrough => "write-through",
            Mode::WriteBack => "write-back",
        }
    }
}

impl FromStr for Mode {
    type Err = UnknownWord;

    fn from_str(said: &str) -> Result<Mode, UnknownWord> {
        known(Mode::ALL, Mode::word, said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_and_others_are_refused() {
        for one in Mode::ALL {
            assert_eq!(one.word().parse(), Ok(*one));
            assert_eq!(serde_json::to_string(one).unwrap(), format!("{:?}", one.word()));
        }
        let why = "fast".parse::<Mode>().unwrap_err().to_string();
        assert!(why.contains("fast") && why.contains("write-back"), "{why}");
    }
}
