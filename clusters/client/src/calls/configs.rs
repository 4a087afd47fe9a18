//! IncrementalAlterConfigs and DescribeConfigs, for one resource.

use super::{ANY_VERSION, Administered, only, text};
use crate::connection::Connection;
use crate::error::Error;
use crate::error_code::ErrorCode;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use kafka_protocol::messages::{DescribeConfigsRequest, IncrementalAlterConfigsRequest};
use std::collections::BTreeMap;

const ALTER: &str = "IncrementalAlterConfigs";
const DESCRIBE: &str = "DescribeConfigs";
const SET: i8 = 0;
const DELETE: i8 = 1;

/// What can be configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigResource {
    /// A topic.
    Topic(String),
    /// One broker.
    Broker(i32),
    /// All brokers together.
    AllBrokers,
}

impl ConfigResource {
    /// The protocol's number for its type, and its name.
    fn named(&self) -> (i8, String) {
        match self {
            ConfigResource::Topic(name) => (2, name.clone()),
            ConfigResource::Broker(id) => (4, id.to_string()),
            ConfigResource::AllBrokers => (4, String::new()),
        }
    }
}

/// The answer to DescribeConfigs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedConfigs {
    /// NONE where the rest counts.
    pub error: ErrorCode,
    /// By key.
    pub configs: BTreeMap<String, DescribedConfig>,
}

/// The value of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedConfig {
    /// The value; none where the server keeps it to itself.
    pub value: Option<String>,
    /// Whether the resource itself sets it, rather than all brokers, the server's properties, or nobody.
    pub is_own: bool,
}

impl Connection {
    /// Sets keys to values, and removes those without one.
    ///
    /// # Errors
    /// Where there is no answer; the server's own error is in the answer.
    pub async fn alter_configs(
        &mut self,
        resource: &ConfigResource,
        configs: &BTreeMap<String, Option<String>>,
    ) -> Result<Administered, Error> {
        let version = self.version::<IncrementalAlterConfigsRequest>(ALTER, ANY_VERSION)?;
        let (kind, name) = resource.named();
        let configs = configs.iter().map(|(key, value)| {
            AlterableConfig::default()
                .with_name(text(key))
                .with_config_operation(if value.is_some() { SET } else { DELETE })
                .with_value(value.as_deref().map(text))
        });
        let altered = AlterConfigsResource::default()
            .with_resource_type(kind)
            .with_resource_name(text(&name))
            .with_configs(configs.collect());
        let request = IncrementalAlterConfigsRequest::default().with_resources(vec![altered]);
        let answer = self.call(ALTER, version, &request, self.limit()).await?;
        let altered = only(answer.responses).ok_or_else(|| self.lacks(ALTER, &name))?;
        Ok(Administered::new(altered.error_code, altered.error_message))
    }

    /// Asks for all keys of a resource.
    ///
    /// # Errors
    /// Where there is no answer; the server's own error is in the answer.
    pub async fn describe_configs(&mut self, resource: &ConfigResource) -> Result<DescribedConfigs, Error> {
        let version = self.version::<DescribeConfigsRequest>(DESCRIBE, ANY_VERSION)?;
        let (kind, name) = resource.named();
        // Where a value comes from: a topic's own, one broker's own, all brokers' own.
        let own = match resource {
            ConfigResource::Topic(_) => 1,
            ConfigResource::Broker(_) => 2,
            ConfigResource::AllBrokers => 3,
        };
        let asked = DescribeConfigsResource::default()
            .with_resource_type(kind)
            .with_resource_name(text(&name))
            .with_configuration_keys(None);
        let request = DescribeConfigsRequest::default().with_resources(vec![asked]);
        let answer = self.call(DESCRIBE, version, &request, self.limit()).await?;
        let described = only(answer.results).ok_or_else(|| self.lacks(DESCRIBE, &name))?;
        let configs = described.configs.into_iter().map(|config| {
            let described = DescribedConfig {
                value: config.value.map(|value| value.to_string()),
                is_own: config.config_source == own,
            };
            (config.name.to_string(), described)
        });
        Ok(DescribedConfigs {
            error: ErrorCode(described.error_code),
            configs: configs.collect(),
        })
    }
}
