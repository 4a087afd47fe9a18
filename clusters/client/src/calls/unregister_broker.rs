//! UnregisterBroker.

use super::{ANY_VERSION, Administered};
use crate::connection::Connection;
use crate::error::Error;
use kafka_protocol::messages::{BrokerId, UnregisterBrokerRequest};

const CALL: &str = "UnregisterBroker";

impl Connection {
    /// Removes a broker's registration.
    ///
    /// # Errors
    /// Where there is no answer; the server's own error is in the answer.
    pub async fn unregister_broker(&mut self, broker: i32) -> Result<Administered, Error> {
        let version = self.version::<UnregisterBrokerRequest>(CALL, ANY_VERSION)?;
        let request = UnregisterBrokerRequest::default().with_broker_id(BrokerId(broker));
        let answer = self.call(CALL, version, &request, self.limit()).await?;
        Ok(Administered::new(answer.error_code, answer.error_message))
    }
}
