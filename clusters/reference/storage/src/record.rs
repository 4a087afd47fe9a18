//! Walks the records of an uncompressed batch.
//!
//! Bad bytes give an error and end the walk. Not checked: that offsets inside a batch increase.

use crate::batch::{BatchError, BatchHeader, Compression, HEADER_BYTES};
use crate::varint;

/// A header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// Its key.
    pub key: &'a str,
    /// Its value, or null.
    pub value: Option<&'a [u8]>,
}

/// A record of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its offset in the log.
    pub offset: i64,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// Its key, or null.
    pub key: Option<&'a [u8]>,
    /// Its value, or null.
    pub value: Option<&'a [u8]>,
    /// Its headers.
    pub headers: Vec<Header<'a>>,
}

/// The records of one batch, in order. Stops after the first error.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    header: BatchHeader,
    rest: &'a [u8],
    next: usize,
    count: usize,
}

impl<'a> Records<'a> {
    /// Over the batch at the beginning of `bytes`, which is checked whole.
    ///
    /// # Errors
    /// When the batch is not valid, or is compressed.
    pub fn of(bytes: &'a [u8]) -> Result<Self, BatchError> {
        let header = BatchHeader::validate(bytes)?;
        match header.attributes.compression() {
            Some(Compression::None) => {}
            Some(other) => return Err(BatchError::Compressed(other)),
            None => {
                return Err(BatchError::Field {
                    field: "compression",
                    value: -1,
                });
            }
        }
        let rest = &bytes[HEADER_BYTES..header.total_bytes];
        // Not negative, or `validate` had refused it.
        let count = header.record_count as usize;
        Ok(Self {
            header,
            rest,
            next: 0,
            count,
        })
    }

    /// The batch's header.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    fn read_one(&mut self) -> Result<Record<'a>, &'static str> {
        let length = read_length(&mut self.rest)
            .flatten()
            .ok_or("its length is cut short or negative")?;
        let mut body = take(&mut self.rest, length).ok_or("it is longer than the batch")?;
        take(&mut body, 1).ok_or("it has no attributes")?;
        let timestamp_delta = varint::read(&mut body).ok_or("its timestamp is cut short")?;
        let offset_delta = varint::read(&mut body).ok_or("its offset is cut short")?;
        let within = (0..=i64::from(self.header.last_offset_delta)).contains(&offset_delta);
        let record = Record {
            offset: self.header.base_offset
                + if within {
                    offset_delta
                } else {
                    return Err("its offset lies outside the batch");
                },
            timestamp: self.header.base_timestamp.wrapping_add(timestamp_delta),
            key: read_bytes(&mut body).ok_or("its key is cut short")?,
            value: read_bytes(&mut body).ok_or("its value is cut short")?,
            headers: read_headers(&mut body)?,
        };
        if body.is_empty() {
            Ok(record)
        } else {
            Err("bytes are left over inside it")
        }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.next;
        if index == self.count {
            if self.rest.is_empty() {
                return None;
            }
            self.rest = &[];
            return Some(Err(BatchError::Record {
                index,
                reason: "bytes are left over after the last one",
            }));
        }
        self.next += 1;
        match self.read_one() {
            Ok(record) => Some(Ok(record)),
            Err(reason) => {
                self.next = self.count;
                self.rest = &[];
                Some(Err(BatchError::Record { index, reason }))
            }
        }
    }
}

/// A length: `Some(None)` is null, `None` is malformed.
fn read_length(bytes: &mut &[u8]) -> Option<Option<usize>> {
    match varint::read(bytes)? {
        -1 => Some(None),
        length => usize::try_from(length).ok().map(Some),
    }
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn read_bytes<'a>(bytes: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    match read_length(bytes)? {
        None => Some(None),
        Some(length) => take(bytes, length).map(Some),
    }
}

fn read_headers<'a>(body: &mut &'a [u8]) -> Result<Vec<Header<'a>>, &'static str> {
    let count = read_length(body)
        .flatten()
        .ok_or("its number of headers is cut short or negative")?;
    // Not `with_capacity`: the count is the sender's word. Each header takes two bytes at least, so
    // the loop ends with the bytes.
    let mut headers = Vec::new();
    for _ in 0..count {
        let key = read_bytes(body)
            .flatten()
            .ok_or("the key of a header is cut short or null")?;
        let key = std::str::from_utf8(key).map_err(|_| "the key of a header is not UTF-8")?;
        let value = read_bytes(body).ok_or("the value of a header is cut short")?;
        headers.push(Header { key, value });
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BatchBuilder;
    use crate::batch::seal_crc;

    fn sample() -> Vec<u8> {
        let mut builder = BatchBuilder::new(77);
        let headers = [
            Header {
                key: "a",
                value: Some(b"1"),
            },
            Header {
                key: "b",
                value: None,
            },
        ];
        builder.push(Some(b"key"), Some(b"value"), &headers).unwrap();
        builder.push(None, None, &[]).unwrap();
        builder.push(Some(b""), Some(&[9; 300]), &[]).unwrap();
        builder.build(10, 1).unwrap().to_vec()
    }

    #[test]
    fn what_was_built_is_read() {
        let bytes = sample();
        let records: Vec<_> = Records::of(&bytes).unwrap().map(Result::unwrap).collect();
        assert_eq!(records.iter().map(|r| r.offset).collect::<Vec<_>>(), [10, 11, 12]);
        assert_eq!(
            records[0].headers[0],
            Header {
                key: "a",
                value: Some(b"1")
            }
        );
        assert_eq!(records[0].headers[1].value, None);
        assert_eq!((records[1].key, records[1].value), (None, None));
        assert_eq!(
            (records[2].key, records[2].value.map(<[u8]>::len)),
            (Some(&b""[..]), Some(300))
        );
        assert!(records.iter().all(|r| r.timestamp == 77));
    }

    #[test]
    fn a_compressed_batch_is_not_walked() {
        let mut bytes = sample();
        bytes[22] |= 4;
        seal_crc(&mut bytes);
        assert_eq!(
            Records::of(&bytes).unwrap_err(),
            BatchError::Compressed(Compression::Zstd)
        );
    }

    /// Every byte of the records replaced by every value, the CRC made right again: the walk ends, and
    /// yields no more than the header promised.
    #[test]
    fn bad_records_end_the_walk_and_never_panic() {
        let good = sample();
        for at in HEADER_BYTES..good.len() {
            for value in 0..=255 {
                let mut bad = good.clone();
                bad[at] = value;
                seal_crc(&mut bad);
                assert!(Records::of(&bad).unwrap().count() <= 4);
            }
        }
    }

    #[test]
    fn a_wrong_count_is_an_error() {
        for count in [2, 1, 0] {
            let mut bad = sample();
            bad[57..61].copy_from_slice(&i32::to_be_bytes(count));
            seal_crc(&mut bad);
            assert!(Records::of(&bad).unwrap().last().unwrap().is_err());
        }
        assert!(Records::of(&sample()).unwrap().all(|record| record.is_ok()));
    }
}
