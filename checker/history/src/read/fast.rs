//! The lines that a history has most of, sends and polls, read as [`crate::Recorder`] writes them: to the byte. Any
//! other line, and these with their fields in another order, with white space or with escapes, is left to serde, whose
//! reading of such an enum is ten times as slow (it holds each line in memory as a tree first). What is read here serde
//! reads alike: a test holds them against each other.

use crate::{Body, Entry, Key, Kind, Poll, Process, Record, Send};
use std::sync::Arc;

/// What is kept from line to line: the partition that was last, which most lines repeat to the byte.
#[derive(Debug)]
pub(super) struct Fast {
    key: Key,
    /// What stood there, up to the comma behind it; nothing before the first.
    written: Vec<u8>,
}

impl Default for Fast {
    fn default() -> Fast {
        let key = Key {
            topic: "".into(),
            id: "".into(),
            partition: 0,
        };
        let written = Vec::new();
        Fast { key, written }
    }
}

impl Fast {
    /// Reads the line that the bytes begin with into the last place of `entries`, and says how long it is with its
    /// newline. None where it is not written like that.
    pub fn entry(&mut self, bytes: &[u8], entries: &mut Vec<Entry>) -> Option<usize> {
        let mut line = Line(bytes);
        line.pass(b"{\"index\":")?;
        let index = line.unsigned()?;
        line.pass(b",\"time\":")?;
        let time = line.unsigned()?;
        line.pass(b",\"process\":")?;
        let process = Process::Client(line.unsigned()?);
        line.pass(b",\"type\":\"")?;
        let kind = line.kind()?;
        line.pass(b"\",\"f\":\"")?;
        let body = if line.has(b"send\",\"value\":{") {
            Body::Send(self.send(&mut line)?)
        } else {
            line.pass(b"poll\",\"value\":{")?;
            Body::Poll(self.poll(&mut line)?)
        };
        line.pass(b"}}\n")?;
        entries.push(Entry {
            index,
            time,
            process,
            kind,
            body,
        });
        Some(bytes.len() - line.0.len())
    }

    /// The partition; the comma behind it is not passed over.
    fn key(&mut self, line: &mut Line<'_>) -> Option<Key> {
        if let Some(rest) = line.0.strip_prefix(&*self.written)
            && rest.first() == Some(&b',')
            && !self.written.is_empty()
        {
            line.0 = rest;
            return Some(self.key.clone());
        }
        let all = line.0;
        line.pass(b"\"topic\":\"")?;
        let topic = shared(&self.key.topic, line.text()?);
        line.pass(b",\"id\":\"")?;
        let id = shared(&self.key.id, line.text()?);
        line.pass(b",\"partition\":")?;
        let partition = line.signed()?.try_into().ok()?;
        self.key = Key { topic, id, partition };
        self.written = all.get(..all.len() - line.0.len())?.to_vec();
        Some(self.key.clone())
    }

    fn send(&mut self, line: &mut Line<'_>) -> Option<Send> {
        let key = self.key(line)?;
        line.pass(b",\"record\":")?;
        let value = line.unsigned()?;
        line.pass(b",\"acks\":")?;
        let acks = line.signed()?.try_into().ok()?;
        Some(Send {
            key,
            value,
            acks,
            node: line.small_field(b",\"node\":")?,
            offset: line.field(b",\"offset\":")?,
            error: line.text_field(b",\"error\":\"")?,
        })
    }

    fn poll(&mut self, line: &mut Line<'_>) -> Option<Poll> {
        let key = self.key(line)?;
        line.pass(b",\"from\":")?;
        let from = line.signed()?;
        let node = line.small_field(b",\"node\":")?;
        let last = line.has(b",\"last\":true");
        let records = match line.has(b",\"records\":[") {
            true => line.records()?,
            false => Vec::new(),
        };
        Some(Poll {
            key,
            from,
            node,
            last,
            records,
            high_watermark: line.field(b",\"high_watermark\":")?,
            log_start: line.field(b",\"log_start\":")?,
            error: line.text_field(b",\"error\":\"")?,
        })
    }
}

/// The text, in the memory of another where it is the same.
fn shared(last: &Arc<str>, text: &str) -> Arc<str> {
    match **last == *text {
        true => last.clone(),
        false => text.into(),
    }
}

/// So many decimal digits are always below 2^64.
const FITTING_DIGITS: usize = 19;

/// What is left of a line, and of those behind it.
struct Line<'b>(&'b [u8]);

impl<'b> Line<'b> {
    /// Passes over what is there; false where it is not.
    fn has<const N: usize>(&mut self, what: &[u8; N]) -> bool {
        match self.0.split_first_chunk() {
            Some((first, rest)) if first == what => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    /// Passes over what must be there.
    fn pass<const N: usize>(&mut self, what: &[u8; N]) -> Option<()> {
        self.has(what).then_some(())
    }

    /// Digits, as JSON has them: no zero before others, and no more than always fit.
    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        let mut digits = 0_usize;
        for byte in self.0.iter().take(FITTING_DIGITS + 1) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            digits += 1;
        }
        let zero_first = digits > 1 && self.0.first() == Some(&b'0');
        // A point or an exponent makes it another number.
        let goes_on = matches!(self.0.get(digits), Some(b'.' | b'e' | b'E'));
        if digits == 0 || digits > FITTING_DIGITS || zero_first || goes_on {
            return None;
        }
        self.0 = self.0.get(digits..)?;
        Some(value)
    }

    fn signed(&mut self) -> Option<i64> {
        match self.has(b"-") {
            // Minus zero is a float to serde, and the least number has no positive.
            true => i64::try_from(self.unsigned()?)
                .ok()
                .filter(|value| *value > 0)
                .map(|value| -value),
            false => self.unsigned()?.try_into().ok(),
        }
    }

    /// A text up to its quote, which is passed over: without escapes and control characters.
    fn text(&mut self) -> Option<&'b str> {
        let end = self
            .0
            .iter()
            .position(|byte| *byte == b'"' || *byte == b'\\' || *byte < b' ')?;
        let (text, rest) = self.0.split_at_checked(end)?;
        self.0 = rest.strip_prefix(b"\"")?;
        std::str::from_utf8(text).ok()
    }

    /// A field that may be absent. None is what is not written like that.
    fn field<const N: usize>(&mut self, name: &[u8; N]) -> Option<Option<i64>> {
        match self.has(name) {
            true => self.signed().map(Some),
            false => Some(None),
        }
    }

    fn small_field<const N: usize>(&mut self, name: &[u8; N]) -> Option<Option<i32>> {
        match self.field(name)? {
            Some(value) => value.try_into().ok().map(Some),
            None => Some(None),
        }
    }

    fn text_field<const N: usize>(&mut self, name: &[u8; N]) -> Option<Option<String>> {
        match self.has(name) {
            true => self.text().map(|text| Some(text.to_owned())),
            false => Some(None),
        }
    }

    fn kind(&mut self) -> Option<Kind> {
        if self.has(b"invoke") {
            Some(Kind::Invoke)
        } else if self.has(b"ok") {
            Some(Kind::Ok)
        } else if self.has(b"fail") {
            Some(Kind::Fail)
        } else {
            self.pass(b"info").map(|()| Kind::Info)
        }
    }

    /// Records up to the bracket that closes them, which is passed over.
    fn records(&mut self) -> Option<Vec<Record>> {
        let mut records = Vec::new();
        loop {
            self.pass(b"[")?;
            let offset = self.signed()?;
            self.pass(b",")?;
            let value = match self.has(b"null") {
                true => None,
                false => Some(self.unsigned()?),
            };
            self.pass(b",")?;
            let epoch = self.signed()?.try_into().ok()?;
            records.push(Record { offset, value, epoch });
            if self.has(b"]]") {
                return Some(records);
            }
            self.pass(b"],")?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fast;
    use crate::Entry;

    /// Lines as they are written, and what may stand in any place of them.
    const LINES: [&str; 4] = [
        r#"{"index":0,"time":5,"process":3,"type":"invoke","f":"send","value":{"topic":"night","id":"AA","partition":0,"record":7,"acks":-1}}"#,
        r#"{"index":1,"time":9,"process":3,"type":"ok","f":"send","value":{"topic":"n","id":"","partition":2,"record":7,"acks":1,"node":2,"offset":40,"error":"NONE"}}"#,
        r#"{"index":2,"time":9,"process":4,"type":"invoke","f":"poll","value":{"topic":"night","id":"AA","partition":0,"from":0,"node":1}}"#,
        r#"{"index":3,"time":9,"process":4,"type":"fail","f":"poll","value":{"topic":"night","id":"AA","partition":0,"from":-1,"node":1,"last":true,"records":[[0,7,1],[1,null,-1]],"high_watermark":2,"log_start":0,"error":"ä"}}"#,
    ];
    const PIECES: [&str; 31] = [
        "0",
        "1",
        "-",
        "9",
        "00",
        "-0",
        ".",
        "e",
        "18446744073709551615",
        "18446744073709551616",
        "2147483648",
        "-2147483648",
        "-9223372036854775808",
        "9223372036854775807",
        " ",
        "null",
        "true",
        "false",
        "\"",
        "\\",
        "\\u0041",
        ",",
        "[",
        "]",
        "{",
        "}",
        "[1,2,3]",
        ",\"last\":true",
        ",\"error\":\"x\"",
        ",\"node\":null",
        "\u{1}",
    ];

    /// Whether the fast path read it. Where it did, serde must read the same.
    fn agree(line: &str) -> bool {
        let bytes = format!("{line}\n{line}");
        let (mut fast, mut entries) = (Fast::default(), Vec::new());
        let Some(length) = fast.entry(bytes.as_bytes(), &mut entries) else {
            return false;
        };
        assert_eq!(length, line.len() + 1, "{line}");
        let slow: Entry = serde_json::from_str(line).unwrap_or_else(|why| panic!("{line}: {why}"));
        assert_eq!(entries, std::slice::from_ref(&slow), "{line}");
        // The second time its partition is known.
        assert_eq!(fast.entry(bytes.as_bytes(), &mut entries), Some(length), "{line}");
        assert_eq!(entries, [slow.clone(), slow], "{line}");
        true
    }

    #[test]
    fn what_is_written_is_read_here() {
        for line in LINES {
            assert!(agree(line), "{line}");
        }
    }

    #[test]
    fn whatever_is_put_or_left_out_anywhere_is_read_as_serde_does_or_left_to_it() {
        let mut read = 0;
        for line in LINES {
            let places: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
            for at in places.iter().copied() {
                let (before, behind) = line.split_at(at);
                for piece in PIECES {
                    read += u32::from(agree(&format!("{before}{piece}{behind}")));
                    let mut rest = behind.chars();
                    rest.next();
                    read += u32::from(agree(&format!("{before}{piece}{}", rest.as_str())));
                }
                for length in 1..20 {
                    if let Some(rest) = behind.get(length..) {
                        read += u32::from(agree(&format!("{before}{rest}")));
                    }
                }
            }
        }
        assert!(read > 1000, "{read}");
    }
}
