//! What each kind of node serves, and nothing else is advertised.

use std::collections::BTreeMap;

use kafka_protocol::messages::api_versions_response::{ApiVersion, FinalizedFeatureKey, SupportedFeatureKey};
use kafka_protocol::messages::{ApiKey, ApiVersionsResponse};
use kafka_protocol::protocol::StrBytes;

use crate::features;

/// A call and the versions of it, both ends included.
type Entry = (ApiKey, i16, i16);

/// The calls of a listener.
#[derive(Debug, Clone, Copy)]
pub struct Catalogue(&'static [Entry]);

/// The first version of ApiVersions in which a feature's least level may be 0.
const FIRST_VERSION_WITH_LEVEL_0: i16 = 4;

/// What a broker serves.
pub const BROKER: Catalogue = Catalogue(&[
    (ApiKey::Produce, 3, 13),
    (ApiKey::Fetch, 4, 17),
    // Version 7 adds the offset of the greatest timestamp, which is not kept.
    (ApiKey::ListOffsets, 1, 6),
    (ApiKey::Metadata, 0, 13),
    (ApiKey::ApiVersions, 0, 4),
    (ApiKey::CreateTopics, 2, 7),
    (ApiKey::OffsetForLeaderEpoch, 2, 4),
    (ApiKey::DeleteTopics, 1, 6),
    (ApiKey::CreatePartitions, 0, 3),
    (ApiKey::ElectLeaders, 0, 2),
    (ApiKey::IncrementalAlterConfigs, 0, 1),
    (ApiKey::AlterPartitionReassignments, 0, 1),
    (ApiKey::ListPartitionReassignments, 0, 0),
    (ApiKey::UpdateFeatures, 0, 2),
    (ApiKey::UnregisterBroker, 0, 0),
    (ApiKey::DescribeConfigs, 1, 4),
    (ApiKey::DescribeQuorum, 0, 2),
    (ApiKey::DescribeCluster, 0, 2),
    (ApiKey::DescribeTopicPartitions, 0, 0),
    (ApiKey::AddRaftVoter, 0, 0),
    (ApiKey::RemoveRaftVoter, 0, 0),
]);

/// What a controller serves.
pub const CONTROLLER: Catalogue = Catalogue(&[
    (ApiKey::Fetch, 12, 18),
    (ApiKey::ApiVersions, 0, 4),
    (ApiKey::CreateTopics, 2, 7),
    (ApiKey::DeleteTopics, 1, 6),
    (ApiKey::CreatePartitions, 0, 3),
    (ApiKey::ElectLeaders, 0, 2),
    (ApiKey::IncrementalAlterConfigs, 0, 1),
    (ApiKey::AlterPartitionReassignments, 0, 1),
    (ApiKey::ListPartitionReassignments, 0, 0),
    (ApiKey::UpdateFeatures, 0, 2),
    (ApiKey::UnregisterBroker, 0, 0),
    (ApiKey::Vote, 0, 2),
    (ApiKey::BeginQuorumEpoch, 0, 1),
    (ApiKey::EndQuorumEpoch, 0, 1),
    (ApiKey::DescribeQuorum, 0, 2),
    // From version 1 on the request says which kind of node it means: controllers, here.
    (ApiKey::DescribeCluster, 1, 2),
    (ApiKey::AlterPartition, 2, 3),
    (ApiKey::BrokerRegistration, 0, 4),
    (ApiKey::BrokerHeartbeat, 0, 1),
    (ApiKey::FetchSnapshot, 0, 1),
    (ApiKey::ControllerRegistration, 0, 0),
    (ApiKey::AddRaftVoter, 0, 0),
    (ApiKey::RemoveRaftVoter, 0, 0),
    (ApiKey::UpdateRaftVoter, 0, 0),
]);

impl Catalogue {
    /// The call of that number, if it is served in that version.
    pub fn supports(self, key: i16, version: i16) -> Option<ApiKey> {
        self.0
            .iter()
            .find(|(known, from, to)| *known as i16 == key && (*from..=*to).contains(&version))
            .map(|(known, _, _)| *known)
    }

    /// As ApiVersions says it.
    pub fn api_versions(self) -> Vec<ApiVersion> {
        let entry = |(key, from, to): &Entry| {
            ApiVersion::default()
                .with_api_key(*key as i16)
                .with_min_version(*from)
                .with_max_version(*to)
        };
        self.0.iter().map(entry).collect()
    }

    /// The whole answer: the calls, the features that are supported, and those in force as of an offset of
    /// the metadata log. No metadata record tells the level of `kraft.version`.
    pub fn answer(
        self,
        version: i16,
        epoch: i64,
        levels: &BTreeMap<String, i16>,
        kraft_version: i16,
    ) -> ApiVersionsResponse {
        // Clients of earlier versions take a least level of 0 for nonsense.
        let told = |feature: &&features::Feature| feature.least > 0 || version >= FIRST_VERSION_WITH_LEVEL_0;
        let known = features::SUPPORTED.iter().chain([&features::KRAFT_VERSION]);
        let supported = known.filter(told).map(|feature| {
            SupportedFeatureKey::default()
                .with_name(StrBytes::from_static_str(feature.name))
                .with_min_version(feature.least)
                .with_max_version(feature.most)
        });
        let in_force = levels.iter().map(|(name, level)| (name.as_str(), *level));
        let in_force = in_force.chain([(features::KRAFT_VERSION.name, kraft_version)]);
        let finalized = in_force.filter(|(_, level)| *level > 0).map(|(name, level)| {
            FinalizedFeatureKey::default()
                .with_name(StrBytes::from_string(name.to_owned()))
                .with_max_version_level(level)
                .with_min_version_level(level)
        });
        ApiVersionsResponse::default()
            .with_api_keys(self.api_versions())
            .with_supported_features(supported.collect())
            .with_finalized_features_epoch(epoch)
            .with_finalized_features(finalized.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_advertised_can_be_coded() {
        for (key, from, to) in BROKER.0.iter().chain(CONTROLLER.0) {
            let codec = key.valid_versions();
            assert!(codec.min <= *from && from <= to && *to <= codec.max, "{key:?}");
        }
    }

    #[test]
    fn only_what_is_listed_is_supported() {
        assert_eq!(BROKER.supports(0, 3), Some(ApiKey::Produce));
        assert_eq!(BROKER.supports(0, 2), None);
        assert_eq!(BROKER.supports(52, 0), None);
        assert_eq!(CONTROLLER.supports(52, 0), Some(ApiKey::Vote));
    }
}
