//! Jepsen's EDN, and Porcupine's key-value form of it: maps in one vector, in one list, or one behind the other.
//!
//! The sequence is taken apart here, so that a file is never held whole. A map of the common subset is read by a
//! parser of our own ([`fast`]), any other is cut out ([`form`]) and read by the library ([`library`]).

#[cfg(test)]
mod agreement;
mod fast;
mod form;
mod library;

use super::raw::Raw;
use super::window::Window;
use super::{Format, names::Names};
use crate::{ReadError, Value};
use fast::Fast;
use std::io::BufRead;

/// Deeper brackets are refused: no history has them, and values are compared and dropped by recursion.
pub(super) const DEEPEST: usize = 128;

/// Why a parser stopped before the form's end.
#[derive(Debug, PartialEq)]
pub(super) enum Stop {
    /// The bytes end within the form.
    More,
    /// The form is beyond the common subset, or wrong.
    Unusual,
    /// At that place brackets are nested too deeply.
    Deep(usize),
    /// At that place is something wrong.
    Wrong(usize, String),
}

/// Where in the file we are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Within {
    /// Before anything.
    Start,
    /// In the one vector or list, which this byte closes.
    Sequence(u8),
    /// Among maps that nothing encloses.
    Bare,
    /// Behind the one vector or list.
    Done,
}

/// Reads entries from EDN.
#[derive(Debug)]
pub(super) struct Edn<R> {
    window: Window<R>,
    fast: Fast,
    names: Names,
    within: Within,
    /// Whether each entry has a key beside its value.
    keyed: bool,
}

impl<R: BufRead> Edn<R> {
    pub fn new(reader: R, format: Format) -> Edn<R> {
        Edn {
            window: Window::new(reader, format),
            fast: Fast::default(),
            names: Names::default(),
            within: Within::Start,
            keyed: format == Format::PorcupineKvEdn,
        }
    }

    pub fn begin(&mut self) -> Result<(), ReadError> {
        self.window.begin()
    }

    pub fn next(&mut self) -> Result<Option<Raw>, ReadError> {
        loop {
            let byte = self.next_byte()?;
            match (self.within, byte) {
                (Within::Start, None) => return Err(self.wrong("the file has no entry: expected a map")),
                (Within::Sequence(close), None) => {
                    let why = format!(
                        "the file ends before the {} that closes it: it is cut off",
                        close as char
                    );
                    return Err(self.wrong(why));
                }
                (Within::Bare | Within::Done, None) => return Ok(None),
                (Within::Start, Some(b'[')) => self.enter(b']'),
                (Within::Start, Some(b'(')) => self.enter(b')'),
                (Within::Sequence(close), Some(byte)) if byte == close => {
                    self.window.take(1);
                    self.within = Within::Done;
                }
                (_, Some(b'#')) if self.window.unread().starts_with(b"#_") => self.skip_form()?,
                (Within::Done, Some(_)) => {
                    return Err(self.wrong("expected nothing behind the vector or list of entries"));
                }
                (_, Some(b'{' | b'#')) => {
                    if self.within == Within::Start {
                        self.within = Within::Bare;
                    }
                    return self.entry().map(Some);
                }
                (_, Some(byte)) => {
                    let why = format!(
                        "expected an entry, a map such as {{:process 0, :type :invoke, :f :read, :value nil}}: \
                         found {:?}",
                        char::from(byte)
                    );
                    return Err(self.wrong(why));
                }
            }
        }
    }

    fn enter(&mut self, close: u8) {
        self.window.take(1);
        self.within = Within::Sequence(close);
    }

    fn wrong(&self, why: impl Into<String>) -> ReadError {
        self.window.error(0, why)
    }

    /// The next byte that is neither white space nor a comment; it is not taken.
    fn next_byte(&mut self) -> Result<Option<u8>, ReadError> {
        let mut in_comment = false;
        self.window
            .next_byte(|bytes| form::blank_length(bytes, &mut in_comment))
    }

    /// The length of the form that begins here.
    fn form_length(&mut self) -> Result<usize, ReadError> {
        loop {
            match form::length(self.window.unread(), self.window.ended()) {
                Ok(length) => return Ok(length),
                Err(Stop::More) => self.read_on()?,
                Err(Stop::Deep(place)) => return Err(self.too_deep(place)),
                Err(Stop::Wrong(place, why)) => return Err(self.window.error(place, why)),
                // `form::length` never says so.
                Err(Stop::Unusual) => return Err(self.wrong("expected a form")),
            }
        }
    }

    fn read_on(&mut self) -> Result<(), ReadError> {
        match self.window.more()? {
            true => Ok(()),
            false => Err(self.wrong("the file ends within the form that begins here: it is cut off")),
        }
    }

    fn too_deep(&self, place: usize) -> ReadError {
        let why = format!("brackets are nested deeper than {DEEPEST}: expected an entry");
        self.window.error(place, why)
    }

    /// Passes over `#_` and the form that it discards.
    fn skip_form(&mut self) -> Result<(), ReadError> {
        // `form::length` counts the discarded form and the one behind it; here there may be none behind it.
        self.window.take(2);
        match self.next_byte()? {
            Some(_) => {
                let length = self.form_length()?;
                self.window.take(length);
                Ok(())
            }
            None => Err(self.wrong("the file ends behind #_: expected the form that it discards")),
        }
    }

    fn entry(&mut self) -> Result<Raw, ReadError> {
        loop {
            match self.fast.entry(self.window.unread(), &mut self.names) {
                Ok((raw, length)) => {
                    let raw = self.checked(raw)?;
                    self.window.take(length);
                    return Ok(raw);
                }
                Err(Stop::More) => self.read_on()?,
                Err(Stop::Deep(place)) => return Err(self.too_deep(place)),
                Err(Stop::Wrong(place, why)) => return Err(self.window.error(place, why)),
                Err(Stop::Unusual) => break,
            }
        }
        let length = self.form_length()?;
        let bytes = self.window.unread().get(..length).unwrap_or_default();
        let read = library::entry(bytes, &mut self.names);
        let raw = read.map_err(|(place, why)| self.window.error(place, why))?;
        let raw = self.checked(raw)?;
        self.window.take(length);
        Ok(raw)
    }

    fn checked(&self, mut raw: Raw) -> Result<Raw, ReadError> {
        raw.check().map_err(|why| self.wrong(why))?;
        if self.keyed {
            let Some(key) = raw.key.take() else {
                return Err(self.wrong("the entry has no key: expected :key beside :value"));
            };
            raw.value = Value::List(Box::new([key, raw.value]));
        }
        Ok(raw)
    }
}

/// The first form of a text: of a line that is read elsewhere.
pub(super) fn first_form(text: &str, names: &mut Names, fast: &mut Fast) -> Result<Value, String> {
    // A token ends at what stands behind it.
    let padded = format!("{text} ");
    match fast.value(padded.as_bytes(), names) {
        Ok((value, _)) => return Ok(value),
        Err(Stop::Deep(_)) => return Err(format!("brackets are nested deeper than {DEEPEST}")),
        Err(_) => {}
    }
    let length = match form::length(padded.as_bytes(), true) {
        Ok(length) => length,
        Err(Stop::Wrong(_, why)) => return Err(why),
        Err(_) => return Err("expected a value, such as nil, 1 or [1 2]".into()),
    };
    let form = padded.get(..length).unwrap_or_default();
    library::value(form, names).map_err(|(_, why)| why)
}

pub(super) use fast::Fast as FastEdn;
