//! Strings under keys, each key by itself: `get`, `put`, and `append` to what is there. A key holds the empty string at
//! first, or what is given.
//!
//! Values are `[key string]`. A get of an absent key may answer nil. What failed did not happen; a put or an append
//! without an answer may have.
//!
//! A state is no string but its place in the tree of what gets answered ([`Prefixes`]): a string that begins none of
//! their answers is as good as any other such string, for nobody ever saw it.

use super::prefixes::{Place, Prefixes};
use crate::linear::Model;
use crate::linear::model::{Completion, Decoded, Recorded};
use crate::linear::operations::Operation;
use history::Value;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A string under each key.
#[derive(Clone, Debug)]
pub(crate) struct KeyValue {
    initial: Arc<str>,
    /// What was put and appended, by number. Shared with what is fitted.
    texts: Arc<Texts>,
    gets: Prefixes,
}

#[derive(Clone, Debug, Default)]
struct Texts {
    numbers: FxHashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

/// What was done under a key, and what it answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KeyValueOp {
    /// This was there.
    Get(Arc<str>),
    /// This replaced what was there.
    Put(u32),
    /// This was added to what was there.
    Append(u32),
}

impl KeyValue {
    /// One that begins with this under every key; with the empty string where nothing is given.
    ///
    /// # Errors
    /// Where that is no string.
    pub(crate) fn new(initial: Option<&Value>) -> Result<KeyValue, String> {
        Ok(KeyValue {
            initial: initial.map_or(Ok("".into()), |value| string("the initial value", value))?,
            texts: Arc::default(),
            gets: Prefixes::default(),
        })
    }

    fn number(&mut self, text: Arc<str>) -> u32 {
        let held = Arc::make_mut(&mut self.texts);
        *held.numbers.entry(text).or_insert_with_key(|text| {
            held.texts.push(text.clone());
            // A history has fewer than 2^32 of them: it would not fit into memory.
            held.texts.len() as u32 - 1
        })
    }

    fn text(&self, number: u32) -> &Arc<str> {
        // Numbers come from `number` alone.
        &self.texts.texts[number as usize]
    }
}

impl Model for KeyValue {
    type Op = KeyValueOp;
    /// Where what is there stands in the tree; none where no get ever saw what begins like it.
    type State = Option<Place>;

    fn initial(&self) -> Option<Place> {
        self.gets.end(&self.initial)
    }

    fn step(&self, state: &Option<Place>, op: &KeyValueOp) -> Option<Option<Place>> {
        match op {
            KeyValueOp::Get(answer) => (state.is_some() && *state == self.gets.end(answer)).then_some(*state),
            KeyValueOp::Put(text) => Some(self.gets.end(self.text(*text))),
            KeyValueOp::Append(text) => {
                Some(state.and_then(|place| self.gets.walk(place, self.text(*text).as_bytes())))
            }
        }
    }

    fn reads_only(&self, op: &KeyValueOp) -> bool {
        matches!(op, KeyValueOp::Get(_))
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn fitted(&self, operations: &[Operation<KeyValueOp>]) -> Option<KeyValue> {
        let answers = operations.iter().filter_map(|operation| match &operation.op {
            KeyValueOp::Get(answer) => Some(answer),
            _ => None,
        });
        Some(KeyValue {
            initial: self.initial.clone(),
            texts: self.texts.clone(),
            gets: Prefixes::of(answers),
        })
    }

    fn bound(&self, op: &KeyValueOp) -> Option<u64> {
        match op {
            KeyValueOp::Get(answer) => Some(answer.len() as u64),
            _ => None,
        }
    }

    fn reaches(&self, state: &Option<Place>, op: &KeyValueOp) -> bool {
        match op {
            KeyValueOp::Get(answer) => {
                let end = self.gets.end(answer);
                state
                    .zip(end)
                    .is_some_and(|(place, end)| self.gets.leads(place, end))
            }
            _ => true,
        }
    }

    fn resets(&self, op: &KeyValueOp) -> bool {
        matches!(op, KeyValueOp::Put(_))
    }

    /// Where nothing is ever replaced, each get's answer begins the longest one.
    fn refutes(&self, operations: &[Operation<KeyValueOp>]) -> bool {
        if operations.iter().any(|operation| self.resets(&operation.op)) {
            return false;
        }
        let gets = || {
            operations.iter().filter_map(|operation| match &operation.op {
                KeyValueOp::Get(answer) if operation.certain() => {
                    self.gets.end(answer).map(|end| (end, answer.len()))
                }
                _ => None,
            })
        };
        let longest = gets().max_by_key(|(_, length)| *length);
        longest.is_some_and(|(longest, _)| gets().any(|(end, _)| !self.gets.leads(end, longest)))
    }
}

impl Recorded for KeyValue {
    fn decode(
        &mut self,
        f: &str,
        invoked: &Value,
        completion: Completion<'_>,
    ) -> Result<Decoded<KeyValueOp>, String> {
        let [key, value] = pair(invoked)?;
        Ok(match (f, completion) {
            ("get" | "put" | "append", Completion::Fail) | ("get", Completion::Unknown) => Decoded::Skip,
            ("get", Completion::Ok(answer)) => {
                let answer = match pair(answer)? {
                    [_, Value::Nil] => "".into(),
                    [_, answer] => string("what a get answers", answer)?,
                };
                Decoded::Keyed(key.clone(), KeyValueOp::Get(answer))
            }
            ("put", _) => Decoded::Keyed(
                key.clone(),
                KeyValueOp::Put(self.number(string("what is put", value)?)),
            ),
            ("append", _) => {
                let text = self.number(string("what is appended", value)?);
                Decoded::Keyed(key.clone(), KeyValueOp::Append(text))
            }
            _ => return Err(format!("expected get, put or append, found {f:?}")),
        })
    }

    fn words(&self, op: &KeyValueOp) -> String {
        match op {
            KeyValueOp::Get(answer) => format!("get {answer:?}"),
            KeyValueOp::Put(text) => format!("put {:?}", self.text(*text)),
            KeyValueOp::Append(text) => format!("append {:?}", self.text(*text)),
        }
    }
}

fn pair(value: &Value) -> Result<&[Value; 2], String> {
    let pair = value
        .list()
        .and_then(|elements| <&[Value; 2]>::try_from(elements).ok());
    pair.ok_or_else(|| format!("expected [key value], found {value}"))
}

fn string(what: &str, value: &Value) -> Result<Arc<str>, String> {
    match value {
        Value::Text(text) | Value::Keyword(text) => Ok(text.clone()),
        _ => Err(format!("expected a string as {what}, found {value}")),
    }
}
