//! Values of histories as models hold them: by number, each once.

use history::Value;
use rustc_hash::FxHashMap;

/// Values by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    numbers: FxHashMap<Value, u32>,
    values: Vec<Value>,
}

impl Values {
    /// The number of a value.
    pub(crate) fn number(&mut self, value: &Value) -> u32 {
        if let Some(known) = self.numbers.get(value) {
            return *known;
        }
        // A history has fewer than 2^32 values: each takes more than a byte of its file, and of memory far more.
        let number = self.values.len() as u32;
        self.numbers.insert(value.clone(), number);
        self.values.push(value.clone());
        number
    }

    /// The value of a number.
    pub(crate) fn value(&self, number: u32) -> &Value {
        // Numbers come from `number` alone.
        &self.values[number as usize]
    }

    /// The number of a value that has one; of another the greatest, which no value has.
    pub(crate) fn find(&self, value: &Value) -> u32 {
        self.numbers.get(value).copied().unwrap_or(u32::MAX)
    }

    /// All of them, by number.
    pub(crate) fn all(&self) -> &[Value] {
        &self.values
    }

    /// The values of numbers, as a list in words.
    pub(crate) fn list(&self, numbers: &[u32]) -> String {
        let words: Vec<_> = numbers
            .iter()
            .take(MOST_IN_WORDS)
            .map(|number| self.value(*number).to_string())
            .collect();
        let more = numbers.len().saturating_sub(MOST_IN_WORDS);
        match more {
            0 => format!("[{}]", words.join(" ")),
            _ => format!("[{} and {more} more]", words.join(" ")),
        }
    }
}

/// The most elements of a list that are worth saying.
const MOST_IN_WORDS: usize = 20;

/// A whole number.
pub(crate) fn whole(what: &str, value: &Value) -> Result<i64, String> {
    value
        .int()
        .ok_or_else(|| format!("expected a whole number as {what}, found {value}"))
}

/// The elements of a list or a set.
pub(crate) fn elements<'a>(what: &str, value: &'a Value) -> Result<&'a [Value], String> {
    match value {
        Value::List(elements) | Value::Set(elements) => Ok(elements),
        _ => Err(format!("expected a list as {what}, found {value}")),
    }
}
