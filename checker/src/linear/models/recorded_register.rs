//! Registers as recorded histories have them: `read`, `write` and `cas`, of any values.
//!
//! - A value `[key value]` is of the register under that key (Jepsen's independent keys); so is a compare-and-set's
//!   `[key [old new]]`.
//! - A read that answers nil found nil, where the register begins with nil or nil is written to it. In other registers
//!   nil is no value, so that such a read says nothing.
//! - A compare-and-set that failed says that the register held something else than its old value at some moment of it,
//!   or nothing at all: [`FailedCas`]. Where reads or writes fail too, failures have other causes: then it says
//!   nothing, unless it is asked for. What else failed did not happen. A read without an answer says nothing.

use super::register::{Register, RegisterOp};
use crate::linear::model::{Completion, Decoded, Recorded};
use crate::linear::{AsRegister, Model};
use crate::{FailedCas, Options, Reason, codes};
use history::Value;
use rustc_hash::FxHashMap;

/// The initial value's number.
const INITIAL: u32 = 0;

/// A register of recorded values.
pub(crate) struct RecordedRegister {
    numbers: FxHashMap<Value, u32>,
    values: Vec<Value>,
    failed_cas: FailedCas,
    /// Whether `cas` is among its operations.
    has_cas: bool,
    /// How many compare-and-sets failed.
    cas_failed: u64,
    /// How many reads and writes failed.
    others_failed: u64,
}

impl RecordedRegister {
    /// A register with or without compare-and-set.
    pub(crate) fn new(options: &Options, has_cas: bool) -> RecordedRegister {
        let initial = options.initial.clone().unwrap_or_default();
        RecordedRegister {
            numbers: FxHashMap::from_iter([(initial.clone(), INITIAL)]),
            values: vec![initial],
            failed_cas: options.failed_cas,
            has_cas,
            cas_failed: 0,
            others_failed: 0,
        }
    }

    fn number(&mut self, value: &Value) -> u32 {
        if let Some(known) = self.numbers.get(value) {
            return *known;
        }
        let number = self.values.len() as u32;
        self.numbers.insert(value.clone(), number);
        self.values.push(value.clone());
        number
    }

    fn value(&self, number: u32) -> &Value {
        // Numbers come from `number`.
        &self.values[number as usize]
    }

    fn read(&mut self, asked: &Value, answered: &Value) -> Decoded<RegisterOp> {
        let (key, value) = keyed(answered);
        let key = key.or(keyed(asked).0);
        if is_nil(value) && !self.numbers.contains_key(&Value::Nil) {
            return Decoded::Skip;
        }
        let value = if is_nil(value) { &Value::Nil } else { value };
        under(key, RegisterOp::Read(self.number(value)))
    }

    fn cas(&mut self, asked: &Value, completion: Completion<'_>) -> Result<Decoded<RegisterOp>, String> {
        let (key, old, new) = old_and_new(asked)?;
        let (old, new) = (self.number(old), self.number(new));
        if let Completion::Fail = completion {
            self.cas_failed += 1;
            return Ok(under(key, RegisterOp::Differs(old)));
        }
        Ok(under(key, RegisterOp::Cas(old, new)))
    }

    /// Whether a compare-and-set that failed says something.
    fn observes(&self) -> bool {
        match self.failed_cas {
            FailedCas::Infer => self.others_failed == 0,
            FailedCas::Observe => true,
            FailedCas::Drop => false,
        }
    }
}

impl Model for RecordedRegister {
    type Op = RegisterOp;
    type State = u32;

    fn initial(&self) -> u32 {
        INITIAL
    }

    fn step(&self, state: &u32, op: &RegisterOp) -> Option<u32> {
        Register { initial: INITIAL }.step(state, op)
    }

    fn reads_only(&self, op: &RegisterOp) -> bool {
        Register { initial: INITIAL }.reads_only(op)
    }

    fn as_register(&self) -> Option<AsRegister<RegisterOp>> {
        Register { initial: INITIAL }.as_register()
    }
}

impl Recorded for RecordedRegister {
    fn decode(
        &mut self,
        f: &str,
        asked: &Value,
        completion: Completion<'_>,
    ) -> Result<Decoded<RegisterOp>, String> {
        match (f, completion) {
            ("read", Completion::Ok(answered)) => Ok(self.read(asked, answered)),
            ("read", Completion::Unknown) => Ok(Decoded::Skip),
            ("read" | "write", Completion::Fail) => {
                self.others_failed += 1;
                Ok(Decoded::Skip)
            }
            ("write", _) => {
                let (key, value) = keyed(asked);
                let value = if is_nil(value) { &Value::Nil } else { value };
                Ok(under(key, RegisterOp::Write(self.number(value))))
            }
            ("cas", _) if self.has_cas => self.cas(asked, completion),
            ("cas", _) => Err("cas is no operation of a register: judge it as a cas-register".into()),
            _ => Err(format!(
                "a register is read and written{}; {f:?} is none of these",
                if self.has_cas { ", and has cas" } else { "" }
            )),
        }
    }

    fn counts(&self, op: &RegisterOp) -> bool {
        self.observes() || !matches!(op, RegisterOp::Differs(_))
    }

    fn assumed(&self) -> Option<Reason> {
        let inferred = self.failed_cas == FailedCas::Infer && !self.observes() && self.cas_failed > 0;
        inferred.then(|| {
            let message = format!(
                "{} compare-and-sets that failed say nothing here: {} reads and writes failed too, so that failures \
                 have causes other than what the register held",
                self.cas_failed, self.others_failed
            );
            Reason::new(codes::FAILED_CAS_DROPPED, message)
        })
    }

    fn words(&self, op: &RegisterOp) -> String {
        match *op {
            RegisterOp::Read(value) => format!("read {}", self.value(value)),
            RegisterOp::Write(value) => format!("write {}", self.value(value)),
            RegisterOp::Cas(old, new) => format!("cas {} to {}", self.value(old), self.value(new)),
            RegisterOp::Differs(old) => format!("cas from {}, which failed", self.value(old)),
        }
    }
}

fn under(key: Option<&Value>, op: RegisterOp) -> Decoded<RegisterOp> {
    match key {
        Some(key) => Decoded::Keyed(key.clone(), op),
        None => Decoded::One(op),
    }
}

/// nil, which some histories write as a keyword.
fn is_nil(value: &Value) -> bool {
    matches!(value, Value::Nil) || matches!(value, Value::Keyword(name) if &**name == "nil")
}

/// The key, where there is one, and the value.
fn keyed(value: &Value) -> (Option<&Value>, &Value) {
    match value.list() {
        Some([key, value]) => (Some(key), value),
        _ => (None, value),
    }
}

/// `[old new]`, or `[key [old new]]`.
fn old_and_new(value: &Value) -> Result<(Option<&Value>, &Value, &Value), String> {
    match value.list() {
        Some([key, under]) if under.list().is_some() => match under.list() {
            Some([old, new]) => Ok((Some(key), old, new)),
            _ => Err(format!(
                "the value of a cas is [key [old new]]; here it is {value}"
            )),
        },
        Some([old, new]) => Ok((None, old, new)),
        _ => Err(format!("the value of a cas is [old new]; here it is {value}")),
    }
}
