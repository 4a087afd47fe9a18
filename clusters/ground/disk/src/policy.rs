//! Which of the states that a power cut may leave it leaves: a policy, a profile and a seed.
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Which states a cut may legally leave. Both are tracked all along, so the cut itself chooses.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// One journal: a sync of any file or folder commits all earlier names and lengths, and names are written back
    /// after [`crate::model::NAMES_WRITTEN_BACK_AFTER`].
    #[default]
    Ext4,
    /// A name is safe only once its own folder was synced, however long ago it changed. Data are as in ext4.
    PosixStrict,
}

/// Which of the legal states a cut leaves. All but the first two and the last draw by chance.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remainder {
    /// Nothing but what was synced (or written back by age).
    #[default]
    OnlySynced,
    /// All but the last write of each file, and the last change of names.
    AllButTheTail,
    /// Any subset of the un-synced pages, and any legal part of the names.
    RandomPages,
    /// Of each file the un-synced bytes up to some point, and any legal part of the names.
    RandomPrefix,
    /// As [`Remainder::RandomPages`]; and where a durable page was overwritten, some sectors are the old ones and some
    /// the new.
    Torn,
    /// Every name and length, no un-synced byte.
    NamesWithoutData,
    /// Every byte of the files that were there, no un-synced name.
    DataWithoutNames,
    /// All of it: as if nothing had been lost.
    Everything,
}

impl Profile {
    /// All of them, the default first.
    pub const ALL: &'static [Profile] = &[Profile::Ext4, Profile::PosixStrict];

    /// Its word in scenarios, histories and ledgers.
    pub fn word(self) -> &'static str {
        match self {
            Profile::Ext4 => "ext4",
            Profile::PosixStrict => "posix-strict",
        }
    }
}

impl Remainder {
    /// All of them, the default first.
    pub const ALL: &'static [Remainder] = &[
        Remainder::OnlySynced,
        Remainder::AllButTheTail,
        Remainder::RandomPages,
        Remainder::RandomPrefix,
        Remainder::Torn,
        Remainder::NamesWithoutData,
        Remainder::DataWithoutNames,
        Remainder::Everything,
    ];

    /// Its word in scenarios, histories and ledgers.
    pub fn word(self) -> &'static str {
        match self {
            Remainder::OnlySynced => "only-synced",
            Remainder::AllButTheTail => "all-but-the-tail",
            Remainder::RandomPages => "random-pages",
            Remainder::RandomPrefix => "random-prefix",
            Remainder::Torn => "torn",
            Remainder::NamesWithoutData => "names-without-data",
            Remainder::DataWithoutNames => "data-without-names",
            Remainder::Everything => "everything",
        }
    }
}

/// A word that is none of those wanted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("disk: {0:?} is unknown; one of {1} is wanted")]
pub struct UnknownWord(String, String);

pub(crate) fn known<T: Copy>(all: &[T], word: fn(T) -> &'static str, said: &str) -> Result<T, UnknownWord> {
    let found = all.iter().copied().find(|one| word(*one) == said);
    let words = || all.iter().map(|one| word(*one)).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| UnknownWord(said.into(), words()))
}

impl FromStr for Profile {
    type Err = UnknownWord;

    fn from_str(said: &str) -> Result<Profile, UnknownWord> {
        known(Profile::ALL, Profile::word, said)
    }
}

impl FromStr for Remainder {
    type Err = UnknownWord;

    fn from_str(said: &str) -> Result<Remainder, UnknownWord> {
        known(Remainder::ALL, Remainder::word, said)
    }
}

/// How a cut chooses what it leaves. The default leaves only what was synced, as ext4 would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Policy {
    /// Which of the legal states.
    pub remainder: Remainder,
    /// Which are legal.
    pub profile: Profile,
    /// For what is drawn by chance; each disk of a cut mixes its node's number in.
    pub seed: u64,
}

impl From<Remainder> for Policy {
    /// Of the default profile, with seed 0.
    fn from(remainder: Remainder) -> Policy {
        Policy {
            remainder,
            ..Policy::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_and_others_are_refused() {
        for one in Remainder::ALL {
            assert_eq!(one.word().parse(), Ok(*one));
            let json = serde_json::to_string(one).unwrap();
            assert_eq!(json, format!("{:?}", one.word()));
        }
        for one in Profile::ALL {
            assert_eq!(one.word().parse(), Ok(*one));
            assert_eq!(serde_json::to_string(one).unwrap(), format!("{:?}", one.word()));
        }
        let why = "half".parse::<Remainder>().unwrap_err().to_string();
        assert!(why.contains("half") && why.contains("random-prefix"), "{why}");
    }
}
