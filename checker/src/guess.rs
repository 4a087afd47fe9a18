//! What a history seems to be, where nobody says: the model by the names and values of its first operations, and
//! options by the names that histories give them.

use crate::{ModelName, Options};
use history::{Format, Op, Process, Value};

/// How many entries are worth handing to [`guess_model`].
pub const GUESS_OPS: usize = 512;

/// The model of a history, by its format and its first entries. None where they do not tell.
pub fn guess_model(format: Format, first: &[Op]) -> Option<ModelName> {
    use ModelName as M;
    match format {
        Format::PorcupineEtcdLog => return Some(M::CasRegister),
        Format::PorcupineKvEdn => return Some(M::KeyValue),
        Format::PlumeText | Format::AwditTestText | Format::DbcopBincode => {
            return Some(M::RwRegisterSessions);
        }
        Format::JepsenEdn | Format::JepsenJson | Format::CaseJson | Format::Ackall => {}
    }
    let seen = Seen::of(first);
    let does = |f: &str| seen.names.contains(&f);
    if does("acquire") || does("release") {
        return Some(M::Mutex);
    }
    if does("enqueue") || does("dequeue") {
        return Some(M::Queue);
    }
    if does("transfer") {
        return Some(M::Bank);
    }
    if does("send") || does("poll") || does("assign") || does("subscribe") || seen.micro.contains(&"send") {
        return Some(M::Kafka);
    }
    if does("cas") {
        return Some(M::CasRegister);
    }
    if does("put") || does("get") {
        return Some(M::KeyValue);
    }
    if does("add") {
        return Some(seen.added());
    }
    seen.transactions().or_else(|| seen.single())
}

/// What the first entries have.
#[derive(Default)]
struct Seen<'a> {
    /// Names of operations.
    names: Vec<&'a str>,
    /// Names of steps of transactions.
    micro: Vec<&'a str>,
    /// Whether a step that reads has a list.
    list_reads: bool,
    /// Values of reads that have one.
    reads: Vec<&'a Value>,
    /// Values of adds.
    adds: Vec<&'a Value>,
}

impl<'a> Seen<'a> {
    fn of(first: &'a [Op]) -> Seen<'a> {
        let mut seen = Seen::default();
        let clients = first.iter().filter(|op| {
            !matches!(
                op.process,
                Process::Nemesis | Process::Harness | Process::Observer
            )
        });
        for op in clients {
            note(&mut seen.names, &op.body.f);
            match &*op.body.f {
                "read" if op.body.value != Value::Nil => seen.reads.push(&op.body.value),
                "add" => seen.adds.push(&op.body.value),
                _ => {}
            }
            for step in op.body.value.list().unwrap_or_default() {
                seen.step(step);
            }
        }
        seen
    }

    fn step(&mut self, step: &'a Value) {
        let Some([name, rest @ ..]) = step.list() else {
            return;
        };
        let Some(name) = name.name() else { return };
        note(&mut self.micro, name);
        self.list_reads |= name == "r" && matches!(rest, [_, Value::List(_)]);
    }

    /// The model of what is added.
    fn added(&self) -> ModelName {
        let pair = |value: &&Value| value.list().is_some_and(|pair| pair.len() == 2);
        if self.adds.iter().any(pair) {
            ModelName::SetFull
        } else if self.reads.iter().any(|value| value.int().is_some()) {
            ModelName::Counter
        } else {
            ModelName::Set
        }
    }

    /// The model of transactions. Reads of groups under the name `read` are those of long-fork.
    fn transactions(&self) -> Option<ModelName> {
        let has = |step: &str| self.micro.contains(&step);
        if has("append") || self.list_reads {
            Some(ModelName::ListAppend)
        } else if has("read") || has("write") {
            Some(ModelName::MultiRegister)
        } else if has("poll") {
            Some(ModelName::Kafka)
        } else if (has("r") || has("w")) && self.names.iter().all(|name| matches!(*name, "read" | "write")) {
            Some(ModelName::LongFork)
        } else if has("r") || has("w") {
            Some(ModelName::RwRegister)
        } else {
            None
        }
    }

    /// The model of single reads and writes.
    fn single(&self) -> Option<ModelName> {
        let does = |f: &str| self.names.contains(&f);
        if self.reads.iter().any(|value| matches!(value, Value::Map(_))) {
            Some(ModelName::Bank)
        } else if does("append") {
            Some(ModelName::Log)
        } else if does("read") || does("write") {
            Some(ModelName::Register)
        } else {
            None
        }
    }
}

fn note<'a>(names: &mut Vec<&'a str>, name: &'a str) {
    if !names.contains(&name) {
        names.push(name);
    }
}

impl ModelName {
    /// The model of this name. Beside its own names it knows `kv-append`, as some call `key-value`.
    ///
    /// # Errors
    /// Where there is none.
    pub fn find(name: &str) -> Result<ModelName, String> {
        let known = ModelName::ALL.into_iter().find(|model| model.text() == name);
        match name {
            "kv-append" => Ok(ModelName::KeyValue),
            _ => known.ok_or_else(|| format!("{name} is no model")),
        }
    }
}

impl Options {
    /// Sets an option by the name that histories give it (`ww-deps`, `wfr-keys?`, ...). False where there is none of
    /// that name.
    ///
    /// # Errors
    /// Where the value is none that the option takes.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<bool, String> {
        let truth = match value {
            Value::Bool(truth) => Ok(*truth),
            other => Err(format!(
                "the option {name} is {other}, which is neither true nor false"
            )),
        };
        match name.trim_end_matches('?') {
            "ww-deps" => self.ww_deps = truth?,
            "wfr-keys" => self.wfr_keys = Some(truth?),
            "sequential-keys" => self.sequential_keys = truth?,
            "linearizable-keys" => self.linearizable_keys = truth?,
            "group-size" => {
                let size = value.int().and_then(|size| usize::try_from(size).ok());
                let size = size.filter(|size| *size > 0);
                self.group_size =
                    Some(size.ok_or_else(|| format!("the option {name} is {value}, which is no size"))?);
            }
            "initial" => self.initial = Some(value.clone()),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use history::{Call, Kind};

    fn op(f: &str, value: Value) -> Op {
        Op {
            index: 0,
            time: 0,
            process: Process::Client(0),
            kind: Kind::Ok,
            body: Call { f: f.into(), value },
        }
    }
    fn list(values: impl IntoIterator<Item = Value>) -> Value {
        Value::List(values.into_iter().collect())
    }
    fn step(name: &str, value: Value) -> Value {
        list([list([Value::Keyword(name.into()), Value::Int(1), value])])
    }

    #[test]
    fn the_model_is_guessed_by_names_and_values() {
        use ModelName as M;
        let read = |value| op("read", value);
        let cases: Vec<(Vec<Op>, Option<M>)> = vec![
            (vec![op("acquire", Value::Nil)], Some(M::Mutex)),
            (vec![op("enqueue", Value::Int(1))], Some(M::Queue)),
            (
                vec![op("write", Value::Int(1)), read(Value::Int(1))],
                Some(M::Register),
            ),
            (
                vec![op("write", Value::Int(1)), op("cas", list([]))],
                Some(M::CasRegister),
            ),
            (vec![op("get", Value::Nil)], Some(M::KeyValue)),
            (
                vec![op("add", Value::Int(1)), read(Value::Int(1))],
                Some(M::Counter),
            ),
            (vec![op("add", Value::Int(1)), read(list([]))], Some(M::Set)),
            (
                vec![op("add", list([Value::Int(1), Value::Int(2)]))],
                Some(M::SetFull),
            ),
            (vec![op("append", Value::Int(1))], Some(M::Log)),
            (
                vec![op("txn", step("append", Value::Int(1)))],
                Some(M::ListAppend),
            ),
            (vec![op("txn", step("r", list([])))], Some(M::ListAppend)),
            (vec![op("", step("append", Value::Int(1)))], Some(M::ListAppend)),
            (vec![op("txn", step("w", Value::Int(1)))], Some(M::RwRegister)),
            (
                vec![op("txn", step("write", Value::Int(1)))],
                Some(M::MultiRegister),
            ),
            (vec![op("read", step("r", Value::Int(1)))], Some(M::LongFork)),
            (vec![op("txn", step("send", Value::Int(1)))], Some(M::Kafka)),
            (vec![op("poll", step("poll", Value::Nil))], Some(M::Kafka)),
            (vec![read(Value::Map(Box::default()))], Some(M::Bank)),
            (vec![op("transfer", Value::Nil)], Some(M::Bank)),
            (vec![op("dance", Value::Nil)], None),
            (vec![], None),
        ];
        for (ops, model) in cases {
            assert_eq!(guess_model(Format::JepsenEdn, &ops), model, "{ops:?}");
        }
        assert_eq!(guess_model(Format::PlumeText, &[]), Some(M::RwRegisterSessions));
        assert_eq!(guess_model(Format::PorcupineKvEdn, &[]), Some(M::KeyValue));
    }

    #[test]
    fn what_the_nemesis_does_is_no_operation() {
        let mut kill = op("send", Value::Nil);
        kill.process = Process::Nemesis;
        let ops = [kill, op("write", Value::Int(1))];
        assert_eq!(guess_model(Format::JepsenEdn, &ops), Some(ModelName::Register));
    }

    #[test]
    fn options_are_set_by_their_names_in_histories() {
        let mut options = Options::default();
        assert_eq!(options.set("wfr-keys?", &Value::Bool(false)), Ok(true));
        assert_eq!(options.set("ww-deps", &Value::Bool(true)), Ok(true));
        assert_eq!(options.set("group-size", &Value::Int(3)), Ok(true));
        assert_eq!(options.set("colour", &Value::Bool(true)), Ok(false));
        assert!(options.set("ww-deps", &Value::Int(1)).is_err());
        assert!(options.set("group-size", &Value::Int(-1)).is_err());
        assert_eq!(
            (options.wfr_keys, options.ww_deps, options.group_size),
            (Some(false), true, Some(3))
        );
    }

    #[test]
    fn models_are_found_by_their_names() {
        for model in ModelName::ALL {
            assert_eq!(ModelName::find(model.text()), Ok(model));
        }
        assert_eq!(ModelName::find("kv-append"), Ok(ModelName::KeyValue));
        assert!(ModelName::find("cas").is_err());
    }
}
