//! Keys and values by number.

use history::Value;
use rustc_hash::FxHashMap;

/// A value as one number: whole numbers as themselves, all else by its place among those met, from the least number
/// up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::txn) struct Datum(i64);

impl Datum {
    /// The number, where it is small and not negative: what most histories write.
    pub(super) fn small(self, below: usize) -> Option<usize> {
        usize::try_from(self.0).ok().filter(|number| *number < below)
    }
}

/// Numbers from here on are themselves.
const PLAIN: i64 = i64::MIN + (1 << 32);

/// The keys, and values that are no small numbers.
#[derive(Debug, Default)]
pub(in crate::txn) struct Keys {
    names: Vec<Datum>,
    numbers: FxHashMap<Datum, u32>,
    others: Vec<Value>,
    places: FxHashMap<Value, i64>,
}

impl Keys {
    /// A value as a number.
    pub(super) fn datum(&mut self, value: &Value) -> Datum {
        match value {
            Value::Int(number) if *number >= PLAIN => Datum(*number),
            other => Datum(self.other(other)),
        }
    }

    fn other(&mut self, value: &Value) -> i64 {
        if let Some(place) = self.places.get(value) {
            return *place;
        }
        // No memory holds 2^32 values.
        let place = i64::MIN + self.others.len() as i64;
        self.others.push(value.clone());
        self.places.insert(value.clone(), place);
        place
    }

    /// A key's number.
    pub(super) fn key(&mut self, value: &Value) -> u32 {
        let datum = self.datum(value);
        let next = self.names.len() as u32;
        let key = *self.numbers.entry(datum).or_insert(next);
        if key == next {
            self.names.push(datum);
        }
        key
    }

    /// How many keys there are.
    pub(in crate::txn) fn count(&self) -> u32 {
        self.names.len() as u32
    }

    /// A key's name, for people.
    pub(in crate::txn) fn name(&self, key: u32) -> String {
        self.value(self.names[key as usize])
    }

    /// A value, for people.
    pub(in crate::txn) fn value(&self, datum: Datum) -> String {
        if datum.0 >= PLAIN {
            return datum.0.to_string();
        }
        match &self.others[(datum.0 - i64::MIN) as usize] {
            Value::Keyword(name) | Value::Text(name) => name.to_string(),
            other => other.to_string(),
        }
    }
}
