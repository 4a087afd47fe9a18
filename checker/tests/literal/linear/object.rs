//! The objects: what each does with one operation. All are deterministic.

use checker::ModelName;
use history::Value;

/// The state at the beginning.
pub fn initial(model: ModelName) -> Value {
    match model {
        ModelName::MultiRegister => Value::Map(Box::new([])),
        ModelName::Mutex => Value::Bool(false),
        ModelName::Counter => Value::Int(0),
        ModelName::Set | ModelName::Queue | ModelName::Log => list(Vec::new()),
        ModelName::KeyValue => Value::Map(Box::new([])),
        _ => Value::Nil,
    }
}

/// What an object does: the state after, and the answer; none where it refuses, and then the state stays.
pub fn perform(model: ModelName, state: &Value, f: &str, asked: &Value) -> (Value, Option<Value>) {
    let elements = || state.list().unwrap_or_default().to_vec();
    let stays = |answer: Value| (state.clone(), Some(answer));
    let refused = || (state.clone(), None);
    match (model, f) {
        (ModelName::Register | ModelName::CasRegister | ModelName::Counter, "read") => stays(state.clone()),
        (_, "write") => (asked.clone(), Some(asked.clone())),
        (_, "cas") => match asked.list() {
            Some([old, new]) if old == state => (new.clone(), Some(asked.clone())),
            _ => refused(),
        },
        (_, "txn") => transaction(state, asked),
        (_, "acquire") if *state == Value::Bool(false) => (Value::Bool(true), Some(Value::Nil)),
        (_, "release") if *state == Value::Bool(true) => (Value::Bool(false), Some(Value::Nil)),
        (ModelName::Counter, "add") => {
            let sum = state.int().unwrap_or(0) + asked.int().unwrap_or(0);
            (Value::Int(sum), Some(asked.clone()))
        }
        (ModelName::Set, "add") => {
            let mut all = elements();
            all.push(asked.clone());
            all.sort();
            all.dedup();
            (list(all), Some(asked.clone()))
        }
        (ModelName::Set, "read") => stays(state.clone()),
        (_, "enqueue") => {
            let mut all = elements();
            all.push(asked.clone());
            (list(all), Some(asked.clone()))
        }
        (_, "dequeue") => match elements().split_first() {
            Some((first, rest)) => (list(rest.to_vec()), Some(first.clone())),
            None => stays(Value::Nil),
        },
        (ModelName::Log, "append") => {
            let mut all = elements();
            let offset = Value::Int(all.len() as i64);
            all.push(asked.clone());
            (list(all), Some(offset))
        }
        (ModelName::Log, "read") => match asked.int() {
            Some(offset) => stays(elements().get(offset as usize).cloned().unwrap_or_default()),
            None => stays(state.clone()),
        },
        (ModelName::KeyValue, _) => key_value(state, f, asked),
        _ => refused(),
    }
}

/// A list.
pub fn list(elements: Vec<Value>) -> Value {
    Value::List(elements.into())
}

/// What a map has under a key, and the map with something else there.
fn under(map: &Value, key: &Value, absent: Value) -> Value {
    let Value::Map(pairs) = map else { return absent };
    pairs
        .iter()
        .find(|(k, _)| k == key)
        .map_or(absent, |(_, value)| value.clone())
}

fn with(map: &Value, key: &Value, value: &Value) -> Value {
    let Value::Map(pairs) = map else {
        return map.clone();
    };
    let mut pairs: Vec<_> = pairs.iter().filter(|(k, _)| k != key).cloned().collect();
    pairs.push((key.clone(), value.clone()));
    pairs.sort();
    Value::Map(pairs.into())
}

fn transaction(state: &Value, asked: &Value) -> (Value, Option<Value>) {
    let (mut state, mut answer) = (state.clone(), Vec::new());
    for micro in asked.list().unwrap_or_default() {
        let Some([kind, key, value]) = micro.list() else {
            continue;
        };
        let mut value = value.clone();
        match kind.name() {
            Some("write" | "w") => state = with(&state, key, &value),
            _ => value = under(&state, key, Value::Nil),
        }
        answer.push(list(vec![kind.clone(), key.clone(), value]));
    }
    (state, Some(list(answer)))
}

fn key_value(state: &Value, f: &str, asked: &Value) -> (Value, Option<Value>) {
    let Some([key, value]) = asked.list() else {
        return (state.clone(), None);
    };
    let before = under(state, key, Value::Text("".into()));
    let after = match f {
        "put" => value.clone(),
        "append" => Value::Text(
            [
                before.name().unwrap_or_default(),
                value.name().unwrap_or_default(),
            ]
            .concat()
            .into(),
        ),
        _ => return (state.clone(), Some(list(vec![key.clone(), before]))),
    };
    (with(state, key, &after), Some(asked.clone()))
}
