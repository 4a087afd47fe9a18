//! Zigzag varints, as records hold them.

/// A varint of 64 bits takes at most this many bytes.
const MAX_BYTES: usize = 10;

/// Appends `value`.
pub(crate) fn write(into: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    while rest >= 0x80 {
        into.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    into.push(rest as u8);
}

/// Takes one off the front of `bytes`; `None` when it is cut short or too long.
pub(crate) fn read(bytes: &mut &[u8]) -> Option<i64> {
    let mut value: u64 = 0;
    for at in 0..MAX_BYTES {
        let byte = *bytes.get(at)?;
        // The tenth byte has room for one bit only.
        if at == MAX_BYTES - 1 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            *bytes = &bytes[at + 1..];
            return Some((value >> 1) as i64 ^ -((value & 1) as i64));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        for value in [
            0,
            1,
            -1,
            63,
            64,
            -64,
            -65,
            300,
            i64::from(i32::MIN),
            i64::MAX,
            i64::MIN,
        ] {
            let mut bytes = Vec::new();
            write(&mut bytes, value);
            let mut rest = bytes.as_slice();
            assert_eq!(read(&mut rest), Some(value));
            assert!(rest.is_empty());
            assert_eq!(read(&mut &bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn an_endless_one_is_refused() {
        assert_eq!(read(&mut [0xff; 32].as_slice()), None);
        assert_eq!(
            read(&mut [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2].as_slice()),
            None
        );
    }
}
