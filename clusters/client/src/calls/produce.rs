//! Produce, for one record in one batch to one partition.

use super::{ANY_VERSION, TopicRef, only};
use crate::batch;
use crate::connection::Connection;
use crate::error::{Cause, Error, SentBytes};
use crate::error_code::ErrorCode;
use bytes::Bytes;
use kafka_protocol::messages::ProduceRequest;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use std::time::Duration;

const CALL: &str = "Produce";
/// The last version that names topics; from the next one on they go by id.
const BY_NAME: i16 = 12;
/// How long the server's own REQUEST_TIMED_OUT may take to arrive before the client gives up without it.
const ANSWER_GRACE: Duration = Duration::from_millis(250);

/// Whose acknowledgement is asked for. None at all (0) is not offered: nothing could be judged by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Acks {
    /// The in-sync replicas': −1.
    #[default]
    All,
    /// The leader's alone: 1.
    Leader,
}

impl Acks {
    /// The protocol's number.
    pub fn number(self) -> i16 {
        match self {
            Acks::All => -1,
            Acks::Leader => 1,
        }
    }
}

/// One record to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Produce {
    /// The topic.
    pub topic: TopicRef,
    /// The partition.
    pub partition: i32,
    /// Whose acknowledgement is asked for.
    pub acks: Acks,
    /// How long the server may wait for the in-sync replicas.
    pub timeout: Duration,
    /// The record's timestamp, milliseconds since 1970.
    pub timestamp_ms: i64,
    /// The record's value.
    pub value: Bytes,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Produced {
    /// NONE where it is acknowledged.
    pub error: ErrorCode,
    /// The offset it was given, where the answer says.
    pub offset: Option<i64>,
    /// What the server adds to the error.
    pub message: Option<String>,
}

impl Connection {
    /// Sends one record. The answer is waited for a moment longer than the server may take.
    ///
    /// # Errors
    /// Where there is no answer; the server's own error is in the answer.
    pub async fn produce(&mut self, produce: &Produce) -> Result<Produced, Error> {
        let at_most = if produce.topic.id.is_nil() {
            BY_NAME
        } else {
            ANY_VERSION
        };
        let version = self.version::<ProduceRequest>(CALL, at_most)?;
        let batch = batch::encode_one(produce.value.clone(), produce.timestamp_ms)
            .map_err(|why| self.failed(CALL, SentBytes::No, Cause::Encode(why)))?;
        let request = request(produce, batch, version);
        let answer = self
            .call(CALL, version, &request, produce.timeout + ANSWER_GRACE)
            .await?;
        only(answer.responses)
            .and_then(|topic| only(topic.partition_responses))
            .filter(|found| found.index == produce.partition)
            .map(|found| Produced {
                error: ErrorCode(found.error_code),
                offset: (found.error_code == 0 && found.base_offset >= 0).then_some(found.base_offset),
                message: found.error_message.map(|message| message.to_string()),
            })
            .ok_or_else(|| self.lacks(CALL, &format!("{}-{}", produce.topic.name, produce.partition)))
    }
}

fn request(produce: &Produce, batch: Bytes, version: i16) -> ProduceRequest {
    let partition = PartitionProduceData::default()
        .with_index(produce.partition)
        .with_records(Some(batch));
    let mut topic = TopicProduceData::default().with_partition_data(vec![partition]);
    if version > BY_NAME {
        topic = topic.with_topic_id(produce.topic.id);
    } else {
        topic = topic.with_name(produce.topic.topic_name());
    }
    ProduceRequest::default()
        .with_acks(produce.acks.number())
        .with_timeout_ms(i32::try_from(produce.timeout.as_millis()).unwrap_or(i32::MAX))
        .with_topic_data(vec![topic])
}
