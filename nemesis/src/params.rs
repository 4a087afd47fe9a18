//! What a fault may be told: numbers in stated units and bounds, or one word of several.

use std::collections::BTreeMap;
use std::fmt;

/// One parameter. Its name ends in its unit (`delay_ms`, `loss_percent`) where it has one.
#[derive(Debug)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub text: &'static str,
    /// What it may be.
    pub kind: Kind,
}

/// What a parameter may be.
#[derive(Debug)]
pub enum Kind {
    /// A number, both ends included.
    Number {
        /// The least.
        least: f64,
        /// The greatest.
        most: f64,
        /// What it is where nothing is said.
        default: Default,
    },
    /// One of these words; the first where nothing is said.
    Word(&'static [&'static str]),
    /// Any text (a topic's name, a setting's value); the default where nothing is said.
    Text(&'static str),
}

/// What a number is where nothing is said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// This.
    Is(f64),
    /// It must be said.
    Needed,
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A word or a text.
    Text(String),
}

/// A fault's parameters: complete, and within bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Params(BTreeMap<&'static str, Value>);

/// A parameter that will not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// Its name.
    pub name: String,
    /// Why, and what would do.
    pub why: String,
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.why)
    }
}

impl std::error::Error for ParamError {}

impl Params {
    /// Checks what was said against what may be, and fills in what was not.
    ///
    /// # Errors
    /// The first parameter that is unknown, missing, of the wrong kind or out of bounds.
    pub fn check(may: &'static [Param], said: &BTreeMap<String, Value>) -> Result<Params, ParamError> {
        let error = |name: &str, why: String| ParamError {
            name: name.into(),
            why,
        };
        for name in said.keys() {
            if !may.iter().any(|param| param.name == name) {
                let names: Vec<_> = may.iter().map(|param| param.name).collect();
                let there_are = if names.is_empty() {
                    "this fault has no parameters".into()
                } else {
                    format!("there is no such parameter; there are {}", names.join(", "))
                };
                return Err(error(name, there_are));
            }
        }
        let mut params = BTreeMap::new();
        for param in may {
            let value = param.value(said.get(param.name));
            params.insert(param.name, value.map_err(|why| error(param.name, why))?);
        }
        Ok(Params(params))
    }

    /// The number of that name.
    ///
    /// # Panics
    /// Where the fault's own list has no such number: a mistake in the fault's file, which its tests meet.
    pub fn number(&self, name: &str) -> f64 {
        match self.0.get(name) {
            Some(Value::Number(number)) => *number,
            other => panic!("the fault has no number {name:?} in its list of parameters: {other:?}"),
        }
    }

    /// The word or text of that name.
    ///
    /// # Panics
    /// As [`Params::number`].
    pub fn text(&self, name: &str) -> &str {
        match self.0.get(name) {
            Some(Value::Text(text)) => text,
            other => panic!("the fault has no text {name:?} in its list of parameters: {other:?}"),
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }
}

impl Param {
    fn value(&self, said: Option<&Value>) -> Result<Value, String> {
        match (&self.kind, said) {
            (Kind::Number { least, most, .. }, Some(Value::Number(number))) => {
                if (*least..=*most).contains(number) {
                    Ok(Value::Number(*number))
                } else {
                    Err(format!("{number} is out of bounds: {least} to {most}"))
                }
            }
            (Kind::Number { least, most, .. }, Some(Value::Text(_))) => {
                Err(format!("a number from {least} to {most} is wanted"))
            }
            (
                Kind::Number {
                    default: Default::Is(number),
                    ..
                },
                None,
            ) => Ok(Value::Number(*number)),
            (Kind::Number { least, most, .. }, None) => {
                Err(format!("it must be said: a number from {least} to {most}"))
            }
            (Kind::Word(words), Some(Value::Text(word))) if words.contains(&word.as_str()) => {
                Ok(Value::Text(word.clone()))
            }
            (Kind::Word(words), Some(_)) => Err(format!("one of {} is wanted", words.join(", "))),
            (Kind::Word(words), None) => Ok(Value::Text(words.first().copied().unwrap_or_default().into())),
            (Kind::Text(_), Some(Value::Text(text))) => Ok(Value::Text(text.clone())),
            (Kind::Text(_), Some(Value::Number(_))) => Err("a text is wanted".into()),
            (Kind::Text(default), None) => Ok(Value::Text((*default).into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAY: &[Param] = &[
        Param {
            name: "delay_ms",
            text: "How long.",
            kind: Kind::Number {
                least: 0.0,
                most: 10.0,
                default: Default::Needed,
            },
        },
        Param {
            name: "way",
            text: "Which way.",
            kind: Kind::Word(&["both", "in"]),
        },
    ];

    fn said(pairs: &[(&str, Value)]) -> BTreeMap<String, Value> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_string(), value.clone()))
            .collect()
    }

    #[test]
    fn what_is_not_said_is_filled_in() {
        let params = Params::check(MAY, &said(&[("delay_ms", Value::Number(10.0))])).unwrap();
        assert_eq!((params.number("delay_ms"), params.text("way")), (10.0, "both"));
    }

    #[test]
    fn what_will_not_do_is_named() {
        for (bad, name) in [
            (said(&[]), "delay_ms"),
            (said(&[("delay_ms", Value::Number(10.1))]), "delay_ms"),
            (said(&[("delay_ms", Value::Text("long".into()))]), "delay_ms"),
            (
                said(&[
                    ("delay_ms", Value::Number(1.0)),
                    ("way", Value::Text("out".into())),
                ]),
                "way",
            ),
            (
                said(&[("delay_ms", Value::Number(1.0)), ("speed", Value::Number(1.0))]),
                "speed",
            ),
        ] {
            assert_eq!(Params::check(MAY, &bad).unwrap_err().name, name);
        }
    }
}
