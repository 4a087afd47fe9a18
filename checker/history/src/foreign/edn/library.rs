//! Forms read by the library: all of EDN, slower. Tags are dropped (`#inst "…"` is its text), characters are texts,
//! ratios are floats. The library sorts maps and sets, so that theirs is the one order that is not the file's.

use super::super::names::Names;
use super::super::raw::Raw;
use crate::Value;
use clojure_reader::edn::{Edn, read_string};
use clojure_reader::error::{Code, Error};

/// Where something is wrong, in bytes, and what.
type Wrong = (usize, String);

/// Reads an entry from the bytes of one form.
pub(super) fn entry(bytes: &[u8], names: &mut Names) -> Result<Raw, Wrong> {
    let text = std::str::from_utf8(bytes).map_err(|e| (e.valid_up_to(), "expected UTF-8".to_owned()))?;
    let form = read_string(text).map_err(told)?;
    let Edn::Map(fields) = untagged(&form) else {
        return Err((0, "expected an entry, a map".into()));
    };
    let mut raw = Raw::new(names.none());
    for (name, value) in fields {
        let (Edn::Key(name) | Edn::Str(name)) = name else {
            continue;
        };
        raw.take(name.as_bytes(), convert(value, names))
            .map_err(|why| (0, why))?;
    }
    Ok(raw)
}

/// Reads a value from the text of one form.
pub(super) fn value(text: &str, names: &mut Names) -> Result<Value, Wrong> {
    Ok(convert(&read_string(text).map_err(told)?, names))
}

fn untagged<'f, 't>(mut form: &'f Edn<'t>) -> &'f Edn<'t> {
    while let Edn::Tagged(_, inner) = form {
        form = inner;
    }
    form
}

/// Recursion: forms are nested no deeper than [`super::DEEPEST`], tags apart, which are dropped in a loop.
fn convert(form: &Edn<'_>, names: &mut Names) -> Value {
    match untagged(form) {
        Edn::Vector(forms) | Edn::List(forms) => {
            Value::List(forms.iter().map(|form| convert(form, names)).collect())
        }
        Edn::Set(forms) => Value::Set(forms.iter().map(|form| convert(form, names)).collect()),
        Edn::Map(pairs) => {
            let pairs = pairs.iter();
            Value::Map(
                pairs
                    .map(|(k, v)| (convert(k, names), convert(v, names)))
                    .collect(),
            )
        }
        Edn::Key(name) | Edn::Symbol(name) => Value::Keyword(names.get(name)),
        Edn::Str(text) => Value::Text(names.get(text)),
        Edn::Int(number) => Value::Int(*number),
        Edn::Double(number) => Value::Float(number.0.to_bits()),
        Edn::Rational((over, under)) => Value::Float((*over as f64 / *under as f64).to_bits()),
        Edn::Char(letter) => Value::Text(names.get(letter.encode_utf8(&mut [0; 4]))),
        Edn::Bool(truth) => Value::Bool(*truth),
        // nil, and kinds that the library is not built with here (numbers of any length).
        _ => Value::Nil,
    }
}

fn told(error: Error) -> Wrong {
    let why = match error.code {
        Code::HashMapDuplicateKey => "a key stands twice in one map".into(),
        Code::SetDuplicateKey => "an element stands twice in one set".into(),
        Code::InvalidChar => "no character of EDN".into(),
        Code::InvalidEscape => "no escape that is known here: expected \\t, \\r, \\n, \\\\ or \\\"".into(),
        Code::InvalidKeyword => "no keyword of EDN".into(),
        Code::InvalidNumber => "no number that is known here: expected one of 64 bits".into(),
        Code::InvalidRadix(_) => "no number of a known radix".into(),
        Code::InvalidTag => "no tag of EDN".into(),
        Code::UnexpectedEOF => {
            "the form ends too early: a map has a key without a value, or nothing follows a tag".into()
        }
        Code::UnmatchedDelimiter(bracket) => format!("{bracket:?} closes no bracket that is open here"),
        other => format!("{other:?}"),
    };
    (error.ptr.unwrap_or(0), why)
}
