//! UpdateFeatures, for one feature.

use super::{ANY_VERSION, Administered, text};
use crate::connection::Connection;
use crate::error::Error;
use kafka_protocol::messages::UpdateFeaturesRequest;
use kafka_protocol::messages::update_features_request::FeatureUpdateKey;
use std::time::Duration;

const CALL: &str = "UpdateFeatures";
/// The first version that names the kind of an update, rather than whether it may lower the level.
const WITH_KINDS: i16 = 1;
const UPGRADE: i8 = 1;
const SAFE_DOWNGRADE: i8 = 2;

/// Which way a level may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureChange {
    /// Up.
    Raise,
    /// Down, where nothing is lost by it.
    Lower,
}

impl Connection {
    /// Changes a feature's level.
    ///
    /// # Errors
    /// Where there is no answer; the server's own error is in the answer.
    pub async fn update_feature(
        &mut self,
        feature: &str,
        level: i16,
        change: FeatureChange,
        timeout: Duration,
    ) -> Result<Administered, Error> {
        let version = self.version::<UpdateFeaturesRequest>(CALL, ANY_VERSION)?;
        let update = FeatureUpdateKey::default()
            .with_feature(text(feature))
            .with_max_version_level(level);
        let update = match (version, change) {
            (WITH_KINDS.., FeatureChange::Raise) => update.with_upgrade_type(UPGRADE),
            (WITH_KINDS.., FeatureChange::Lower) => update.with_upgrade_type(SAFE_DOWNGRADE),
            (_, change) => update.with_allow_downgrade(change == FeatureChange::Lower),
        };
        let request = UpdateFeaturesRequest::default()
            .with_feature_updates(vec![update])
            .with_timeout_ms(i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX));
        let answer = self.call(CALL, version, &request, timeout + self.limit()).await?;
        let of_feature = answer.results.into_iter().find(|result| result.error_code != 0);
        Ok(match of_feature {
            Some(result) => Administered::new(result.error_code, result.error_message),
            None => Administered::new(answer.error_code, answer.error_message),
        })
    }
}
