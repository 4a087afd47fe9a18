//! Record batches of version 2, as far as a client without compression, transactions and idempotence needs them.
//!
//! The reader believes nothing before the checksum: counts are never memory asked for, a batch cut short by a
//! fetch's limit is left out, and a batch whose checksum fails is handed on as corrupt instead of hiding.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::records::{
    Compression, NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, Record,
    RecordBatchEncoder, RecordEncodeOptions, TimestampType,
};

/// Base offset and length: what comes before the part that the length counts.
const LOG_OVERHEAD: usize = 12;
/// The whole header of a batch, up to its first record.
const HEADER: usize = 61;
/// The part of the header that the length counts.
const COUNTED_HEADER: usize = HEADER - LOG_OVERHEAD;
const MAGIC_AT: usize = 16;
const CRC_AT: usize = 17;
const ATTRIBUTES_AT: usize = 21;
const COMPRESSION_MASK: i16 = 0b111;
const CONTROL_BIT: i16 = 1 << 5;

/// A batch as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The offset of its first record.
    pub base_offset: i64,
    /// The offset of its last record (also where compaction took that record away).
    pub last_offset: i64,
    /// The partition leader epoch that the leader stamped on it.
    pub leader_epoch: i32,
    /// What it holds.
    pub content: Content,
}

/// What a batch holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Records: offset and value.
    Records(Vec<(i64, Option<Bytes>)>),
    /// Control records, which are not the clients' own.
    Control(Vec<ControlRecord>),
    /// Bytes that are not what was written: why.
    Corrupt(String),
}

/// A control record: the key says of which type it is, the value is that type's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlRecord {
    /// Its offset.
    pub offset: i64,
    /// A version and a type, two bytes each.
    pub key: Bytes,
    /// What it says.
    pub value: Bytes,
}

/// The type of the record with which a leader of the metadata log begins its epoch.
const LEADER_CHANGE: i16 = 2;

impl ControlRecord {
    /// Whom a LeaderChange record names as the leader of its batch's epoch; none where it is of another type.
    pub fn new_leader(&self) -> Option<i32> {
        let mut key = self.key.clone();
        let mut value = self.value.clone();
        key.try_get_i16().ok()?;
        if key.try_get_i16().ok()? != LEADER_CHANGE {
            return None;
        }
        value.try_get_i16().ok()?;
        value.try_get_i32().ok()
    }
}

/// One record in one batch, as a Produce request carries it: no key, no headers, no producer id.
///
/// # Errors
/// Where the value is longer than the format can say.
pub fn encode_one(value: Bytes, timestamp_ms: i64) -> Result<Bytes, String> {
    let record = Record {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
        producer_id: NO_PRODUCER_ID,
        producer_epoch: NO_PRODUCER_EPOCH,
        timestamp_type: TimestampType::Creation,
        offset: 0,
        sequence: NO_SEQUENCE,
        timestamp: timestamp_ms,
        key: None,
        value: Some(value),
        headers: Default::default(),
    };
    let mut batch = BytesMut::new();
    let options = RecordEncodeOptions {
        version: 2,
        compression: Compression::None,
    };
    RecordBatchEncoder::encode(&mut batch, [&record], &options).map_err(|why| why.to_string())?;
    Ok(batch.freeze())
}

/// Reads the batches of a fetch's answer. A last batch that the fetch's limit cut short is left out.
///
/// # Errors
/// Where the bytes stop being batches: a length that cannot be, or another version of the format.
pub fn decode_all(mut bytes: Bytes) -> Result<Vec<Batch>, String> {
    take_whole(&mut bytes)
}

/// Reads the batches of a file that holds nothing else.
///
/// # Errors
/// As [`decode_all`], and where the last batch is not whole.
pub fn decode_exactly(mut bytes: Bytes) -> Result<Vec<Batch>, String> {
    let batches = take_whole(&mut bytes)?;
    match bytes.len() {
        0 => Ok(batches),
        left => Err(format!("the last {left} bytes are no whole batch")),
    }
}

fn take_whole(bytes: &mut Bytes) -> Result<Vec<Batch>, String> {
    let mut batches = Vec::new();
    while bytes.len() >= HEADER {
        let mut head = &bytes[..];
        let base_offset = head.get_i64();
        let length = head.get_i32();
        if length < COUNTED_HEADER as i32 {
            return Err(format!(
                "a batch at offset {base_offset} has a length of {length} bytes"
            ));
        }
        let whole = LOG_OVERHEAD + length as usize;
        if bytes.len() < whole {
            break;
        }
        batches.push(decode_one(base_offset, bytes.split_to(whole))?);
    }
    Ok(batches)
}

fn decode_one(base_offset: i64, batch: Bytes) -> Result<Batch, String> {
    let magic = batch[MAGIC_AT];
    if magic != 2 {
        return Err(format!(
            "the batch at offset {base_offset} has version {magic}, only 2 can be read"
        ));
    }
    let leader_epoch = (&batch[LOG_OVERHEAD..]).get_i32();
    let crc = (&batch[CRC_AT..]).get_u32();
    let mut rest = batch.slice(ATTRIBUTES_AT..);
    let found = crc32c::crc32c(&rest);
    let attributes = rest.get_i16();
    let last_delta = rest.get_i32().max(0);
    // First and last timestamp, producer id and epoch, base sequence.
    rest.advance(8 + 8 + 8 + 2 + 4);
    let count = rest.get_i32();
    let content = if found != crc {
        Content::Corrupt(format!("checksum {found:#010x}, the batch says {crc:#010x}"))
    } else if attributes & CONTROL_BIT != 0 {
        decode_records(base_offset, count, rest).map_or_else(Content::Corrupt, control)
    } else if attributes & COMPRESSION_MASK != 0 {
        return Err(format!(
            "the batch at offset {base_offset} is compressed, which this client cannot read"
        ));
    } else {
        decode_records(base_offset, count, rest).map_or_else(Content::Corrupt, |records| {
            let records = records.into_iter();
            Content::Records(records.map(|record| (record.offset, record.value)).collect())
        })
    };
    Ok(Batch {
        base_offset,
        last_offset: base_offset.saturating_add(last_delta.into()),
        leader_epoch,
        content,
    })
}

fn control(records: Vec<OneRecord>) -> Content {
    let record = |record: OneRecord| ControlRecord {
        offset: record.offset,
        key: record.key.unwrap_or_default(),
        value: record.value.unwrap_or_default(),
    };
    Content::Control(records.into_iter().map(record).collect())
}

struct OneRecord {
    offset: i64,
    key: Option<Bytes>,
    value: Option<Bytes>,
}

fn decode_records(base_offset: i64, count: i32, mut rest: Bytes) -> Result<Vec<OneRecord>, String> {
    let mut records = Vec::new();
    for _ in 0..count {
        let length = length(&mut rest, "a record")?;
        let mut record = rest.split_to(length);
        records.push(decode_record(base_offset, &mut record)?);
    }
    Ok(records)
}

fn decode_record(base_offset: i64, record: &mut Bytes) -> Result<OneRecord, String> {
    record
        .try_get_i8()
        .map_err(|_| "a record ends before its attributes")?;
    varint(record)?;
    let offset = base_offset.saturating_add(varint(record)?);
    let key = field(record, "a key")?;
    let value = field(record, "a value")?;
    Ok(OneRecord { offset, key, value })
}

/// A field with its length before it; −1 is null.
fn field(record: &mut Bytes, what: &str) -> Result<Option<Bytes>, String> {
    let mut ahead = record.clone();
    if varint(&mut ahead)? == -1 {
        *record = ahead;
        return Ok(None);
    }
    let length = length(record, what)?;
    Ok(Some(record.split_to(length)))
}

/// A length that the rest really has.
fn length(rest: &mut Bytes, what: &str) -> Result<usize, String> {
    let length = varint(rest)?;
    usize::try_from(length)
        .ok()
        .filter(|length| *length <= rest.len())
        .ok_or_else(|| format!("{what} of {length} bytes where {} are left", rest.len()))
}

/// A zig-zag variable-length number of at most ten bytes.
fn varint(bytes: &mut Bytes) -> Result<i64, String> {
    let mut raw: u64 = 0;
    for shift in (0..64).step_by(7) {
        let byte = bytes.try_get_u8().map_err(|_| "a number is cut short")?;
        raw |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok((raw >> 1) as i64 ^ -((raw & 1) as i64));
        }
    }
    Err("a number is longer than ten bytes".into())
}

/// A batch as a leader would store it: for servers in tests, and tools that rewrite a batch's place.
pub fn place(batch: &[u8], base_offset: i64, leader_epoch: i32) -> Bytes {
    let mut placed = BytesMut::with_capacity(batch.len());
    placed.put_i64(base_offset);
    placed.put_slice(&batch[8..LOG_OVERHEAD]);
    placed.put_i32(leader_epoch);
    placed.put_slice(&batch[MAGIC_AT..]);
    placed.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(value: &'static [u8], base_offset: i64) -> Bytes {
        place(&encode_one(Bytes::from_static(value), 7).unwrap(), base_offset, 3)
    }

    #[test]
    fn what_is_written_is_read_back() {
        let two = [batch(b"one", 41), batch(b"two", 42)].concat();
        let batches = decode_all(two.into()).unwrap();
        assert_eq!(batches.len(), 2);
        assert_eq!(
            (
                batches[1].base_offset,
                batches[1].last_offset,
                batches[1].leader_epoch
            ),
            (42, 42, 3)
        );
        assert_eq!(
            batches[0].content,
            Content::Records(vec![(41, Some(Bytes::from_static(b"one")))])
        );
    }

    #[test]
    fn a_batch_cut_short_is_left_out() {
        let mut two = [batch(b"one", 41), batch(b"two", 42)].concat();
        two.pop();
        assert_eq!(decode_all(two.clone().into()).unwrap().len(), 1);
        assert!(decode_exactly(two.into()).unwrap_err().contains("no whole batch"));
        assert_eq!(decode_exactly(batch(b"one", 41)).unwrap().len(), 1);
    }

    #[test]
    fn a_flipped_bit_is_corrupt_and_keeps_its_offset() {
        let mut bytes = batch(b"one", 41).to_vec();
        *bytes.last_mut().unwrap() ^= 1;
        let batches = decode_all(bytes.into()).unwrap();
        assert_eq!(batches[0].base_offset, 41);
        assert!(matches!(batches[0].content, Content::Corrupt(_)));
    }

    #[test]
    fn control_batches_are_told_apart() {
        let mut bytes = batch(b"one", 41).to_vec();
        bytes[ATTRIBUTES_AT + 1] |= CONTROL_BIT as u8;
        let crc = crc32c::crc32c(&bytes[ATTRIBUTES_AT..]);
        bytes[CRC_AT..ATTRIBUTES_AT].copy_from_slice(&crc.to_be_bytes());
        let control = ControlRecord {
            offset: 41,
            key: Bytes::new(),
            value: Bytes::from_static(b"one"),
        };
        assert_eq!(
            decode_all(bytes.into()).unwrap()[0].content,
            Content::Control(vec![control])
        );
    }

    #[test]
    fn a_leader_change_names_the_leader_and_other_control_records_do_not() {
        // LeaderChangeMessage: version 0, leader 101, no voters, no tags.
        let record = |key: &'static [u8], value: &'static [u8]| ControlRecord {
            offset: 0,
            key: Bytes::from_static(key),
            value: Bytes::from_static(value),
        };
        let value = &[0, 0, 0, 0, 0, 101, 1, 1, 0];
        assert_eq!(record(&[0, 0, 0, 2], value).new_leader(), Some(101));
        assert_eq!(record(&[0, 0, 0, 3], value).new_leader(), None);
        assert_eq!(record(&[0, 0], value).new_leader(), None);
        assert_eq!(record(&[0, 0, 0, 2], &[0, 0, 0]).new_leader(), None);
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let whole = [batch(b"one", 41), batch(b"two", 42)].concat();
        for at in 0..whole.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= flip;
                let _ = decode_all(bytes.clone().into());
                let _ = decode_records(0, i32::MAX, bytes.into());
            }
        }
    }
}
