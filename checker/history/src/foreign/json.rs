//! JSON: Jepsen's entries in one array or one behind the other, and cases: an object with `model`, `options` and
//! `history`. Each element is read by itself.

use super::Format;
use super::duplicates::any_twice;
use super::names::Names;
use super::raw::Raw;
use super::window::{Window, white_space};
use crate::{ReadError, Value};
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::io::BufRead;

/// Where in the file we are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Within {
    /// Before anything.
    Start,
    /// In the array, before its first element.
    First,
    /// In the array, behind an element.
    Array,
    /// Among objects that nothing encloses.
    Bare,
    /// Behind the array.
    Done,
}

/// Reads entries from JSON.
#[derive(Debug)]
pub(super) struct Json<R> {
    window: Window<R>,
    names: Names,
    within: Within,
    is_case: bool,
    /// The model that a case names.
    pub model: Option<String>,
    /// The options that a case gives.
    pub options: Vec<(String, Value)>,
}

impl<R: BufRead> Json<R> {
    pub fn new(reader: R, format: Format) -> Json<R> {
        Json {
            window: Window::new(reader, format),
            names: Names::default(),
            within: Within::Start,
            is_case: format == Format::CaseJson,
            model: None,
            options: Vec::new(),
        }
    }

    /// Reads what stands before the entries.
    pub fn begin(&mut self) -> Result<(), ReadError> {
        self.window.begin()?;
        if self.is_case {
            self.expect(
                b'{',
                "expected a case: {\"model\": …, \"options\": {…}, \"history\": […]}",
            )?;
            while !self.case_field()? {
                self.expect(b',', "expected a comma and the case's next field")?;
            }
        }
        Ok(())
    }

    pub fn next(&mut self) -> Result<Option<Raw>, ReadError> {
        loop {
            let byte = self.next_byte()?;
            match (self.within, byte) {
                (Within::Start, None) => {
                    return Err(self.wrong("the file has no entry: expected an array of objects"));
                }
                (Within::First | Within::Array, None) => {
                    return Err(
                        self.wrong("the file ends before the ] that closes its entries: it is cut off")
                    );
                }
                (Within::Bare | Within::Done, None) => return Ok(None),
                (Within::Start, Some(b'[')) => {
                    self.window.take(1);
                    self.within = Within::First;
                }
                (Within::First | Within::Array, Some(b']')) => {
                    self.window.take(1);
                    self.within = Within::Done;
                    if self.is_case {
                        self.end_case()?;
                    }
                }
                (Within::Array, Some(b',')) => {
                    self.window.take(1);
                    self.next_byte()?;
                    return self.entry().map(Some);
                }
                (Within::Array, Some(_)) => {
                    return Err(self.wrong("expected a comma and the next entry, or ]"));
                }
                (Within::Done, Some(_)) => {
                    return Err(self.wrong("expected nothing behind the array of entries"));
                }
                (Within::Start | Within::Bare, Some(_)) => {
                    self.within = Within::Bare;
                    return self.entry().map(Some);
                }
                (Within::First, Some(_)) => {
                    self.within = Within::Array;
                    return self.entry().map(Some);
                }
            }
        }
    }

    fn wrong(&self, why: impl Into<String>) -> ReadError {
        self.window.error(0, why)
    }

    /// The next byte that is no white space; it is not taken.
    fn next_byte(&mut self) -> Result<Option<u8>, ReadError> {
        self.window.next_byte(white_space)
    }

    fn expect(&mut self, byte: u8, why: &str) -> Result<(), ReadError> {
        match self.next_byte()? {
            Some(found) if found == byte => {
                self.window.take(1);
                Ok(())
            }
            _ => Err(self.wrong(why)),
        }
    }

    fn entry(&mut self) -> Result<Raw, ReadError> {
        if self.window.unread().first() != Some(&b'{') {
            return Err(self.wrong(
                "expected an entry, an object such as {\"process\": 0, \"type\": \"invoke\", \"f\": \"read\"}",
            ));
        }
        let (raw, length) = self.read(|names, json| EntrySeed(names).deserialize(json))?;
        raw.check().map_err(|why| self.wrong(why))?;
        self.window.take(length);
        Ok(raw)
    }

    /// Reads and takes a value.
    fn value(&mut self) -> Result<Value, ReadError> {
        let (value, length) = self.read(|names, json| ValueSeed(names).deserialize(json))?;
        self.window.take(length);
        Ok(value)
    }

    /// Reads what begins here, and says how long it is.
    fn read<T>(
        &mut self,
        read: impl Fn(&mut Names, &mut SliceDeserializer<'_>) -> serde_json::Result<T>,
    ) -> Result<(T, usize), ReadError> {
        loop {
            let unread = self.window.unread();
            let mut json = serde_json::Deserializer::from_slice(unread);
            let found = read(&mut self.names, &mut json);
            let length = json.into_iter::<IgnoredAny>().byte_offset();
            match found {
                // A number may go on behind what is in memory.
                Ok(_) if length == unread.len() && !self.window.ended() => {
                    self.window.more()?;
                }
                Ok(found) => return Ok((found, length)),
                Err(error) if error.is_eof() => {
                    if !self.window.more()? {
                        return Err(self.wrong("the file ends within what begins here: it is cut off"));
                    }
                }
                Err(error) => return Err(self.told(&error)),
            }
        }
    }

    fn told(&self, error: &serde_json::Error) -> ReadError {
        // The library counts lines from 1, from the element's beginning.
        let below = error.line().saturating_sub(1);
        let text = error.to_string();
        let why = text.split(" at line ").next().unwrap_or_default();
        let mut lines = self.window.unread().split_inclusive(|byte| *byte == b'\n');
        let place = lines.by_ref().take(below).map(<[u8]>::len).sum();
        self.window.error(place, why)
    }

    /// Reads a field of a case; true where its entries begin.
    fn case_field(&mut self) -> Result<bool, ReadError> {
        self.next_byte()?;
        let name = self.value()?;
        let Value::Text(name) = name else {
            return Err(self.wrong("expected a field's name"));
        };
        self.expect(b':', "expected a colon behind the field's name")?;
        self.next_byte()?;
        if &*name == "history" {
            self.expect(b'[', "expected the array of entries")?;
            self.within = Within::First;
            return Ok(true);
        }
        let value = self.value()?;
        match (&*name, value) {
            ("model", Value::Text(model)) => self.model = Some(model.to_string()),
            ("model", _) => return Err(self.wrong("expected the model's name, a string")),
            ("options", Value::Map(options)) => {
                let options = options.into_iter();
                self.options = options
                    .map(|(key, value)| (key.name().unwrap_or_default().to_owned(), value))
                    .collect();
            }
            ("options", Value::Nil) => {}
            ("options", _) => return Err(self.wrong("expected the options, an object")),
            _ => {}
        }
        Ok(false)
    }

    /// Passes over what stands behind a case's entries.
    fn end_case(&mut self) -> Result<(), ReadError> {
        loop {
            match self.next_byte()? {
                Some(b'}') => {
                    self.window.take(1);
                    return Ok(());
                }
                Some(b',') => {
                    self.window.take(1);
                    self.next_byte()?;
                    let name = self.value()?;
                    if matches!(name.name(), Some("model" | "options" | "history")) {
                        let why =
                            format!("{name} stands behind the history: expected model and options before it");
                        return Err(self.wrong(why));
                    }
                    self.expect(b':', "expected a colon behind the field's name")?;
                    self.next_byte()?;
                    self.value()?;
                }
                _ => return Err(self.wrong("expected a comma or the } that closes the case")),
            }
        }
    }
}

type SliceDeserializer<'a> = serde_json::Deserializer<serde_json::de::SliceRead<'a>>;

/// Reads an entry.
struct EntrySeed<'n>(&'n mut Names);

impl<'de> DeserializeSeed<'de> for EntrySeed<'_> {
    type Value = Raw;

    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<Raw, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for EntrySeed<'_> {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an entry, an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut raw = Raw::new(self.0.none());
        while let Some(name) = map.next_key_seed(ValueSeed(self.0))? {
            let name = name.name().unwrap_or_default();
            // What means nothing here may be of any length and any numbers.
            if !Raw::has(name.as_bytes()) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = map.next_value_seed(ValueSeed(self.0))?;
            raw.take(name.as_bytes(), value).map_err(A::Error::custom)?;
        }
        Ok(raw)
    }
}

/// Reads a value. The library refuses brackets that are nested deeper than 128.
struct ValueSeed<'n>(&'n mut Names);

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        json.deserialize_any(self)
    }
}

/// Numbers from here on are no 64-bit ones; the library makes floats of them, silently.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, with numbers of 64 bits")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Int(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        let number = i64::try_from(number).map_err(|_| E::custom(beyond(number)))?;
        Ok(Value::Int(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        match number.abs() < BEYOND {
            true => Ok(Value::Float(number.to_bits())),
            false => Err(E::custom(beyond(number))),
        }
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(self.0.get(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element_seed(ValueSeed(self.0))? {
            elements.push(element);
        }
        Ok(Value::List(elements.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(key) = map.next_key_seed(ValueSeed(self.0))? {
            pairs.push((key, map.next_value_seed(ValueSeed(self.0))?));
        }
        match any_twice(pairs.iter().map(|(key, _)| key)) {
            true => Err(A::Error::custom(
                "a key stands twice in one object: expected it once",
            )),
            false => Ok(Value::Map(pairs.into())),
        }
    }
}

fn beyond(number: impl fmt::Display) -> String {
    format!("{number} is beyond 64 bits: expected a number from -2^63 to 2^63 - 1")
}
