//! What was chosen: the format, the model, the level and the options; by whom; and whether they fit each other.

use crate::cli::{CheckArgs, FailedCasArg, pair};
use crate::error::{Error, nearest};
use checker::{FailedCas, Level, ModelName, Options};
use history::{Format, Value};
use results::check::{Choice, From, Question};
use results::quoted;

/// What the command line asks for.
pub struct Asked {
    /// The format.
    pub format: Option<Format>,
    /// The model.
    pub model: Option<ModelName>,
    level: Option<Level>,
}

/// What a history is judged as.
#[derive(Clone)]
pub enum As {
    /// A history of a model.
    Model(ModelName),
    /// A run of this project's own, by its promise.
    Promise,
}

/// Everything that was chosen.
#[derive(Clone)]
pub struct Chosen {
    /// How the file is read.
    pub format: Format,
    format_from: From,
    /// As what it is judged.
    pub judged_as: As,
    model_from: From,
    /// How.
    pub options: Options,
    level_from: From,
    /// Options that were set, by their names, and by whom.
    set: Vec<(String, String, From)>,
}

impl Asked {
    /// As the command line says it.
    ///
    /// # Errors
    /// Usage, where a name is not known: the nearest are told.
    pub fn parse(args: &CheckArgs) -> Result<Asked, Error> {
        let formats = Format::ALL.map(Format::text);
        let models = ModelName::ALL.map(ModelName::text);
        let levels: Vec<&str> = Level::ALL
            .iter()
            .map(|level| level.text())
            .chain(["strict-serializable"])
            .collect();
        Ok(Asked {
            format: named("--format", args.format.as_deref(), &formats, |name| {
                name.parse().ok()
            })?,
            model: named("--model", args.model.as_deref(), &models, |name| {
                ModelName::find(name).ok()
            })?,
            level: named("--level", args.level.as_deref(), &levels, |name| {
                name.parse().ok()
            })?,
        })
    }
}

fn named<T>(
    flag: &str,
    said: Option<&str>,
    known: &[&str],
    find: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Error> {
    let Some(name) = said else { return Ok(None) };
    let found = find(name).ok_or_else(|| {
        let near = nearest(name, known.iter().copied());
        Error::usage(
            format!("reading {flag} {name}"),
            format!("there is none of that name; the nearest are {}", near.join(", ")),
            format!("{flag} {}", near.first().unwrap_or(&"NAME")),
        )
    })?;
    Ok(Some(found))
}

impl Chosen {
    /// Puts together what was asked for, what the file says and what was guessed.
    ///
    /// # Errors
    /// Usage, where something does not fit the model.
    pub fn new(
        args: &CheckArgs,
        asked: &Asked,
        (format, guessed): (Format, bool),
        (judged_as, model_from): (As, From),
        said: &[(String, Value)],
    ) -> Result<Chosen, Error> {
        let mut chosen = Chosen {
            format,
            format_from: if guessed { From::Guessed } else { From::CommandLine },
            judged_as,
            model_from,
            options: Options {
                no_real_time: !format.has_real_time(),
                ..Options::default()
            },
            level_from: From::Default,
            set: Vec::new(),
        };
        for (name, value) in said {
            // What this project has no such option for says nothing about its checks.
            chosen.set(name, value, From::File)?;
        }
        chosen.flags(args, asked)?;
        if chosen.is_transactional() && chosen.options.level.is_none() {
            chosen.options.level = Some(chosen.strongest());
        }
        chosen.fits(args)?;
        Ok(chosen)
    }

    fn flags(&mut self, args: &CheckArgs, asked: &Asked) -> Result<(), Error> {
        if let Some(level) = asked.level {
            self.options.level = Some(level);
            self.level_from = From::CommandLine;
        }
        if let Some(text) = &args.initial {
            let value = value(text);
            self.set("initial", &value, From::CommandLine)?;
        }
        self.options.subscribe = args.subscribe;
        if args.ww_deps {
            self.set("ww-deps", &Value::Bool(true), From::CommandLine)?;
        }
        self.options.failed_cas = match args.failed_cas {
            Some(FailedCasArg::Observe) => FailedCas::Observe,
            Some(FailedCasArg::Drop) => FailedCas::Drop,
            None => FailedCas::Infer,
        };
        for text in &args.options {
            let (name, said) = pair("--option", "NAME=VALUE", text)?;
            if !self.set(&name, &value(&said), From::CommandLine)? {
                let near = nearest(&name, OPTIONS).join(", ");
                return Err(Error::usage(
                    format!("reading --option {text}"),
                    format!("there is none of that name; the nearest are {near}"),
                    "--option linearizable-keys=true, for instance",
                ));
            }
        }
        Ok(())
    }

    /// Sets an option; whoever comes later wins.
    fn set(&mut self, name: &str, value: &Value, from: From) -> Result<bool, Error> {
        let known = self.options.set(name, value).map_err(|why| {
            Error::usage(
                format!("setting the option {name}"),
                why,
                format!("--option {name}=VALUE"),
            )
        })?;
        let name = name.trim_end_matches('?');
        if known {
            self.set.retain(|(other, ..)| other != name);
            self.set.push((name.to_string(), value.to_string(), from));
        }
        Ok(known)
    }

    fn is_transactional(&self) -> bool {
        self.question() == Question::Isolation
    }

    /// The strongest level that the format can tell about.
    fn strongest(&self) -> Level {
        if self.format.has_real_time() {
            Level::StrongSerializable
        } else {
            Level::Serializable
        }
    }

    /// Whether every flag says something about this model.
    fn fits(&self, args: &CheckArgs) -> Result<(), Error> {
        let model = self.model_text();
        let refuse = |flag: &str, why: String, next: &str| {
            let guessed = if self.model_from == From::Guessed {
                " (guessed)"
            } else {
                ""
            };
            Err(Error::usage(
                format!("judging as {model}{guessed} with {flag}"),
                why,
                next,
            ))
        };
        let leave_out = |flag: &str, whose: &str| {
            refuse(
                flag,
                format!("it is for {whose}"),
                "leave it out, or name another --model",
            )
        };
        let is = |models: &[ModelName]| matches!(&self.judged_as, As::Model(model) if models.contains(model));
        if args.level.is_some() && !self.is_transactional() && !is(&[ModelName::Kafka]) {
            return leave_out("--level", "transactional models");
        }
        if let (Some(level), false) = (
            args.level.as_ref().and(self.options.level),
            self.format.has_real_time(),
        ) && level.implies(Level::StrongSnapshotIsolation)
        {
            let why = format!(
                "{} has no real time, which {} speaks of",
                self.format,
                level.text()
            );
            return refuse("--level", why, "--level serializable");
        }
        if (args.subscribe || args.assign || args.ww_deps) && !is(&[ModelName::Kafka]) {
            return leave_out("--subscribe, --assign or --ww-deps", "kafka");
        }
        let begins = is(&[ModelName::Bank, ModelName::RwRegisterSessions])
            || (self.question() == Question::Linearizable && !is(&[ModelName::Mutex]));
        if args.initial.is_some() && !begins {
            return leave_out("--initial", "models that begin with a value");
        }
        if args.failed_cas.is_some() && !is(&[ModelName::CasRegister]) {
            return leave_out("--failed-cas", "cas-register");
        }
        Ok(())
    }

    /// The model's name.
    pub fn model_text(&self) -> &'static str {
        match &self.judged_as {
            As::Model(model) => model.text(),
            As::Promise => "promise",
        }
    }

    /// What is asked of the history.
    pub fn question(&self) -> Question {
        use ModelName as M;
        match &self.judged_as {
            As::Promise => Question::Promise,
            As::Model(M::Kafka) => Question::Log,
            As::Model(M::ListAppend | M::RwRegister | M::RwRegisterSessions) => Question::Isolation,
            As::Model(M::Bank | M::LongFork | M::SetFull) => Question::Invariant,
            As::Model(
                M::Register
                | M::CasRegister
                | M::MultiRegister
                | M::Mutex
                | M::Set
                | M::Queue
                | M::Counter
                | M::Log
                | M::KeyValue,
            ) => Question::Linearizable,
        }
    }

    /// The level, of transactional models.
    pub fn level(&self) -> Option<Level> {
        self.options.level
    }

    /// All choices, each with who made it.
    pub fn choices(&self) -> Vec<Choice> {
        let choice = |name, value: &str, from| Choice {
            name,
            value: value.into(),
            from,
        };
        let mut choices = vec![
            choice("format", self.format.text(), self.format_from),
            choice("model", self.model_text(), self.model_from),
        ];
        if let Some(level) = self.level() {
            choices.push(choice("level", level.text(), self.level_from));
        }
        let is = |model: ModelName| matches!(&self.judged_as, As::Model(this) if *this == model);
        if is(ModelName::Kafka) {
            let (how, from) = if self.options.subscribe {
                ("subscribe", From::CommandLine)
            } else {
                ("assign", From::Default)
            };
            choices.push(choice("partitions by", how, from));
        }
        if is(ModelName::CasRegister) {
            let (what, from) = match self.options.failed_cas {
                FailedCas::Infer => ("observe, or drop where reads or writes failed too", From::Default),
                FailedCas::Observe => ("observe", From::CommandLine),
                FailedCas::Drop => ("drop", From::CommandLine),
            };
            choices.push(choice("a failed cas", what, from));
        }
        for (name, value, from) in &self.set {
            // The names are those of OPTIONS: only such are kept.
            let known = OPTIONS.into_iter().find(|known| known == name);
            choices.extend(known.map(|name| choice(name, value, *from)));
        }
        choices
    }

    /// The command that judges so again.
    pub fn command(&self, args: &CheckArgs) -> String {
        let mut words = vec![
            "ackall".into(),
            "check".into(),
            quoted(&args.file.display().to_string()),
            "--format".into(),
            self.format.text().into(),
        ];
        if let As::Model(model) = &self.judged_as {
            words.extend(["--model".into(), model.text().into()]);
        }
        if let Some(level) = self.level() {
            words.extend(["--level".into(), level.text().into()]);
        }
        if let Some(initial) = &args.initial {
            words.extend(["--initial".into(), quoted(initial)]);
        }
        let flags = [
            (args.subscribe, "--subscribe"),
            (args.assign, "--assign"),
            (args.ww_deps, "--ww-deps"),
        ];
        words.extend(
            flags
                .iter()
                .filter(|(said, _)| *said)
                .map(|(_, flag)| flag.to_string()),
        );
        match args.failed_cas {
            Some(FailedCasArg::Observe) => words.extend(["--failed-cas".into(), "observe".into()]),
            Some(FailedCasArg::Drop) => words.extend(["--failed-cas".into(), "drop".into()]),
            None => {}
        }
        for option in &args.options {
            words.extend(["--option".into(), quoted(option)]);
        }
        for (flag, value, usual) in [
            ("--budget", &args.budget, "60s"),
            ("--memory", &args.memory, "2GiB"),
        ] {
            if value != usual {
                words.extend([flag.to_string(), quoted(value)]);
            }
        }
        words.join(" ")
    }
}

/// The options that have no flag of their own, and those that files may have.
const OPTIONS: [&str; 6] = [
    "group-size",
    "initial",
    "linearizable-keys",
    "sequential-keys",
    "wfr-keys",
    "ww-deps",
];

/// A value as JSON has it; what is none is text.
fn value(text: &str) -> Value {
    serde_json::from_str(text).map_or_else(|_| Value::Text(text.into()), of_json)
}

/// JSON nests 128 deep at most, as its reader has it.
fn of_json(json: serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match json {
        Json::Null => Value::Nil,
        Json::Bool(truth) => Value::Bool(truth),
        Json::Number(number) => number.as_i64().map_or_else(
            || Value::Float(number.as_f64().unwrap_or_default().to_bits()),
            Value::Int,
        ),
        Json::String(text) => Value::Text(text.into()),
        Json::Array(elements) => Value::List(elements.into_iter().map(of_json).collect()),
        Json::Object(pairs) => Value::Map(
            pairs
                .into_iter()
                .map(|(key, value)| (Value::Text(key.into()), of_json(value)))
                .collect(),
        ),
    }
}
