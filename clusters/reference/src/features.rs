//! The features that a cluster of these nodes may have, and their levels.

/// A feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// Its name.
    pub name: &'static str,
    /// The least level that is supported.
    pub least: i16,
    /// The greatest.
    pub most: i16,
    /// The level of a new cluster.
    pub initial: i16,
}

/// The version of the metadata records: 4.0-IV1, the first with ELR, to 4.1-IV0.
pub const METADATA_VERSION: &str = "metadata.version";
/// Whether there are eligible leader replicas (KIP-966).
pub const ELR_VERSION: &str = "eligible.leader.replicas.version";

/// The version of the quorum's own protocol: 1 where voters may change (KIP-853). Not among
/// [`SUPPORTED`]: no metadata record says its level, a control record does.
pub const KRAFT_VERSION: Feature = Feature {
    name: "kraft.version",
    least: 0,
    most: 1,
    initial: 0,
};

/// Those whose levels stand in the metadata log.
pub const SUPPORTED: &[Feature] = &[
    Feature {
        name: METADATA_VERSION,
        least: 23,
        most: 26,
        initial: 26,
    },
    Feature {
        name: ELR_VERSION,
        least: 0,
        most: 1,
        initial: 1,
    },
];
