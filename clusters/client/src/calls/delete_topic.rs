//! DeleteTopics, for one topic.

use super::{ANY_VERSION, Administered, only, topic_name};
use crate::connection::Connection;
use crate::error::Error;
use kafka_protocol::messages::DeleteTopicsRequest;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use std::time::Duration;

const CALL: &str = "DeleteTopics";
/// The first version that names topics in a list of their own.
const WITH_STATES: i16 = 6;

impl Connection {
    /// Deletes a topic by its name.
    ///
    /// # Errors
    /// Where there is no answer; the server's own error is in the answer.
    pub async fn delete_topic(&mut self, topic: &str, timeout: Duration) -> Result<Administered, Error> {
        let version = self.version::<DeleteTopicsRequest>(CALL, ANY_VERSION)?;
        let request = DeleteTopicsRequest::default()
            .with_timeout_ms(i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX));
        let request = match version {
            WITH_STATES.. => request.with_topics(vec![
                DeleteTopicState::default().with_name(Some(topic_name(topic))),
            ]),
            _ => request.with_topic_names(vec![topic_name(topic)]),
        };
        let answer = self.call(CALL, version, &request, timeout + self.limit()).await?;
        let deleted = only(answer.responses).ok_or_else(|| self.lacks(CALL, topic))?;
        Ok(Administered::new(deleted.error_code, deleted.error_message))
    }
}
