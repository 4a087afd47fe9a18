//! A client of a few calls, blocking.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::describe_topic_partitions_request::TopicRequest;
use kafka_protocol::messages::describe_topic_partitions_response::DescribeTopicPartitionsResponsePartition;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::produce_response::PartitionProduceResponse;
use kafka_protocol::messages::{
    BrokerId, CreateTopicsRequest, DescribeTopicPartitionsRequest, FetchRequest, ListOffsetsRequest,
    ProduceRequest, RequestHeader, ResponseHeader, TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use storage::{BatchBuilder, Batches, Records};
use uuid::Uuid;

/// A connection.
pub struct Client {
    stream: TcpStream,
    correlation: i32,
}

/// A name, as the protocol has it.
pub fn name(text: &str) -> TopicName {
    TopicName(StrBytes::from_string(text.to_owned()))
}

impl Client {
    /// Connects, if there is anybody.
    pub fn connect(address: SocketAddr) -> Option<Self> {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(8))).ok()?;
        stream.set_nodelay(true).ok()?;
        Some(Self {
            stream,
            correlation: 0,
        })
    }

    /// Sends bytes as they are.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Whether the other side closes the connection.
    pub fn is_closed(&mut self) -> bool {
        matches!(self.stream.read(&mut [0; 16]), Ok(0) | Err(_))
    }

    /// A frame's content.
    pub fn read_frame(&mut self) -> Option<Bytes> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).ok()?;
        let mut content = vec![0; u32::from_be_bytes(length) as usize];
        self.stream.read_exact(&mut content).ok()?;
        Some(content.into())
    }

    /// Asks, and waits for the answer.
    pub fn call<R: Request>(&mut self, version: i16, request: &R) -> Option<R::Response> {
        self.correlation += 1;
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_correlation_id(self.correlation);
        let mut frame = BytesMut::zeroed(4);
        header.encode(&mut frame, R::header_version(version)).unwrap();
        request.encode(&mut frame, version).unwrap();
        let length = (frame.len() - 4) as u32;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        self.stream.write_all(&frame).ok()?;
        let mut answer = self.read_frame()?;
        let header = ResponseHeader::decode(&mut answer, R::Response::header_version(version)).unwrap();
        assert_eq!(header.correlation_id, self.correlation);
        Some(R::Response::decode(&mut answer, version).unwrap())
    }

    /// Creates a topic of one partition; its error.
    pub fn create_topic(
        &mut self,
        topic: &str,
        replicas: &[i32],
        configs: &[(&str, &str)],
    ) -> Option<(i16, Uuid)> {
        let assignment = CreatableReplicaAssignment::default()
            .with_partition_index(0)
            .with_broker_ids(replicas.iter().copied().map(BrokerId).collect());
        let configs = configs.iter().map(|(key, value)| {
            CreatableTopicConfig::default()
                .with_name(StrBytes::from_string(key.to_string()))
                .with_value(Some(StrBytes::from_string(value.to_string())))
        });
        let topic = CreatableTopic::default()
            .with_name(name(topic))
            .with_num_partitions(-1)
            .with_replication_factor(-1)
            .with_assignments(vec![assignment])
            .with_configs(configs.collect());
        let request = CreateTopicsRequest::default()
            .with_topics(vec![topic])
            .with_timeout_ms(2_000);
        let answer = self.call(7, &request)?;
        Some((answer.topics[0].error_code, answer.topics[0].topic_id))
    }

    /// Appends records to partition 0.
    pub fn produce(&mut self, topic: &str, acks: i16, values: &[&str]) -> Option<PartitionProduceResponse> {
        let mut batch = BatchBuilder::new(1_000);
        for value in values {
            batch.push(None, Some(value.as_bytes()), &[]).unwrap();
        }
        self.produce_bytes(topic, acks, batch.build(0, -1).unwrap())
    }

    /// Appends bytes to partition 0.
    pub fn produce_bytes(
        &mut self,
        topic: &str,
        acks: i16,
        records: Bytes,
    ) -> Option<PartitionProduceResponse> {
        let data = PartitionProduceData::default().with_records(Some(records));
        let topic = TopicProduceData::default()
            .with_name(name(topic))
            .with_partition_data(vec![data]);
        let request = ProduceRequest::default()
            .with_acks(acks)
            .with_timeout_ms(3_000)
            .with_topic_data(vec![topic]);
        let answer = self.call(9, &request)?;
        Some(answer.responses[0].partition_responses[0].clone())
    }

    /// Fetches partition 0.
    pub fn fetch(&mut self, topic: &str, offset: i64, epoch: i32, max_wait_ms: i32) -> Option<PartitionData> {
        let partition = FetchPartition::default()
            .with_fetch_offset(offset)
            .with_current_leader_epoch(epoch)
            .with_partition_max_bytes(1 << 20);
        let topic = FetchTopic::default()
            .with_topic(name(topic))
            .with_partitions(vec![partition]);
        let request = FetchRequest::default()
            .with_replica_id(BrokerId(-1))
            .with_max_wait_ms(max_wait_ms)
            .with_min_bytes(1)
            .with_max_bytes(1 << 20)
            .with_topics(vec![topic]);
        let answer = self.call(12, &request)?;
        Some(answer.responses[0].partitions[0].clone())
    }

    /// The end of partition 0, or the error.
    pub fn latest(&mut self, topic: &str, epoch: i32) -> Option<Result<i64, i16>> {
        let partition = ListOffsetsPartition::default()
            .with_timestamp(-1)
            .with_current_leader_epoch(epoch);
        let topic = ListOffsetsTopic::default()
            .with_name(name(topic))
            .with_partitions(vec![partition]);
        let request = ListOffsetsRequest::default()
            .with_replica_id(BrokerId(-1))
            .with_topics(vec![topic]);
        let answer = self.call(6, &request)?;
        let found = &answer.topics[0].partitions[0];
        Some(if found.error_code == 0 {
            Ok(found.offset)
        } else {
            Err(found.error_code)
        })
    }

    /// Partition 0 of a topic.
    pub fn describe(&mut self, topic: &str) -> Option<DescribeTopicPartitionsResponsePartition> {
        let request = DescribeTopicPartitionsRequest::default()
            .with_topics(vec![TopicRequest::default().with_name(name(topic))])
            .with_response_partition_limit(100);
        let answer = self.call(0, &request)?;
        answer.topics.first()?.partitions.first().cloned()
    }
}

/// Offsets, epochs and values of records.
pub fn values(records: &[u8]) -> Vec<(i64, i32, String)> {
    let mut values = Vec::new();
    for batch in Batches::new(records) {
        let (header, bytes) = batch.unwrap();
        for record in Records::of(bytes).unwrap() {
            let record = record.unwrap();
            let value = String::from_utf8(record.value.unwrap().to_vec()).unwrap();
            values.push((record.offset, header.leader_epoch, value));
        }
    }
    values
}
