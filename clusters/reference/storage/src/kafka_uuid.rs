//! Kafka's text form of a UUID: its 16 bytes in URL-safe base64 without padding, 22 characters.

use uuid::Uuid;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// 128 bits at 6 a character; the last character carries two bits only.
const CHARACTERS: usize = 22;

/// The text form.
pub fn format_uuid(uuid: Uuid) -> String {
    let bits = uuid.as_u128();
    let six = |at: usize| match 122usize.checked_sub(6 * at) {
        Some(shift) => bits >> shift,
        None => bits << 4,
    };
    (0..CHARACTERS)
        .map(|at| char::from(ALPHABET[(six(at) & 63) as usize]))
        .collect()
}

/// Reads the text form; `None` when it is not one.
pub fn parse_uuid(text: &str) -> Option<Uuid> {
    if text.len() != CHARACTERS {
        return None;
    }
    let mut bits: u128 = 0;
    for (at, byte) in text.bytes().enumerate() {
        let six = ALPHABET.iter().position(|&letter| letter == byte)? as u128;
        if at < CHARACTERS - 1 {
            bits = bits << 6 | six;
        } else if six & 15 == 0 {
            bits = bits << 2 | six >> 4;
        } else {
            return None;
        }
    }
    Some(Uuid::from_u128(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_topic_has_its_known_form() {
        assert_eq!(format_uuid(Uuid::from_u128(1)), "AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!(parse_uuid("AAAAAAAAAAAAAAAAAAAAAQ"), Some(Uuid::from_u128(1)));
    }

    #[test]
    fn what_was_written_is_read() {
        for bits in [0, 1, u128::MAX, 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210] {
            let uuid = Uuid::from_u128(bits);
            assert_eq!(parse_uuid(&format_uuid(uuid)), Some(uuid));
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in [
            "",
            "AAAAAAAAAAAAAAAAAAAAAR",
            "AAAAAAAAAAAAAAAAAAAA+Q",
            "AAAAAAAAAAAAAAAAAAAAAQQ",
        ] {
            assert_eq!(parse_uuid(text), None, "{text}");
        }
    }
}
