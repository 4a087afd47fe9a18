//! DescribeConfigs: what is configured, and where that comes from.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use kafka_protocol::messages::{DescribeConfigsRequest, DescribeConfigsResponse};
use kafka_protocol::protocol::StrBytes;

use super::Broker;
use super::image::{BROKER_RESOURCE, MIN_INSYNC_REPLICAS, TOPIC_RESOURCE};

/// The topic configuration that allows unclean elections.
const UNCLEAN_LEADER_ELECTION: &str = "unclean.leader.election.enable";
/// What can be configured while the cluster runs, with the type's number in answers.
const CONFIGURATIONS: [(&str, i8); 2] = [(MIN_INSYNC_REPLICAS, INT), (UNCLEAN_LEADER_ELECTION, BOOLEAN)];
/// Types of values.
const BOOLEAN: i8 = 1;
const INT: i8 = 3;
/// Where a value comes from.
const TOPIC: i8 = 1;
const ALL_BROKERS: i8 = 3;
const SERVER_PROPERTIES: i8 = 4;

impl Broker {
    /// The configurations of topics and brokers, as this broker goes by them.
    pub fn describe_configs(&self, request: &DescribeConfigsRequest) -> DescribeConfigsResponse {
        let results = request.resources.iter().map(|resource| {
            let result = DescribeConfigsResult::default()
                .with_resource_type(resource.resource_type)
                .with_resource_name(resource.resource_name.clone());
            match self.describe_config(resource, request.include_synonyms) {
                Ok(configs) => result.with_configs(configs),
                Err((error, why)) => result
                    .with_error_code(error.code())
                    .with_error_message(Some(StrBytes::from_string(why))),
            }
        });
        DescribeConfigsResponse::default().with_results(results.collect())
    }

    fn describe_config(
        &self,
        resource: &DescribeConfigsResource,
        with_synonyms: bool,
    ) -> Result<Vec<DescribeConfigsResourceResult>, (ResponseError, String)> {
        let name = resource.resource_name.as_str();
        // Each place where a value may be, the one that counts first.
        let (topic, with_properties) = match resource.resource_type {
            TOPIC_RESOURCE if self.image.topic_named(name).is_none() => {
                let why = format!("there is no topic {name:?}");
                return Err((ResponseError::UnknownTopicOrPartition, why));
            }
            TOPIC_RESOURCE => (Some(name), true),
            BROKER_RESOURCE if name.is_empty() => (None, false),
            BROKER_RESOURCE if name == self.config.node_id.to_string() => (None, true),
            kind => {
                let why = format!(
                    "resource {name:?} of type {kind}: topics, all brokers together, and broker {} can be described here",
                    self.config.node_id
                );
                return Err((ResponseError::InvalidRequest, why));
            }
        };
        let asked = |key: &str| match &resource.configuration_keys {
            Some(keys) => keys.iter().any(|it| it.as_str() == key),
            None => true,
        };
        let described = CONFIGURATIONS
            .iter()
            .filter(|(key, _)| asked(key))
            .filter_map(|(key, kind)| {
                let of_topic = topic.and_then(|topic| self.image.config(TOPIC_RESOURCE, topic, key));
                let places = [
                    of_topic.map(|value| (value.to_owned(), TOPIC)),
                    self.image
                        .config(BROKER_RESOURCE, "", key)
                        .map(|value| (value.to_owned(), ALL_BROKERS)),
                    with_properties.then(|| (self.property(key), SERVER_PROPERTIES)),
                ];
                let synonyms = places.into_iter().flatten().map(|(value, source)| {
                    DescribeConfigsSynonym::default()
                        .with_name(StrBytes::from_static_str(key))
                        .with_value(Some(StrBytes::from_string(value)))
                        .with_source(source)
                });
                let synonyms: Vec<_> = synonyms.collect();
                let first = synonyms.first()?.clone();
                let result = DescribeConfigsResourceResult::default()
                    .with_name(first.name)
                    .with_value(first.value)
                    .with_config_source(first.source)
                    .with_config_type(*kind);
                Some(match with_synonyms {
                    true => result.with_synonyms(synonyms),
                    false => result,
                })
            });
        Ok(described.collect())
    }

    fn property(&self, key: &str) -> String {
        match key {
            MIN_INSYNC_REPLICAS => self.config.min_insync_replicas.to_string(),
            _ => self.config.unclean_leader_election.to_string(),
        }
    }
}
