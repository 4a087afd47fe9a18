//! The levels of features that a cluster begins with.

use std::collections::{BTreeMap, BTreeSet};

use crate::failure::Failure;
use crate::features::{self, Feature, KRAFT_VERSION};

/// Levels of features, by name, as asked for and else the usual ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Levels {
    /// Those that stand in the metadata log.
    levels: BTreeMap<String, i16>,
    /// `kraft.version`, where it was asked for: the quorum's own, and not among the records of features.
    kraft_version: Option<i16>,
}

const FEATURE_FORM: &str =
    "Write --feature NAME=LEVEL, for example --feature eligible.leader.replicas.version=1.";

/// The levels a cluster begins with: those asked for, and the usual ones of the others.
///
/// # Errors
/// When a feature is unknown, or named twice, or a level is not supported.
pub fn features(asked: &[String]) -> Result<Levels, Failure> {
    let mut levels = Levels {
        levels: features::SUPPORTED
            .iter()
            .map(|feature| (feature.name.to_owned(), feature.initial))
            .collect(),
        kraft_version: None,
    };
    let mut named = BTreeSet::new();
    for text in asked {
        let (feature, level) = one(text)?;
        if !named.insert(feature.name) {
            return Err(Failure::usage(
                format!("Cannot use --feature {text}."),
                format!("A level of {} was asked for before.", feature.name),
                "Name each feature once.",
            ));
        }
        if feature.name == KRAFT_VERSION.name {
            levels.kraft_version = Some(level);
        } else {
            levels.levels.insert(feature.name.to_owned(), level);
        }
    }
    Ok(levels)
}

fn one(text: &str) -> Result<(&'static Feature, i16), Failure> {
    let what = format!("Cannot use --feature {text}.");
    let (name, level) = text
        .split_once('=')
        .ok_or_else(|| Failure::usage(&what, "It is not of the form NAME=LEVEL.", FEATURE_FORM))?;
    let known = || features::SUPPORTED.iter().chain([&KRAFT_VERSION]);
    let feature = known().find(|feature| feature.name == name).ok_or_else(|| {
        let known: Vec<&str> = known().map(|feature| feature.name).collect();
        Failure::usage(
            &what,
            format!("There is no feature '{name}'."),
            format!("There are: {}.", known.join(", ")),
        )
    })?;
    let level = level
        .parse::<i16>()
        .ok()
        .filter(|level| (feature.least..=feature.most).contains(level))
        .ok_or_else(|| {
            let why = format!("Its levels are {} to {}.", feature.least, feature.most);
            Failure::usage(&what, why, FEATURE_FORM)
        })?;
    Ok((feature, level))
}

impl Levels {
    /// Of these records.
    pub(super) fn of(levels: BTreeMap<String, i16>) -> Self {
        Self {
            levels,
            kraft_version: None,
        }
    }

    /// The level of a feature.
    pub fn get(&self, name: &str) -> Option<i16> {
        self.levels.get(name).copied()
    }

    /// Each with its name, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i16)> {
        self.levels.iter().map(|(name, level)| (name.as_str(), *level))
    }

    /// These, if what was asked of `kraft.version` fits how the configuration names the quorum.
    pub(super) fn checked(&self, what: &str, dynamic: bool) -> Result<Self, Failure> {
        let fitting = i16::from(dynamic);
        match self.kraft_version {
            Some(asked) if asked != fitting => Err(Failure::usage(
                what,
                format!(
                    "kraft.version={asked} was asked for, and the configuration names {}.",
                    if dynamic {
                        "whom to ask for voters that may change (controller.quorum.bootstrap.servers)"
                    } else {
                        "voters that are fixed (controller.quorum.voters)"
                    }
                ),
                format!("Leave --feature kraft.version out, or say {fitting}, or change the configuration."),
            )),
            _ => Ok(self.clone()),
        }
    }
}

impl IntoIterator for Levels {
    type Item = (String, i16);
    type IntoIter = std::collections::btree_map::IntoIter<String, i16>;

    fn into_iter(self) -> Self::IntoIter {
        self.levels.into_iter()
    }
}
