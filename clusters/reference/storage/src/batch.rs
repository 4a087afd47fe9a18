//! The header of a record batch, format 2, over raw bytes.
//!
//! ```text
//!  0 base offset i64           not covered by the CRC
//!  8 batch length i32          bytes that follow this field
//! 12 partition leader epoch    not covered by the CRC
//! 16 magic i8 = 2
//! 17 CRC-32C u32               of everything from 21 to the end
//! 21 attributes i16            bits 0-2 compression, 3 timestamp type, 4 transactional, 5 control
//! 23 last offset delta i32
//! 27 base timestamp i64
//! 35 max timestamp i64
//! 43 producer id i64, 51 producer epoch i16, 53 base sequence i32
//! 57 record count i32
//! 61 records
//! ```
//!
//! Base offset and leader epoch can therefore be patched in place. What is *not* checked: the records
//! (see [`crate::record`]), and whether a compressed payload can be decompressed.

/// Bytes of a batch's header; no batch is shorter.
pub const HEADER_BYTES: usize = 61;
/// Bytes before the part that `batch length` counts: base offset and the length itself.
pub const LENGTH_PREFIX_BYTES: usize = 12;
/// The only format understood. 0 and 1 died with Kafka 4.0.
pub const MAGIC: i8 = 2;
/// The producer id of a batch whose producer is not idempotent.
pub const NO_PRODUCER_ID: i64 = -1;

const LEADER_EPOCH_AT: usize = 12;
const MAGIC_AT: usize = 16;
const CRC_AT: usize = 17;
/// Where the bytes covered by the CRC begin.
const CRC_COVERS_FROM: usize = 21;

/// Why bytes are not a valid batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// Fewer bytes than the header, or than the batch's own length.
    #[error("a batch is cut short: {needed} bytes are needed, {available} are there")]
    Short {
        /// Bytes that the header, or the batch, needs.
        needed: usize,
        /// Bytes that are there.
        available: usize,
    },
    /// The length field is negative or smaller than the header.
    #[error("a batch claims the impossible length {0}")]
    Length(i32),
    /// Not format 2.
    #[error("a batch has magic {0}, only 2 is understood")]
    Magic(i8),
    /// The checksum does not match.
    #[error("a batch has CRC {stored:#010x}, its bytes give {computed:#010x}")]
    Crc {
        /// The one in the header.
        stored: u32,
        /// The one of the bytes.
        computed: u32,
    },
    /// A field's value is impossible.
    #[error("a batch's {field} is {value}, which is impossible")]
    Field {
        /// The field's name.
        field: &'static str,
        /// Its value.
        value: i64,
    },
    /// The records cannot be walked because they are compressed.
    #[error("a batch is compressed ({0:?}); only its header can be read here")]
    Compressed(Compression),
    /// A record inside the batch is malformed.
    #[error("record {index} of a batch is malformed: {reason}")]
    Record {
        /// Which one, from 0.
        index: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// A batch under construction would exceed what the format can hold.
    #[error("a batch would hold more than the format allows: {0}")]
    TooLarge(&'static str),
}

/// How a batch's records are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// Snappy.
    Snappy,
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
}

/// The attributes of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes(i16);

impl Attributes {
    const COMPRESSION_MASK: i16 = 0b111;
    const LOG_APPEND_TIME: i16 = 1 << 3;
    const TRANSACTIONAL: i16 = 1 << 4;
    const CONTROL: i16 = 1 << 5;

    /// From the header's bits.
    pub fn from_bits(bits: i16) -> Self {
        Self(bits)
    }

    /// The header's bits.
    pub fn bits(self) -> i16 {
        self.0
    }

    /// The compression, or `None` when the bits name none that exists.
    pub fn compression(self) -> Option<Compression> {
        match self.0 & Self::COMPRESSION_MASK {
            0 => Some(Compression::None),
            1 => Some(Compression::Gzip),
            2 => Some(Compression::Snappy),
            3 => Some(Compression::Lz4),
            4 => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// Whether timestamps are those of the append, not of the producer.
    pub fn is_log_append_time(self) -> bool {
        self.0 & Self::LOG_APPEND_TIME != 0
    }

    /// Whether the batch belongs to a transaction.
    pub fn is_transactional(self) -> bool {
        self.0 & Self::TRANSACTIONAL != 0
    }

    /// Whether the batch holds control records, which no consumer sees.
    pub fn is_control(self) -> bool {
        self.0 & Self::CONTROL != 0
    }

    /// The same, marked transactional.
    pub fn transactional(self) -> Self {
        Self(self.0 | Self::TRANSACTIONAL)
    }

    /// The same, marked as holding control records.
    pub fn control(self) -> Self {
        Self(self.0 | Self::CONTROL)
    }
}

/// The header of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchHeader {
    /// The offset of the first record.
    pub base_offset: i64,
    /// Bytes of the whole batch, header and length prefix included.
    pub total_bytes: usize,
    /// The epoch of the leader that appended the batch.
    pub leader_epoch: i32,
    /// CRC-32C of everything from the attributes on.
    pub crc: u32,
    /// Compression, transactional, control.
    pub attributes: Attributes,
    /// The last record's offset minus the base offset.
    pub last_offset_delta: i32,
    /// Milliseconds since 1970; records hold deltas to it.
    pub base_timestamp: i64,
    /// The greatest timestamp among the records.
    pub max_timestamp: i64,
    /// The idempotent producer, or [`NO_PRODUCER_ID`].
    pub producer_id: i64,
    /// Its epoch, or -1.
    pub producer_epoch: i16,
    /// The sequence number of the first record, or -1.
    pub base_sequence: i32,
    /// How many records; fewer than the offsets where a compaction took some.
    pub record_count: i32,
}

impl BatchHeader {
    /// Reads the header at the beginning of `bytes`, which may end before the batch does.
    ///
    /// # Errors
    /// When the bytes are too few, or a field is impossible. The CRC is not checked.
    pub fn parse(bytes: &[u8]) -> Result<Self, BatchError> {
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(BatchError::Short {
                needed: HEADER_BYTES,
                available: bytes.len(),
            });
        };
        let magic = i8::from_be_bytes(field(header, MAGIC_AT));
        if magic != MAGIC {
            return Err(BatchError::Magic(magic));
        }
        let parsed = Self {
            base_offset: i64::from_be_bytes(field(header, 0)),
            total_bytes: total_bytes(i32::from_be_bytes(field(header, 8)))?,
            leader_epoch: i32::from_be_bytes(field(header, LEADER_EPOCH_AT)),
            crc: u32::from_be_bytes(field(header, CRC_AT)),
            attributes: Attributes(i16::from_be_bytes(field(header, CRC_COVERS_FROM))),
            last_offset_delta: i32::from_be_bytes(field(header, 23)),
            base_timestamp: i64::from_be_bytes(field(header, 27)),
            max_timestamp: i64::from_be_bytes(field(header, 35)),
            producer_id: i64::from_be_bytes(field(header, 43)),
            producer_epoch: i16::from_be_bytes(field(header, 51)),
            base_sequence: i32::from_be_bytes(field(header, 53)),
            record_count: i32::from_be_bytes(field(header, 57)),
        };
        parsed.check_fields()?;
        Ok(parsed)
    }

    /// Reads and checks the whole batch at the beginning of `bytes`, CRC included; more may follow it.
    ///
    /// # Errors
    /// When it is cut short, or anything about it is wrong.
    pub fn validate(bytes: &[u8]) -> Result<Self, BatchError> {
        let header = Self::parse(bytes)?;
        let Some(batch) = bytes.get(..header.total_bytes) else {
            return Err(BatchError::Short {
                needed: header.total_bytes,
                available: bytes.len(),
            });
        };
        let computed = crc32c::crc32c(&batch[CRC_COVERS_FROM..]);
        if computed != header.crc {
            return Err(BatchError::Crc {
                stored: header.crc,
                computed,
            });
        }
        Ok(header)
    }

    /// The offset of the last record.
    pub fn last_offset(&self) -> i64 {
        self.base_offset + i64::from(self.last_offset_delta)
    }

    /// The offset at which the next batch begins.
    pub fn next_offset(&self) -> i64 {
        self.last_offset() + 1
    }

    /// Whether an idempotent producer sent it.
    pub fn has_producer(&self) -> bool {
        self.producer_id != NO_PRODUCER_ID
    }

    /// Rules out the values with which arithmetic on offsets, or a walk, would go wrong.
    fn check_fields(&self) -> Result<(), BatchError> {
        let impossible = |field, value| Err(BatchError::Field { field, value });
        if self.base_offset < 0 || self.base_offset > i64::MAX - i64::from(i32::MAX) - 1 {
            return impossible("base offset", self.base_offset);
        }
        if self.last_offset_delta < 0 {
            return impossible("last offset delta", self.last_offset_delta.into());
        }
        // A compacted batch has fewer records than offsets, never more.
        if self.record_count < 0 || i64::from(self.record_count) > i64::from(self.last_offset_delta) + 1 {
            return impossible("record count", self.record_count.into());
        }
        if self.attributes.compression().is_none() {
            return impossible(
                "compression",
                (self.attributes.0 & Attributes::COMPRESSION_MASK).into(),
            );
        }
        Ok(())
    }
}

/// The `N` bytes at `at`, for `from_be_bytes`.
fn field<const N: usize>(header: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&header[at..at + N]);
    bytes
}

fn total_bytes(batch_length: i32) -> Result<usize, BatchError> {
    usize::try_from(batch_length)
        .ok()
        .map(|length| length + LENGTH_PREFIX_BYTES)
        .filter(|&total| total >= HEADER_BYTES)
        .ok_or(BatchError::Length(batch_length))
}

/// Overwrites the base offset of the batch at the beginning of `batch`. The CRC stays right.
///
/// # Errors
/// When there are fewer bytes than a header.
pub fn set_base_offset(batch: &mut [u8], base_offset: i64) -> Result<(), BatchError> {
    patch(batch, 0, &base_offset.to_be_bytes())
}

/// Overwrites the leader epoch of the batch at the beginning of `batch`. The CRC stays right.
///
/// # Errors
/// When there are fewer bytes than a header.
pub fn set_leader_epoch(batch: &mut [u8], leader_epoch: i32) -> Result<(), BatchError> {
    patch(batch, LEADER_EPOCH_AT, &leader_epoch.to_be_bytes())
}

fn patch(batch: &mut [u8], at: usize, value: &[u8]) -> Result<(), BatchError> {
    if batch.len() < HEADER_BYTES {
        return Err(BatchError::Short {
            needed: HEADER_BYTES,
            available: batch.len(),
        });
    }
    batch[at..at + value.len()].copy_from_slice(value);
    Ok(())
}

/// Walks batches that lie one after the other, each checked whole. Stops after the first error.
#[derive(Debug, Clone)]
pub struct Batches<'a> {
    rest: &'a [u8],
}

impl<'a> Batches<'a> {
    /// Over `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'a> Iterator for Batches<'a> {
    /// The header, and the whole batch it heads.
    type Item = Result<(BatchHeader, &'a [u8]), BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        match BatchHeader::validate(self.rest) {
            Ok(header) => {
                let (batch, rest) = self.rest.split_at(header.total_bytes);
                self.rest = rest;
                Some(Ok((header, batch)))
            }
            Err(error) => {
                self.rest = &[];
                Some(Err(error))
            }
        }
    }
}

/// Puts the CRC of everything from the attributes on into the header of a batch being built.
pub(crate) fn seal_crc(batch: &mut [u8]) {
    let crc = crc32c::crc32c(&batch[CRC_COVERS_FROM..]);
    batch[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BatchBuilder;

    fn one() -> Vec<u8> {
        let mut builder = BatchBuilder::new(1_000);
        builder.push(Some(b"key"), Some(b"value"), &[]).unwrap();
        builder.build(7, 3).unwrap().to_vec()
    }

    #[test]
    fn a_built_batch_is_valid() {
        let header = BatchHeader::validate(&one()).unwrap();
        assert_eq!(
            (header.base_offset, header.leader_epoch, header.next_offset()),
            (7, 3, 8)
        );
        assert_eq!(header.attributes.compression(), Some(Compression::None));
        assert!(!header.has_producer());
    }

    #[test]
    fn offset_and_epoch_can_be_patched_without_breaking_the_crc() {
        let mut bytes = one();
        set_base_offset(&mut bytes, 1 << 40).unwrap();
        set_leader_epoch(&mut bytes, 9).unwrap();
        let header = BatchHeader::validate(&bytes).unwrap();
        assert_eq!((header.base_offset, header.leader_epoch), (1 << 40, 9));
        assert!(set_base_offset(&mut [0; 12], 0).is_err());
    }

    #[test]
    fn every_flipped_bit_but_of_offset_and_epoch_is_noticed() {
        let good = one();
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                let patchable = at < 8 || (12..16).contains(&at);
                let seen = BatchHeader::validate(&bad).is_err();
                // The sign bit of a base offset is impossible, the rest of it is free.
                assert_eq!(seen, !patchable || (at == 0 && bit == 7), "byte {at} bit {bit}");
            }
        }
    }

    #[test]
    fn every_shortening_is_noticed() {
        let good = one();
        for length in 0..good.len() {
            assert!(matches!(
                BatchHeader::validate(&good[..length]),
                Err(BatchError::Short { .. })
            ));
        }
    }

    #[test]
    fn a_walk_stops_at_the_first_error() {
        let mut two = one();
        two.extend(one());
        assert_eq!(Batches::new(&two).filter(Result::is_ok).count(), 2);
        two.extend([0; 5]);
        let seen: Vec<_> = Batches::new(&two).map(|batch| batch.is_ok()).collect();
        assert_eq!(seen, [true, true, false]);
        assert!(Batches::new(&[]).next().is_none());
    }
}
