//! A parser of the common subset of EDN: maps, vectors, lists, sets, keywords, whole and other numbers, strings, nil,
//! truth values, plain symbols. At anything else it stops, and the library reads that form.
//!
//! It is here for speed alone: of a list-append history of 100,000 transactions (36 MB) the library takes 3.4 times as
//! long, 0.94 s against 0.28 s on one and the same busy machine (`examples/speed_of_reading.rs`). What both read they
//! read alike (`agreement` holds them against each other).

use super::super::duplicates::any_twice;
use super::super::names::Names;
use super::super::raw::{Raw, Taken};
use super::form::{closing, ends_token, is_blank, is_in_names};
use super::{DEEPEST, Stop};
use crate::Value;
use std::ops::Range;

/// The parser's scratch space, kept from form to form.
#[derive(Debug, Default)]
pub(in super::super) struct Fast {
    /// Finished values of the brackets that are open.
    values: Vec<Value>,
    open: Vec<Open>,
    /// Where the names of an entry's unknown fields stand.
    unknown: Vec<Range<usize>>,
}

/// A bracket that is open.
#[derive(Debug)]
struct Open {
    close: u8,
    is_set: bool,
    /// How many finished values there were before it.
    start: usize,
}

impl Fast {
    /// Reads an entry, and says how long it is.
    pub(super) fn entry(&mut self, bytes: &[u8], names: &mut Names) -> Result<(Raw, usize), Stop> {
        if bytes.first() != Some(&b'{') {
            return Err(Stop::Unusual);
        }
        let mut raw = Raw::new(names.none());
        self.unknown.clear();
        let mut at = 1;
        loop {
            at = past_blank(bytes, at)?;
            match bytes.get(at) {
                Some(b'}') => return Ok((raw, at + 1)),
                Some(b':') => {}
                _ => return Err(Stop::Unusual),
            }
            let name = at + 1..token_end(bytes, at + 1)?;
            let (value, end) = self.value_from(bytes, name.end, names)?;
            at = end;
            match raw.take(part(bytes, &name), value) {
                Ok(Taken::Yes) => {}
                Ok(Taken::Unknown) => self.unknown_field(bytes, name)?,
                Err(why) => return Err(Stop::Wrong(name.start, why)),
            }
        }
    }

    /// Reads a value, and says how long it is.
    pub(in super::super) fn value(
        &mut self,
        bytes: &[u8],
        names: &mut Names,
    ) -> Result<(Value, usize), Stop> {
        self.value_from(bytes, 0, names)
    }

    /// A field that means nothing here; but it must not stand twice.
    fn unknown_field(&mut self, bytes: &[u8], name: Range<usize>) -> Result<(), Stop> {
        let same = |other: &Range<usize>| part(bytes, other) == part(bytes, &name);
        if !is_plain(part(bytes, &name)) || self.unknown.len() >= DEEPEST || self.unknown.iter().any(same) {
            return Err(Stop::Unusual);
        }
        self.unknown.push(name);
        Ok(())
    }

    fn value_from(&mut self, bytes: &[u8], mut at: usize, names: &mut Names) -> Result<(Value, usize), Stop> {
        self.values.clear();
        self.open.clear();
        loop {
            at = past_blank(bytes, at)?;
            let byte = *bytes.get(at).ok_or(Stop::More)?;
            // Most values are small numbers in lists.
            if byte.is_ascii_digit() && !self.open.is_empty() {
                let end = self.numbers(bytes, at);
                if end > at {
                    at = end;
                    continue;
                }
            }
            let (value, end) = match byte {
                b'[' | b'(' | b'{' => {
                    self.begin(byte, false, at)?;
                    at += 1;
                    continue;
                }
                b'#' if bytes.get(at + 1) == Some(&b'{') => {
                    self.begin(b'{', true, at)?;
                    at += 2;
                    continue;
                }
                b']' | b')' | b'}' => (self.end(byte)?, at + 1),
                b'"' => string(bytes, at + 1, names)?,
                b':' => {
                    let end = token_end(bytes, at + 1)?;
                    (keyword(part(bytes, &(at + 1..end)), names)?, end)
                }
                b'0'..=b'9' | b'-' | b'+' => number(bytes, at)?,
                b'a'..=b'z' | b'A'..=b'Z' => {
                    let end = token_end(bytes, at)?;
                    (word(part(bytes, &(at..end)), names)?, end)
                }
                _ => return Err(Stop::Unusual),
            };
            at = end;
            if self.open.is_empty() {
                return Ok((value, at));
            }
            self.values.push(value);
        }
    }

    /// Reads small numbers with single spaces between them, as many as there are, and gives the place behind.
    fn numbers(&mut self, bytes: &[u8], mut at: usize) -> usize {
        while let Some((number, end)) = small_number(bytes, at) {
            self.values.push(Value::Int(number));
            at = end;
            if bytes.get(at) == Some(&b' ') {
                at += 1;
            }
        }
        at
    }

    fn begin(&mut self, bracket: u8, is_set: bool, at: usize) -> Result<(), Stop> {
        // The entry's own bracket counts.
        if self.open.len() + 1 >= DEEPEST {
            return Err(Stop::Deep(at));
        }
        self.open.push(Open {
            close: closing(bracket),
            is_set,
            start: self.values.len(),
        });
        Ok(())
    }

    fn end(&mut self, bracket: u8) -> Result<Value, Stop> {
        let open = self.open.pop().ok_or(Stop::Unusual)?;
        if open.close != bracket {
            return Err(Stop::Unusual);
        }
        // A bracket's start is never beyond the values: each is popped before those below it.
        let inner = self.values.split_off(open.start.min(self.values.len()));
        if open.close != b'}' {
            return Ok(Value::List(inner.into()));
        }
        if !open.is_set {
            return map(inner);
        }
        match any_twice(inner.iter()) {
            true => Err(Stop::Unusual),
            false => Ok(Value::Set(inner.into())),
        }
    }
}

fn map(inner: Vec<Value>) -> Result<Value, Stop> {
    let mut pairs = Vec::with_capacity(inner.len() / 2);
    let mut inner = inner.into_iter();
    while let Some(key) = inner.next() {
        pairs.push((key, inner.next().ok_or(Stop::Unusual)?));
    }
    match any_twice(pairs.iter().map(|(key, _)| key)) {
        true => Err(Stop::Unusual),
        false => Ok(Value::Map(pairs.into())),
    }
}

fn part<'a>(bytes: &'a [u8], range: &Range<usize>) -> &'a [u8] {
    bytes.get(range.clone()).unwrap_or_default()
}

/// The place behind white space and comments.
fn past_blank(bytes: &[u8], mut at: usize) -> Result<usize, Stop> {
    loop {
        match bytes.get(at) {
            None => return Err(Stop::More),
            Some(byte) if is_blank(*byte) => at += 1,
            Some(b';') => {
                let rest = bytes.get(at..).unwrap_or_default();
                let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                at += end.ok_or(Stop::More)?;
            }
            Some(_) => return Ok(at),
        }
    }
}

fn token_end(bytes: &[u8], from: usize) -> Result<usize, Stop> {
    let rest = bytes.get(from..).unwrap_or_default();
    let length = rest.iter().position(|byte| ends_token(*byte));
    length.map(|length| from + length).ok_or(Stop::More)
}

/// Whether a name is one in any reading of EDN: letters, digits and a few signs.
fn is_plain(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| is_in_names(*byte))
}

fn keyword(name: &[u8], names: &mut Names) -> Result<Value, Stop> {
    match is_plain(name) {
        true => Ok(Value::Keyword(names.ascii(name).ok_or(Stop::Unusual)?)),
        false => Err(Stop::Unusual),
    }
}

fn word(word: &[u8], names: &mut Names) -> Result<Value, Stop> {
    match word {
        b"nil" => Ok(Value::Nil),
        b"true" => Ok(Value::Bool(true)),
        b"false" => Ok(Value::Bool(false)),
        name => keyword(name, names),
    }
}

/// More digits than that may not fit.
const SMALL_DIGITS: usize = 18;

/// A number of few digits without a sign, whose end is in sight; none is anything else.
fn small_number(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let rest = bytes.get(at..)?;
    let mut value = 0_i64;
    let mut length = 0;
    loop {
        let byte = *rest.get(length)?;
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            let octal = length > 1 && rest.first() == Some(&b'0');
            let whole = length > 0 && ends_token(byte) && !octal;
            return whole.then_some((value, at + length));
        }
        if length == SMALL_DIGITS {
            return None;
        }
        value = value * 10 + i64::from(digit);
        length += 1;
    }
}

/// A number of decimal digits; one that begins with a zero may be octal, and is left to the library.
fn number(bytes: &[u8], at: usize) -> Result<(Value, usize), Stop> {
    let signed = matches!(bytes.get(at), Some(b'-' | b'+'));
    let negative = bytes.get(at) == Some(&b'-');
    let first = at + usize::from(signed);
    let mut end = first;
    let mut value = 0_i64;
    let mut overflow = false;
    while let Some(digit @ b'0'..=b'9') = bytes.get(end) {
        let digit = i64::from(digit - b'0');
        let next = value.checked_mul(10).and_then(|v| match negative {
            true => v.checked_sub(digit),
            false => v.checked_add(digit),
        });
        overflow |= next.is_none();
        value = next.unwrap_or(0);
        end += 1;
    }
    match bytes.get(end) {
        None => Err(Stop::More),
        Some(byte) if ends_token(*byte) && end > first && !overflow => {
            let octal = end - first > 1 && bytes.get(first) == Some(&b'0');
            match octal {
                true => Err(Stop::Unusual),
                false => Ok((Value::Int(value), end)),
            }
        }
        Some(b'.' | b'e' | b'E') if end > first => float(bytes, at),
        Some(_) => Err(Stop::Unusual),
    }
}

fn float(bytes: &[u8], at: usize) -> Result<(Value, usize), Stop> {
    let end = token_end(bytes, at)?;
    let token = std::str::from_utf8(part(bytes, &(at..end))).map_err(|_| Stop::Unusual)?;
    let value: f64 = token.parse().map_err(|_| Stop::Unusual)?;
    Ok((Value::Float(value.to_bits()), end))
}

fn string(bytes: &[u8], from: usize, names: &mut Names) -> Result<(Value, usize), Stop> {
    let rest = bytes.get(from..).unwrap_or_default();
    let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
    let length = end.ok_or(Stop::More)?;
    if rest.get(length) == Some(&b'\\') {
        return escaped_string(rest, from);
    }
    let text = std::str::from_utf8(part(rest, &(0..length))).map_err(|_| Stop::Unusual)?;
    Ok((Value::Text(names.get(text)), from + length + 1))
}

/// A string with escapes, which the library knows fewer of.
fn escaped_string(rest: &[u8], from: usize) -> Result<(Value, usize), Stop> {
    let mut text = Vec::new();
    let mut at = 0;
    loop {
        let byte = *rest.get(at).ok_or(Stop::More)?;
        at += 1;
        match byte {
            b'"' => break,
            b'\\' => {
                let letter = *rest.get(at).ok_or(Stop::More)?;
                at += 1;
                match letter {
                    b'n' => text.push(b'\n'),
                    b't' => text.push(b'\t'),
                    b'r' => text.push(b'\r'),
                    b'b' => text.push(8),
                    b'f' => text.push(12),
                    b'"' | b'\\' => text.push(letter),
                    b'u' => {
                        let letter = unicode(rest.get(at..at + 4).ok_or(Stop::More)?)?;
                        text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                        at += 4;
                    }
                    _ => return Err(Stop::Unusual),
                }
            }
            byte => text.push(byte),
        }
    }
    let text = String::from_utf8(text).map_err(|_| Stop::Unusual)?;
    Ok((Value::Text(text.into()), from + at))
}

fn unicode(digits: &[u8]) -> Result<char, Stop> {
    let digits = std::str::from_utf8(digits).map_err(|_| Stop::Unusual)?;
    let code = u32::from_str_radix(digits, 16).map_err(|_| Stop::Unusual)?;
    char::from_u32(code).ok_or(Stop::Unusual)
}
