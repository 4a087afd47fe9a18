//! Junk of any length, made as it is read.

use history::Format;
use std::io::{self, Read};

/// A kind of junk.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What repeats; nothing for random bytes.
    repeated: &'static [u8],
    /// Whether it stands within a string of an entry.
    in_string: bool,
}

/// All kinds.
pub const KINDS: [Kind; 8] = [
    kind("random", b""),
    kind("line", b"no newline "),
    kind("brackets", b"["),
    kind("spaces", b" "),
    kind("newlines", b"\n"),
    kind("comments", b"; a comment\n"),
    kind("comment", b";"),
    Kind {
        name: "string",
        repeated: b"x",
        in_string: true,
    },
];

const fn kind(name: &'static str, repeated: &'static [u8]) -> Kind {
    Kind {
        name,
        repeated,
        in_string: false,
    }
}

/// A reader of junk.
pub struct Endless<'k> {
    kind: &'k Kind,
    begin: &'static [u8],
    /// How many bytes were read.
    at: u64,
    length: u64,
    random: u64,
}

impl<'k> Endless<'k> {
    /// Junk of a kind, for the reader of a format.
    pub fn new(format: Format, kind: &'k Kind, length: u64) -> Endless<'k> {
        let begin: &[u8] = match (kind.in_string, format) {
            (false, _) => b"",
            (true, Format::JepsenEdn | Format::PorcupineKvEdn) => b"[{:type :ok, :value \"",
            (true, Format::JepsenJson) => b"[{\"type\": \"ok\", \"value\": \"",
            (true, Format::CaseJson) => b"{\"model\": \"",
            (true, Format::PorcupineEtcdLog) => b"INFO jepsen.util - 0 :ok :read \"",
            (true, Format::Ackall) => b"{\"schema\": 1, \"system\": \"",
            (true, _) => b"\"",
        };
        Endless {
            kind,
            begin,
            at: 0,
            length,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    fn random_byte(&mut self) -> u8 {
        // Xorshift.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 32) as u8
    }
}

impl Read for Endless<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.length - self.at).unwrap_or(usize::MAX);
        let count = to.len().min(left);
        for byte in &mut to[..count] {
            let at = self.at as usize;
            self.at += 1;
            *byte = match (self.begin.get(at), self.kind.repeated) {
                (Some(byte), _) => *byte,
                (None, []) => self.random_byte(),
                (None, repeated) => repeated[(at - self.begin.len()) % repeated.len()],
            };
        }
        Ok(count)
    }
}
