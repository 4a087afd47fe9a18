//! Batches and snapshots as a controller writes them.

use crate::batch;
use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::records::{
    Compression, NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, Record,
    RecordBatchEncoder, RecordEncodeOptions, TimestampType,
};

/// The types of a snapshot's first and last record.
const SNAPSHOT_HEADER: i16 = 3;
const SNAPSHOT_FOOTER: i16 = 4;

/// A batch of metadata records.
pub fn metadata_batch(values: &[Bytes]) -> Bytes {
    let records: Vec<_> = values.iter().map(|value| (None, value.clone())).collect();
    encoded(&records, false)
}

/// A batch of control records: type and body of each.
pub fn control_batch(records: &[(i16, Bytes)]) -> Bytes {
    let keyed = records.iter().map(|(kind, body)| {
        let mut key = BytesMut::new();
        key.put_i16(0);
        key.put_i16(*kind);
        (Some(key.freeze()), body.clone())
    });
    encoded(&keyed.collect::<Vec<_>>(), true)
}

/// A whole snapshot: header, records, footer.
pub fn snapshot_bytes(records: &[Bytes]) -> Bytes {
    // Version 0, a timestamp, no tags; version 0, no tags.
    let header = control_batch(&[(
        SNAPSHOT_HEADER,
        Bytes::from_static(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    )]);
    let footer = control_batch(&[(SNAPSHOT_FOOTER, Bytes::from_static(&[0, 0, 0]))]);
    let count = records.len() as i64;
    let batches = [
        batch::place(&header, 0, 0),
        batch::place(&metadata_batch(records), 1, 0),
        batch::place(&footer, 1 + count, 0),
    ];
    batches.concat().into()
}

fn encoded(records: &[(Option<Bytes>, Bytes)], control: bool) -> Bytes {
    let record = |(offset, (key, value)): (i64, &(Option<Bytes>, Bytes))| Record {
        transactional: false,
        control,
        delete_horizon: false,
        partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
        producer_id: NO_PRODUCER_ID,
        producer_epoch: NO_PRODUCER_EPOCH,
        timestamp_type: TimestampType::Creation,
        offset,
        sequence: NO_SEQUENCE.wrapping_add(offset as i32),
        timestamp: 0,
        key: key.clone(),
        value: Some(value.clone()),
        headers: Default::default(),
    };
    let records: Vec<Record> = (0..).zip(records).map(record).collect();
    let mut batch = BytesMut::new();
    let options = RecordEncodeOptions {
        version: 2,
        compression: Compression::None,
    };
    // Encoding fails only for what is longer than the format can say, which no test writes.
    RecordBatchEncoder::encode(&mut batch, &records, &options).unwrap_or_default();
    batch.freeze()
}
