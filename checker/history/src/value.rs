//! Values of foreign histories.

use std::fmt;
use std::sync::Arc;

/// A value as a foreign history has it. JSON's strings and EDN's strings are [`Value::Text`]; EDN's keywords and
/// symbols are [`Value::Keyword`], without the colon.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Value {
    /// nil, null.
    #[default]
    Nil,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number that is not whole, by its bits.
    Float(u64),
    /// A text.
    Text(Arc<str>),
    /// A keyword or symbol.
    Keyword(Arc<str>),
    /// A vector, list or array.
    List(Box<[Value]>),
    /// A set.
    Set(Box<[Value]>),
    /// A map, in the file's order.
    Map(Box<[(Value, Value)]>),
}

impl Value {
    /// The whole number, where it is one.
    pub fn int(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The elements of a list, where it is one.
    pub fn list(&self) -> Option<&[Value]> {
        match self {
            Value::List(elements) => Some(elements),
            _ => None,
        }
    }

    /// A name: a keyword, or a text (JSON has no keywords).
    pub fn name(&self) -> Option<&str> {
        match self {
            Value::Text(name) | Value::Keyword(name) => Some(name),
            _ => None,
        }
    }

    /// What stands under a name, where it is a map.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Map(pairs) => pairs
                .iter()
                .find(|(key, _)| key.name() == Some(name))
                .map(|(_, value)| value),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => f.write_str("nil"),
            Value::Bool(truth) => write!(f, "{truth}"),
            Value::Int(number) => write!(f, "{number}"),
            Value::Float(bits) => write!(f, "{}", f64::from_bits(*bits)),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Keyword(name) => write!(f, ":{name}"),
            Value::List(elements) => sequence(f, "[", elements, "]"),
            Value::Set(elements) => sequence(f, "#{", elements, "}"),
            Value::Map(pairs) => {
                f.write_str("{")?;
                for (place, (key, value)) in pairs.iter().enumerate() {
                    let comma = if place == 0 { "" } else { ", " };
                    write!(f, "{comma}{key} {value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn sequence(f: &mut fmt::Formatter<'_>, open: &str, elements: &[Value], close: &str) -> fmt::Result {
    f.write_str(open)?;
    for (place, element) in elements.iter().enumerate() {
        let space = if place == 0 { "" } else { " " };
        write!(f, "{space}{element}")?;
    }
    f.write_str(close)
}
