//! Builds an uncompressed batch: of metadata records, of control records, of a test.

use bytes::Bytes;

use crate::batch::{self, Attributes, BatchError, HEADER_BYTES, LENGTH_PREFIX_BYTES, MAGIC, NO_PRODUCER_ID};
use crate::record::Header;
use crate::varint;

/// A batch under construction. All its records have the one timestamp it was begun with.
#[derive(Debug, Clone)]
pub struct BatchBuilder {
    timestamp: i64,
    attributes: Attributes,
    producer: Option<(i64, i16, i32)>,
    records: Vec<u8>,
    count: i32,
}

impl BatchBuilder {
    /// Begins a batch whose records carry `timestamp`, in milliseconds since 1970.
    pub fn new(timestamp: i64) -> Self {
        Self {
            timestamp,
            attributes: Attributes::default(),
            producer: None,
            records: Vec::new(),
            count: 0,
        }
    }

    /// Marks it as holding control records.
    pub fn control(mut self) -> Self {
        self.attributes = self.attributes.control();
        self
    }

    /// Marks it as part of a transaction.
    pub fn transactional(mut self) -> Self {
        self.attributes = self.attributes.transactional();
        self
    }

    /// Says which producer sent it, in which epoch, and the first record's sequence number (-1 for a
    /// transaction marker).
    pub fn producer(mut self, id: i64, epoch: i16, base_sequence: i32) -> Self {
        self.producer = Some((id, epoch, base_sequence));
        self
    }

    /// Adds a record.
    ///
    /// # Errors
    /// When the batch would exceed what the format can hold; it is then as it was.
    pub fn push(
        &mut self,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[Header<'_>],
    ) -> Result<(), BatchError> {
        let next = self.count.checked_add(1).ok_or(BatchError::TooLarge("records"))?;
        let mut body = vec![0]; // the record's attributes, of which none is defined
        varint::write(&mut body, 0); // timestamp delta
        varint::write(&mut body, self.count.into());
        push_bytes(&mut body, key)?;
        push_bytes(&mut body, value)?;
        varint::write(&mut body, length(headers.len())?);
        for header in headers {
            push_bytes(&mut body, Some(header.key.as_bytes()))?;
            push_bytes(&mut body, header.value)?;
        }
        let mut prefix = Vec::new();
        varint::write(&mut prefix, length(body.len())?);
        length(HEADER_BYTES + self.records.len() + prefix.len() + body.len())?;
        self.records.extend(prefix);
        self.records.extend(body);
        self.count = next;
        Ok(())
    }

    /// How many records it holds.
    pub fn len(&self) -> usize {
        // Never negative: it only ever counts up, with a check.
        self.count as usize
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes that the batch will have.
    pub fn bytes(&self) -> usize {
        HEADER_BYTES + self.records.len()
    }

    /// The finished batch.
    ///
    /// # Errors
    /// When it holds no record, or `base_offset` is negative or close to the end of 64 bits.
    pub fn build(&self, base_offset: i64, leader_epoch: i32) -> Result<Bytes, BatchError> {
        let (producer_id, producer_epoch, base_sequence) = self.producer.unwrap_or((NO_PRODUCER_ID, -1, -1));
        // `push` has seen to it that this fits.
        let batch_length = (self.bytes() - LENGTH_PREFIX_BYTES) as i32;
        let mut out = Vec::with_capacity(self.bytes());
        out.extend(base_offset.to_be_bytes());
        out.extend(batch_length.to_be_bytes());
        out.extend(leader_epoch.to_be_bytes());
        out.extend(MAGIC.to_be_bytes());
        out.extend([0; 4]); // the CRC, below
        out.extend(self.attributes.bits().to_be_bytes());
        out.extend((self.count - 1).to_be_bytes());
        out.extend(self.timestamp.to_be_bytes());
        out.extend(self.timestamp.to_be_bytes());
        out.extend(producer_id.to_be_bytes());
        out.extend(producer_epoch.to_be_bytes());
        out.extend(base_sequence.to_be_bytes());
        out.extend(self.count.to_be_bytes());
        out.extend(&self.records);
        batch::seal_crc(&mut out);
        batch::BatchHeader::parse(&out)?; // no records, or a bad offset
        Ok(out.into())
    }
}

fn push_bytes(into: &mut Vec<u8>, bytes: Option<&[u8]>) -> Result<(), BatchError> {
    let Some(bytes) = bytes else {
        varint::write(into, -1);
        return Ok(());
    };
    varint::write(into, length(bytes.len())?);
    into.extend(bytes);
    Ok(())
}

fn length(bytes: usize) -> Result<i64, BatchError> {
    i32::try_from(bytes)
        .map(i64::from)
        .map_err(|_| BatchError::TooLarge("2 GiB"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BatchHeader;

    #[test]
    fn producer_and_flags_reach_the_header() {
        let mut builder = BatchBuilder::new(5).control().transactional().producer(42, 1, -1);
        builder.push(Some(b"k"), None, &[]).unwrap();
        let header = BatchHeader::validate(&builder.build(0, 0).unwrap()).unwrap();
        assert!(header.attributes.is_control() && header.attributes.is_transactional());
        assert_eq!(
            (header.producer_id, header.producer_epoch, header.base_sequence),
            (42, 1, -1)
        );
        assert_eq!((header.base_timestamp, header.max_timestamp), (5, 5));
    }

    #[test]
    fn an_empty_batch_and_a_negative_offset_are_refused() {
        let mut builder = BatchBuilder::new(0);
        assert!(builder.is_empty() && builder.build(0, 0).is_err());
        builder.push(None, None, &[]).unwrap();
        assert!(builder.build(0, 0).is_ok() && builder.build(-1, 0).is_err());
        assert_eq!(builder.build(0, 0).unwrap().len(), builder.bytes());
    }
}
