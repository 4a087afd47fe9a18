//! Values that tell by themselves whether they are what was sent.
//!
//! A payload is a header (magic, value, length, checksum) and a filler that follows from the value, up to the
//! record's size. The checksum covers all else, so whatever was hurt, cut or mixed parses as none.

use bytes::{BufMut, Bytes, BytesMut};

/// The first bytes of every payload of ours.
const MAGIC: [u8; 4] = *b"ackl";
const VALUE_AT: usize = 4;
const LENGTH_AT: usize = 12;
const CRC_AT: usize = 16;
const FILLER_AT: usize = 20;

/// The smallest payload: a header without filler.
pub const MIN_BYTES: usize = FILLER_AT;
/// The largest payload, below what brokers take by default (1 MiB with the batch's header).
pub const MAX_BYTES: usize = 1_000_000;
/// How many values one producer has; a value is `producer * PER_PRODUCER + sequence`.
pub const PER_PRODUCER: u64 = 1_000_000_000;
/// How many producers there may be, so that every value stays below 2^53 and is exact in JSON everywhere.
pub const MAX_PRODUCERS: u64 = (1 << 53) / PER_PRODUCER;

/// The value of a producer's sequence number; none where either is out of its range.
pub fn value(producer: u64, sequence: u64) -> Option<u64> {
    (producer < MAX_PRODUCERS && sequence < PER_PRODUCER).then(|| producer * PER_PRODUCER + sequence)
}

/// The payload of a value, of a size that is brought within [`MIN_BYTES`] and [`MAX_BYTES`].
pub fn payload(value: u64, bytes: usize) -> Bytes {
    let size = bytes.clamp(MIN_BYTES, MAX_BYTES);
    let mut payload = BytesMut::with_capacity(size + 8);
    payload.put_slice(&MAGIC);
    payload.put_u64(value);
    // The size is at most a million.
    payload.put_u32(size as u32);
    payload.put_u32(0);
    let mut filler = Filler(value);
    while payload.len() < size {
        payload.put_u64(filler.next());
    }
    payload.truncate(size);
    let crc = checksum(&payload);
    payload[CRC_AT..FILLER_AT].copy_from_slice(&crc.to_be_bytes());
    payload.freeze()
}

/// The value of a payload; none where it is not, byte for byte, what [`payload`] made.
pub fn parse(payload: &[u8]) -> Option<u64> {
    let number = |from: usize, to: usize| {
        let bytes = payload.get(from..to)?;
        Some(
            bytes
                .iter()
                .fold(0, |number: u64, byte| number << 8 | u64::from(*byte)),
        )
    };
    let value = number(VALUE_AT, LENGTH_AT)?;
    let whole = payload.starts_with(&MAGIC)
        && number(LENGTH_AT, CRC_AT)? == payload.len() as u64
        && number(CRC_AT, FILLER_AT)? == u64::from(checksum(payload));
    whole.then_some(value)
}

/// Of all bytes but the checksum's own.
fn checksum(payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&payload[..CRC_AT]), &payload[FILLER_AT..])
}

/// Bytes that follow from a value, unlike those of its neighbours: a Weyl sequence, mixed (splitmix64).
struct Filler(u64);

impl Filler {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_parses_to_its_value_at_every_size() {
        for size in [
            0,
            MIN_BYTES,
            MIN_BYTES + 1,
            27,
            28,
            29,
            100,
            4096,
            MAX_BYTES,
            MAX_BYTES + 1,
        ] {
            let made = payload(42, size);
            assert_eq!(made.len(), size.clamp(MIN_BYTES, MAX_BYTES));
            assert_eq!(parse(&made), Some(42), "{size} bytes");
        }
    }

    #[test]
    fn whatever_is_hurt_parses_as_none() {
        let made = payload(7 * PER_PRODUCER + 5, 64);
        for at in 0..made.len() {
            let mut hurt = made.to_vec();
            hurt[at] ^= 0x10;
            assert_eq!(parse(&hurt), None, "a flipped bit at {at}");
            assert_eq!(parse(&made[..at]), None, "cut at {at}");
        }
        assert_eq!(parse(&[made.as_ref(), b"x"].concat()), None, "longer than it was");
        assert_eq!(parse(&[0; 64]), None, "a hole of zeroes");
    }

    #[test]
    fn values_stay_below_two_to_the_53() {
        let last = value(MAX_PRODUCERS - 1, PER_PRODUCER - 1).unwrap();
        assert!(last < 1 << 53);
        assert_eq!(value(MAX_PRODUCERS, 0), None);
        assert_eq!(value(0, PER_PRODUCER), None);
        assert_ne!(value(1, 0), value(0, PER_PRODUCER - 1));
    }
}
