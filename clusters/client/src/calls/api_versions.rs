//! ApiVersions: what the server can do, and the finalised features.

use super::text;
use crate::connection::Connection;
use crate::error::{Cause, Error, SentBytes};
use crate::error_code::ErrorCode;
use crate::versions::{FeatureRange, ServerVersions, VersionRange};
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse};

const CALL: &str = "ApiVersions";

/// The first version with features; every server of the last years knows it.
const WITH_FEATURES: i16 = 3;

impl Connection {
    /// Asks what the server can do. [`Connection::connect`] has asked once; ask again for the features of now.
    ///
    /// # Errors
    /// Where there is no answer, or an error in it.
    pub async fn api_versions(&mut self) -> Result<ServerVersions, Error> {
        let request = ApiVersionsRequest::default()
            .with_client_software_name(text("ackall"))
            .with_client_software_version(text(env!("CARGO_PKG_VERSION")));
        let answer = self.call(CALL, WITH_FEATURES, &request, self.limit()).await?;
        match ErrorCode(answer.error_code).error() {
            None => Ok(versions(answer)),
            Some(code) => {
                let why = format!("it refuses version {WITH_FEATURES}: {code}");
                Err(self.failed(CALL, SentBytes::Yes, Cause::Malformed(why)))
            }
        }
    }
}

fn versions(answer: ApiVersionsResponse) -> ServerVersions {
    let calls = answer.api_keys.iter().map(|api| {
        (
            api.api_key,
            VersionRange {
                min: api.min_version,
                max: api.max_version,
            },
        )
    });
    let mut versions = ServerVersions {
        calls: calls.collect(),
        features_epoch: answer.finalized_features_epoch,
        ..ServerVersions::default()
    };
    for feature in answer.supported_features {
        let known = versions.features.entry(feature.name.to_string()).or_default();
        *known = FeatureRange {
            supported_min: feature.min_version,
            supported_max: feature.max_version,
            ..*known
        };
    }
    for feature in answer.finalized_features {
        versions
            .features
            .entry(feature.name.to_string())
            .or_default()
            .finalised = feature.max_version_level;
    }
    versions
}
