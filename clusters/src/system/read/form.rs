//! The form of a system's file, as data: which keys each table has, what kind of value each takes.

use super::source::{At, Wrong};
use crate::nearest::nearest;
use std::ops::RangeInclusive;
use toml::de::{DeInteger, DeTable, DeValue};

/// Steps, and a run, wait at most so many times as long as a scenario says: more is no night any more.
const TIMES: RangeInclusive<i64> = 1..=100;
/// A limit, in seconds: past a day nobody waits.
const LIMIT_S: RangeInclusive<i64> = 1..=86_400;
/// Ports of TCP; 0 is none.
const PORT: RangeInclusive<i64> = 1..=u16::MAX as i64;
/// Levels of features, as Kafka's protocol has them.
const LEVEL: RangeInclusive<i64> = 0..=i16::MAX as i64;
const ANY: RangeInclusive<i64> = i64::MIN..=i64::MAX;

/// A kind of value.
enum Shape {
    Text,
    Texts,
    /// Two texts.
    Pair,
    Whole(RangeInclusive<i64>),
    Table(&'static [Key]),
    /// A table whose keys are the file's own; an entry of it, for one.
    Map(&'static Shape, &'static str),
    /// `[[...]]`, any number of times.
    Tables(&'static [Key]),
}

/// A key of a table.
struct Key {
    name: &'static str,
    shape: Shape,
    needed: bool,
    /// How it is written, for one.
    form: &'static str,
}

const fn needed(name: &'static str, shape: Shape, form: &'static str) -> Key {
    Key {
        name,
        shape,
        needed: true,
        form,
    }
}

const fn may(name: &'static str, shape: Shape, form: &'static str) -> Key {
    Key {
        name,
        shape,
        needed: false,
        form,
    }
}

/// The keys of the whole file.
const FILE: &[Key] = &[
    needed("name", Shape::Text, r#"name = "my-system""#),
    may("version", Shape::Text, r#"version = "4.1.2""#),
    needed("start", Shape::Texts, r#"start = ["program", "{config}"]"#),
    needed("trouble", Shape::Texts, r#"trouble = ["ERROR", "FATAL"]"#),
    may("limits_times", Shape::Whole(TIMES), "limits_times = 2"),
    may(
        "variables",
        Shape::Map(&Shape::Text, r#"libs = "/opt/kafka/libs""#),
        "[variables]",
    ),
    may(
        "environment",
        Shape::Map(&Shape::Text, r#"LANG = "C""#),
        "[environment]",
    ),
    may(
        "server",
        Shape::Map(&Shape::Text, r#""num.io.threads" = "2""#),
        "[server]",
    ),
    may(
        "server_least",
        Shape::Map(&Shape::Whole(ANY), r#""broker.session.timeout.ms" = 3000"#),
        "[server_least]",
    ),
    may(
        "features",
        Shape::Map(
            &Shape::Table(FEATURE),
            r#""kraft.version" = { highest = 1, default = 0 }"#,
        ),
        "[features]",
    ),
    may("properties", Shape::Table(PROPERTIES), "[properties]"),
    needed("format", Shape::Table(FORMAT), "[format]"),
    may("ready", Shape::Table(READY), "[ready]"),
    may("bugs", Shape::Table(BUGS), "[bugs]"),
    needed("controller", Shape::Table(CONTROLLER), "[controller]"),
    needed("broker", Shape::Table(BROKER), "[broker]"),
    may("files", Shape::Tables(HOME_FILE), "[[files]]"),
];

const FEATURE: &[Key] = &[
    needed("highest", Shape::Whole(LEVEL), "highest = 1"),
    needed("default", Shape::Whole(LEVEL), "default = 0"),
    may("since", Shape::Text, r#"since = "4.0""#),
];

const PROPERTIES: &[Key] = &[
    needed("argv", Shape::Texts, r#"argv = ["program", "--properties"]"#),
    may("between", Shape::Pair, r#"between = ["<b>", "</b>"]"#),
    may("also", Shape::Texts, r#"also = ["some.property"]"#),
];

const FORMAT: &[Key] = &[
    needed(
        "argv",
        Shape::Texts,
        r#"argv = ["program", "format", "{config}", "{cluster_id}"]"#,
    ),
    may(
        "feature",
        Shape::Texts,
        r#"feature = ["--feature", "{feature}={level}"]"#,
    ),
    may(
        "first",
        Shape::Texts,
        r#"first = ["--initial-controllers", "{first_voters}"]"#,
    ),
    may("joins", Shape::Texts, r#"joins = ["--no-initial-controllers"]"#),
    may("limit_s", Shape::Whole(LIMIT_S), "limit_s = 60"),
];

const READY: &[Key] = &[
    may("log", Shape::Text, r#"log = "started""#),
    may("limit_s", Shape::Whole(LIMIT_S), "limit_s = 60"),
];

const BUGS: &[Key] = &[
    needed("names", Shape::Texts, r#"names = ["program", "bugs"]"#),
    needed("argv", Shape::Texts, r#"argv = ["--bug", "{bug}"]"#),
];

const CONTROLLER: &[Key] = &[
    needed("port", Shape::Whole(PORT), "port = 9093"),
    needed("template", Shape::Text, r#"template = """KEY=VALUE lines""""#),
];

const BROKER: &[Key] = &[
    needed("port", Shape::Whole(PORT), "port = 9092"),
    needed("template", Shape::Text, r#"template = """KEY=VALUE lines""""#),
    may("host", Shape::Table(HOST), "[broker.host]"),
];

const HOST: &[Key] = &[
    needed("port", Shape::Whole(PORT), "port = 9192"),
    needed("listener", Shape::Text, r#"listener = ",HOST://{address}:9192""#),
    needed(
        "advertised",
        Shape::Text,
        r#"advertised = ",HOST://127.0.0.1:{host_port}""#,
    ),
];

const HOME_FILE: &[Key] = &[
    needed("name", Shape::Text, r#"name = "log4j2.properties""#),
    needed("text", Shape::Text, r#"text = """..."""#),
];

/// What of a file has not the form.
pub(super) fn wrong(root: &DeTable<'_>) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    check_table(&At::default(), root, FILE, &mut wrong);
    wrong
}

fn check_table(at: &At, table: &DeTable<'_>, keys: &[Key], wrong: &mut Vec<Wrong>) {
    let mut strange = Vec::new();
    for (name, value) in table {
        let name: &str = name.get_ref();
        match keys.iter().find(|key| key.name == name) {
            Some(key) => check_value(&at.key(name), value.get_ref(), &key.shape, key.form, wrong),
            None => strange.push(unknown(at, name, keys)),
        }
    }
    // Where a name is mistyped, the right one is missing, too.
    if !strange.is_empty() {
        wrong.append(&mut strange);
        return;
    }
    for key in keys.iter().filter(|key| key.needed) {
        if !table.iter().any(|(name, _)| name.get_ref() == key.name) {
            wrong.push(Wrong::new(
                at.key(key.name),
                "it is missing",
                format!("add {}", key.form),
            ));
        }
    }
}

/// A key that a table has not.
fn unknown(at: &At, name: &str, keys: &[Key]) -> Wrong {
    let names = || keys.iter().map(|key| key.name);
    let table = if *at == At::default() {
        "the file".into()
    } else {
        format!("[{at}]")
    };
    let above = (*at != At::default())
        .then(|| FILE.iter().find(|key| key.name == name))
        .flatten();
    let remedy = match (above, nearest(name, names()).first()) {
        (Some(key), _) => format!("move {} above the first [table]", key.form),
        (None, Some(near)) => {
            let all: Vec<&str> = names().collect();
            format!("{near} is the nearest; {table} has {}", all.join(", "))
        }
        (None, None) => "leave it out".into(),
    };
    Wrong::new(at.key(name), format!("{table} has no such key"), remedy)
}

fn check_value(at: &At, value: &DeValue<'_>, shape: &Shape, form: &str, wrong: &mut Vec<Wrong>) {
    match (shape, value) {
        (Shape::Text, DeValue::String(_)) => {}
        (Shape::Texts, DeValue::Array(list)) => {
            for (n, element) in list.iter().enumerate() {
                check_value(&at.nth(n), element.get_ref(), &Shape::Text, form, wrong);
            }
        }
        (Shape::Pair, DeValue::Array(list)) if list.len() == 2 => {
            check_value(at, value, &Shape::Texts, form, wrong);
        }
        (Shape::Whole(range), DeValue::Integer(number)) => {
            if !whole(number).is_some_and(|number| range.contains(&number)) {
                wrong.push(out_of_range(at, number, range, form));
            }
        }
        (Shape::Table(keys), DeValue::Table(table)) => check_table(at, table, keys, wrong),
        (Shape::Map(shape, form), DeValue::Table(table)) => {
            for (name, value) in table {
                check_value(&at.key(name.get_ref()), value.get_ref(), shape, form, wrong);
            }
        }
        (Shape::Tables(keys), DeValue::Array(list)) => {
            for (n, element) in list.iter().enumerate() {
                check_value(&at.nth(n), element.get_ref(), &Shape::Table(keys), form, wrong);
            }
        }
        _ => {
            let why = format!("it is {}, and {} is expected", kind(value), shape.kind());
            wrong.push(Wrong::new(at.clone(), why, format!("write it as {form}")));
        }
    }
}

fn whole(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn out_of_range(at: &At, number: &DeInteger<'_>, range: &RangeInclusive<i64>, form: &str) -> Wrong {
    let (least, most) = (range.start(), range.end());
    Wrong::new(
        at.clone(),
        format!("{number} is not from {least} to {most}"),
        format!("write a number from {least} to {most}: {form}"),
    )
}

impl Shape {
    fn kind(&self) -> &'static str {
        match self {
            Shape::Text => "a text in quotes",
            Shape::Texts => "a list of texts",
            Shape::Pair => "a list of two texts",
            Shape::Whole(_) => "a whole number",
            Shape::Table(_) | Shape::Map(..) => "a table",
            Shape::Tables(_) => "a table in double brackets",
        }
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
pub(super) mod paths {
    use super::*;

    /// Every key of the form, with the tables that it is in; `*` stands for names of the file's own, and for `[[...]]`.
    pub fn all() -> Vec<String> {
        let mut paths = Vec::new();
        of_table("", FILE, &mut paths);
        paths
    }

    fn of_table(above: &str, keys: &[Key], paths: &mut Vec<String>) {
        for key in keys {
            let path = format!("{above}{}", key.name);
            match &key.shape {
                Shape::Table(keys) => of_table(&format!("{path}."), keys, paths),
                Shape::Map(Shape::Table(keys), _) | Shape::Tables(keys) => {
                    of_table(&format!("{path}.*."), keys, paths);
                }
                _ => {}
            }
            paths.push(path);
        }
    }
}
