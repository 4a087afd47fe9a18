//! Topic ids in Kafka's own text form: the sixteen bytes in URL-safe base64 without padding.

/// A topic's id; nil where it is not known.
pub type TopicId = uuid::Uuid;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Sixteen bytes are 128 bits: 21 letters of six bits and one of two.
const LETTERS: u32 = 22;

/// The text form of an id; empty for the nil id, which means "not known".
pub fn topic_id_text(id: TopicId) -> String {
    if id.is_nil() {
        return String::new();
    }
    let bits = id.as_u128();
    (0..LETTERS)
        .map(|letter| {
            // The last letter has but two bits of its own, and four of padding.
            let six = if letter < LETTERS - 1 {
                bits >> (122 - 6 * letter)
            } else {
                bits << 4
            };
            char::from(ALPHABET[(six & 63) as usize])
        })
        .collect()
}

/// The id that a text form names; none where it is no such text. The empty text is the nil id.
pub fn topic_id_from_text(text: &str) -> Option<TopicId> {
    if text.is_empty() {
        return Some(TopicId::nil());
    }
    if text.len() != LETTERS as usize {
        return None;
    }
    let mut bits: u128 = 0;
    for (at, letter) in text.bytes().enumerate() {
        let six = ALPHABET.iter().position(|known| *known == letter)? as u128;
        if at + 1 < LETTERS as usize {
            bits = bits << 6 | six;
        } else if six & 15 != 0 {
            return None;
        } else {
            bits = bits << 2 | six >> 4;
        }
    }
    Some(TopicId::from_u128(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_forms_go_both_ways() {
        // The metadata topic's id is the number 1, and Kafka prints it so.
        assert_eq!(topic_id_text(TopicId::from_u128(1)), "AAAAAAAAAAAAAAAAAAAAAQ");
        for id in [1, u128::MAX, 0x0123_4567_89ab_cdef_0011_2233_4455_6677] {
            let id = TopicId::from_u128(id);
            assert_eq!(topic_id_from_text(&topic_id_text(id)), Some(id));
        }
    }

    #[test]
    fn what_is_no_id_is_refused() {
        assert_eq!(
            topic_id_from_text("AAAAAAAAAAAAAAAAAAAAAR"),
            None,
            "padding bits are set"
        );
        assert_eq!(topic_id_from_text("short"), None);
        assert_eq!(topic_id_from_text("AAAAAAAAAAAAAAAAAAAA+Q"), None);
    }
}
