//! What a server can do, as its ApiVersions answer says.

use std::collections::BTreeMap;
use std::fmt;

/// Versions of a call, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionRange {
    /// The lowest.
    pub min: i16,
    /// The highest.
    pub max: i16,
}

impl VersionRange {
    /// The highest version in both ranges.
    pub fn highest_common(self, other: VersionRange) -> Option<i16> {
        let highest = self.max.min(other.max);
        (highest >= self.min.max(other.min)).then_some(highest)
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}

/// A feature that the server knows, and the level that the cluster has finalised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeatureRange {
    /// The lowest level the server supports.
    pub supported_min: i16,
    /// The highest level the server supports; 0 also where it does not say (Apache Kafka leaves features out
    /// here whose lowest level is 0, for this version of the call).
    pub supported_max: i16,
    /// The finalised level; 0 where none is finalised.
    pub finalised: i16,
}

/// A server's ApiVersions answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerVersions {
    /// The versions it takes, by the call's number.
    pub calls: BTreeMap<i16, VersionRange>,
    /// Its features.
    pub features: BTreeMap<String, FeatureRange>,
    /// The epoch (a metadata offset) of the finalised features; −1 where not known.
    pub features_epoch: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_common_version_is_taken() {
        let ours = VersionRange { min: 4, max: 18 };
        assert_eq!(ours.highest_common(VersionRange { min: 0, max: 12 }), Some(12));
        assert_eq!(ours.highest_common(VersionRange { min: 5, max: 30 }), Some(18));
        assert_eq!(ours.highest_common(VersionRange { min: 0, max: 3 }), None);
        assert_eq!(ours.highest_common(VersionRange { min: 19, max: 20 }), None);
    }
}
