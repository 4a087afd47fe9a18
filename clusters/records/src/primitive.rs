//! Kafka's flexible encodings: varints, compact strings and arrays, tagged fields.

use uuid::Uuid;

/// Why bytes are no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a metadata record cannot be read: {0}")]
pub struct DecodeError(String);

impl DecodeError {
    pub(crate) fn new(why: impl Into<String>) -> DecodeError {
        DecodeError(why.into())
    }
}

/// Writes.
#[derive(Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
    pub(crate) fn uvarint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
    pub(crate) fn i8(&mut self, value: i8) {
        self.raw(&value.to_be_bytes());
    }
    pub(crate) fn bool(&mut self, value: bool) {
        self.i8(value.into());
    }
    pub(crate) fn i16(&mut self, value: i16) {
        self.raw(&value.to_be_bytes());
    }
    pub(crate) fn u16(&mut self, value: u16) {
        self.raw(&value.to_be_bytes());
    }
    pub(crate) fn i32(&mut self, value: i32) {
        self.raw(&value.to_be_bytes());
    }
    pub(crate) fn i64(&mut self, value: i64) {
        self.raw(&value.to_be_bytes());
    }
    pub(crate) fn uuid(&mut self, value: Uuid) {
        self.raw(value.as_bytes());
    }
    fn length(&mut self, length: usize) {
        // No record of ours comes near 2^32: batches are below 2^31 bytes.
        self.uvarint(u32::try_from(length + 1).unwrap_or(u32::MAX));
    }
    pub(crate) fn string(&mut self, value: &str) {
        self.length(value.len());
        self.raw(value.as_bytes());
    }
    pub(crate) fn nullable_string(&mut self, value: Option<&str>) {
        match value {
            Some(value) => self.string(value),
            None => self.uvarint(0),
        }
    }
    pub(crate) fn array<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Writer, &T)) {
        self.length(items.len());
        for item in items {
            write(self, item);
        }
    }
    pub(crate) fn i32s(&mut self, items: &[i32]) {
        self.array(items, |out, item| out.i32(*item));
    }
    pub(crate) fn uuids(&mut self, items: &[Uuid]) {
        self.array(items, |out, item| out.uuid(*item));
    }
    pub(crate) fn no_tags(&mut self) {
        self.uvarint(0);
    }
    pub(crate) fn tags(&mut self, tags: Tags) {
        self.length_of_tags(&tags);
        for (tag, bytes) in tags.0 {
            self.uvarint(tag);
            self.uvarint(bytes.len() as u32);
            self.raw(&bytes);
        }
    }
    fn length_of_tags(&mut self, tags: &Tags) {
        self.uvarint(tags.0.len() as u32);
    }
}

/// Tagged fields to write, in rising order of their tags.
#[derive(Default)]
pub(crate) struct Tags(Vec<(u32, Vec<u8>)>);

impl Tags {
    pub(crate) fn put(&mut self, tag: u32, write: impl FnOnce(&mut Writer)) {
        let mut value = Writer::default();
        write(&mut value);
        self.0.push((tag, value.into_bytes()));
    }
}

/// Reads.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }
    fn take(&mut self, n: usize) -> Result<&'a [u8], DecodeError> {
        if n > self.0.len() {
            return Err(DecodeError::new(format!(
                "{n} bytes are wanted, {} are left",
                self.0.len()
            )));
        }
        let (taken, rest) = self.0.split_at(n);
        self.0 = rest;
        Ok(taken)
    }
    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }
    pub(crate) fn uvarint(&mut self) -> Result<u32, DecodeError> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let [byte] = self.fixed()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).map_err(|_| DecodeError::new("a varint is above 2^32"));
            }
        }
        Err(DecodeError::new("a varint has more than 5 bytes"))
    }
    pub(crate) fn i8(&mut self) -> Result<i8, DecodeError> {
        Ok(i8::from_be_bytes(self.fixed()?))
    }
    pub(crate) fn bool(&mut self) -> Result<bool, DecodeError> {
        Ok(self.i8()? != 0)
    }
    pub(crate) fn i16(&mut self) -> Result<i16, DecodeError> {
        Ok(i16::from_be_bytes(self.fixed()?))
    }
    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_be_bytes(self.fixed()?))
    }
    pub(crate) fn i32(&mut self) -> Result<i32, DecodeError> {
        Ok(i32::from_be_bytes(self.fixed()?))
    }
    pub(crate) fn i64(&mut self) -> Result<i64, DecodeError> {
        Ok(i64::from_be_bytes(self.fixed()?))
    }
    pub(crate) fn uuid(&mut self) -> Result<Uuid, DecodeError> {
        Ok(Uuid::from_bytes(self.fixed()?))
    }
    pub(crate) fn nullable_string(&mut self) -> Result<Option<String>, DecodeError> {
        let Some(length) = self.uvarint()?.checked_sub(1) else {
            return Ok(None);
        };
        let bytes = self.take(length as usize)?;
        let text = std::str::from_utf8(bytes).map_err(|e| DecodeError::new(format!("a string: {e}")))?;
        Ok(Some(text.to_owned()))
    }
    pub(crate) fn string(&mut self) -> Result<String, DecodeError> {
        self.nullable_string()?
            .ok_or_else(|| DecodeError::new("a string is null that may not be"))
    }
    pub(crate) fn nullable_array<T>(
        &mut self,
        mut read: impl FnMut(&mut Reader<'a>) -> Result<T, DecodeError>,
    ) -> Result<Option<Vec<T>>, DecodeError> {
        let Some(count) = self.uvarint()?.checked_sub(1) else {
            return Ok(None);
        };
        // Each item takes a byte at least: a count that cannot be true reserves nothing.
        if count as usize > self.0.len() {
            return Err(DecodeError::new(format!(
                "{count} items are said, {} bytes are left",
                self.0.len()
            )));
        }
        (0..count)
            .map(|_| read(self))
            .collect::<Result<Vec<T>, _>>()
            .map(Some)
    }
    pub(crate) fn array<T>(
        &mut self,
        read: impl FnMut(&mut Reader<'a>) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        self.nullable_array(read)?
            .ok_or_else(|| DecodeError::new("an array is null that may not be"))
    }
    pub(crate) fn i32s(&mut self) -> Result<Vec<i32>, DecodeError> {
        self.array(Reader::i32)
    }
    pub(crate) fn uuids(&mut self) -> Result<Vec<Uuid>, DecodeError> {
        self.array(Reader::uuid)
    }
    /// Hands each tagged field to `read`, with a reader of its bytes; one that `read` does not know is skipped.
    pub(crate) fn tags(
        &mut self,
        mut read: impl FnMut(u32, &mut Reader<'a>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        for _ in 0..self.uvarint()? {
            let tag = self.uvarint()?;
            let size = self.uvarint()?;
            read(tag, &mut Reader(self.take(size as usize)?))?;
        }
        Ok(())
    }
    pub(crate) fn skip_tags(&mut self) -> Result<(), DecodeError> {
        self.tags(|_, _| Ok(()))
    }
}
