//! The formats of foreign histories: their names, and which one a file is in.

use std::fmt;
use std::str::FromStr;

/// A format of histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Jepsen's EDN: one vector, one list, or a bare sequence of maps.
    JepsenEdn,
    /// The same maps as JSON: one array, or one object a line.
    JepsenJson,
    /// One object with `model`, `options` and `history`.
    CaseJson,
    /// Lines of a Jepsen log, as Porcupine reads them.
    PorcupineEtcdLog,
    /// One EDN map a line, with a key and a value: Porcupine's key-value store.
    PorcupineKvEdn,
    /// `r|w(key,value,session,transaction)` a line.
    PlumeText,
    /// `r|w key value` a line, with rules between transactions and sessions.
    AwditTestText,
    /// DBCop's binary.
    DbcopBincode,
    /// This project's own.
    Ackall,
}

/// How many bytes of a file's beginning are worth handing to [`Format::guess`].
pub const GUESS_BYTES: usize = 4096;

impl Format {
    /// All of them.
    pub const ALL: [Format; 9] = [
        Format::JepsenEdn,
        Format::JepsenJson,
        Format::CaseJson,
        Format::PorcupineEtcdLog,
        Format::PorcupineKvEdn,
        Format::PlumeText,
        Format::AwditTestText,
        Format::DbcopBincode,
        Format::Ackall,
    ];

    /// Its name, as `--format` takes it.
    pub fn text(self) -> &'static str {
        match self {
            Format::JepsenEdn => "jepsen-edn",
            Format::JepsenJson => "jepsen-json",
            Format::CaseJson => "case-json",
            Format::PorcupineEtcdLog => "porcupine-etcd-log",
            Format::PorcupineKvEdn => "porcupine-kv-edn",
            Format::PlumeText => "plume-text",
            Format::AwditTestText => "awdit-test-text",
            Format::DbcopBincode => "dbcop-bincode",
            Format::Ackall => "ackall",
        }
    }

    /// Whether the order of a file's entries is real time. In the formats of sessions it is not: only entries of one
    /// process are in order.
    pub fn has_real_time(self) -> bool {
        !matches!(
            self,
            Format::PlumeText | Format::AwditTestText | Format::DbcopBincode
        )
    }

    /// The format of a file, by its first bytes ([`GUESS_BYTES`] are enough) and its name (without `.gz`). None where
    /// they do not tell.
    pub fn guess(first: &[u8], name: &str) -> Option<Format> {
        let text = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first);
        let text = past_comments(text);
        let Some(&byte) = text.first() else {
            return by_name(name);
        };
        match byte {
            b'{' | b'[' if is_json(text) => Some(json(text)),
            b'{' | b'[' | b'(' | b'#' => Some(edn(text)),
            b'I' if text.starts_with(b"INFO") => Some(Format::PorcupineEtcdLog),
            b'-' | b'=' => Some(Format::AwditTestText),
            b'r' | b'w' => match text.get(1) {
                Some(b'(') => Some(Format::PlumeText),
                Some(b' ' | b'\t') => Some(Format::AwditTestText),
                _ => by_name(name),
            },
            _ if find(first, b"jepsen.util - ") => Some(Format::PorcupineEtcdLog),
            _ if first.contains(&0) => Some(Format::DbcopBincode),
            _ => by_name(name),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Format, String> {
        let known = Format::ALL.into_iter().find(|format| format.text() == name);
        known.ok_or_else(|| {
            let names: Vec<_> = Format::ALL.iter().map(|format| format.text()).collect();
            format!("{name} is no format of histories: there are {}", names.join(", "))
        })
    }
}

/// What stands after white space and EDN's comments.
fn past_comments(mut text: &[u8]) -> &[u8] {
    loop {
        let start = text
            .iter()
            .position(|byte| !byte.is_ascii_whitespace() && *byte != b',');
        text = start.and_then(|at| text.get(at..)).unwrap_or_default();
        if text.first() != Some(&b';') {
            return text;
        }
        let end = text.iter().position(|byte| *byte == b'\n');
        text = end.and_then(|at| text.get(at..)).unwrap_or_default();
    }
}

/// Whether what begins with a bracket is JSON: its first name is a string, with a colon behind it.
fn is_json(text: &[u8]) -> bool {
    let start = text
        .iter()
        .position(|byte| !byte.is_ascii_whitespace() && !b"[{".contains(byte));
    let rest = start.and_then(|at| text.get(at..)).unwrap_or_default();
    match rest.split_first() {
        Some((b'"', name)) => {
            let after = name.iter().position(|byte| *byte == b'"').map(|at| at + 1);
            let colon = after.and_then(|at| name.get(at..)).unwrap_or_default();
            colon.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
        }
        _ => false,
    }
}

fn json(text: &[u8]) -> Format {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if text.first() == Some(&b'[') {
        Format::JepsenJson
    } else if find(line, b"\"ackall_version\"") {
        Format::Ackall
    } else if find(text, b"\"history\"") || find(text, b"\"model\"") {
        Format::CaseJson
    } else {
        Format::JepsenJson
    }
}

/// Porcupine's has a bare map a line, each with a key of its own (not one within its value).
fn edn(text: &[u8]) -> Format {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut depth = 0_i32;
    for (at, byte) in line.iter().enumerate() {
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth -= 1,
            b':' if depth == 1 && line.first() == Some(&b'{') && line[at..].starts_with(b":key ") => {
                return Format::PorcupineKvEdn;
            }
            _ => {}
        }
    }
    Format::JepsenEdn
}

fn by_name(name: &str) -> Option<Format> {
    match name.rsplit('.').next()? {
        "edn" => Some(Format::JepsenEdn),
        "json" => Some(Format::JepsenJson),
        "jsonl" => Some(Format::Ackall),
        "log" => Some(Format::PorcupineEtcdLog),
        "bincode" | "bin" => Some(Format::DbcopBincode),
        _ => None,
    }
}

fn find(text: &[u8], what: &[u8]) -> bool {
    text.windows(what.len()).any(|window| window == what)
}
