//! `manifest.json`: an array with a record a file, and what is asked of each.

use crate::judge::{Check, Expected, verdict};
use checker::{Level, ModelName, Options, Outcome};
use history::{Format, Value};
use serde_json::Value as Json;
use std::path::Path;

/// The manifest's name.
pub const NAME: &str = "manifest.json";

/// All checks, a file after the other.
pub fn checks(folder: &Path) -> Result<Vec<Check>, String> {
    let path = folder.join(NAME);
    let wrong = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|e| wrong(&e))?;
    let json: Json = serde_json::from_str(&text).map_err(|e| wrong(&e))?;
    let records = json.as_array().ok_or_else(|| wrong(&"an array was expected"))?;
    let mut checks = Vec::new();
    for record in records {
        let id = text_of(record, "id").unwrap_or("a record without an id");
        of_record(folder, record, &mut checks).map_err(|e| wrong(&format!("{id}: {e}")))?;
    }
    Ok(checks)
}

fn text_of<'a>(record: &'a Json, name: &str) -> Option<&'a str> {
    record.get(name).and_then(Json::as_str)
}

/// The check of one record, and one more for each level that has a verdict.
fn of_record(folder: &Path, record: &Json, checks: &mut Vec<Check>) -> Result<(), String> {
    let text = |name: &str| text_of(record, name).ok_or_else(|| format!("it has no {name}"));
    let model_text = text("model")?;
    let asked = text_of(record, "check").unwrap_or_default();
    let valid = record.get("valid").and_then(Json::as_bool);
    let mut check = Check {
        id: text("id")?.into(),
        source: text("source")?.into(),
        path: folder.join(text("path")?),
        format: Some(text("format")?.parse()?),
        model: None,
        options: Options::default(),
        what: if asked.is_empty() { model_text } else { asked }.into(),
        expected: None,
        not_judged: None,
    };
    let Ok(model) = ModelName::find(model_text.split(['(', ' ']).next().unwrap_or_default()) else {
        check.not_judged = Some(format!("{model_text} is no model of this project"));
        checks.push(check);
        return Ok(());
    };
    check.model = Some(model);
    check.options.initial = initial(model_text);
    options(&mut check.options, record)?;
    check_words(&mut check.options, asked)?;
    let levels = levels(&check, record)?;
    check.expected = valid.map(|valid| Expected {
        verdict: verdict(valid),
        names: names(record),
    });
    if check.expected.is_none() {
        check.not_judged = Some("nobody has said what it is".into());
    }
    checks.push(check);
    checks.extend(levels);
    Ok(())
}

/// The anomalies of the record's own check; none where it does not say.
fn names(record: &Json) -> Option<Vec<String>> {
    let names = record.get("anomalies")?.as_array()?;
    Some(
        names
            .iter()
            .filter_map(Json::as_str)
            .map(str::to_string)
            .collect(),
    )
}

/// The initial value that stands in brackets behind a model's name. Of the cas-registers the manifest says 0, and that
/// nil gives the same verdicts: it is nil that their clients read at first, and that a failed compare-and-set saw.
fn initial(model: &str) -> Option<Value> {
    model.contains("(init x=0,y=0)").then_some(Value::Int(0))
}

fn options(options: &mut Options, record: &Json) -> Result<(), String> {
    for (name, value) in record
        .get("options")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
    {
        let value = match value {
            Json::Bool(truth) => Value::Bool(*truth),
            Json::Number(number) => Value::Int(number.as_i64().unwrap_or_default()),
            other => return Err(format!("the option {name} is {other}")),
        };
        if !options.set(name, &value)? {
            return Err(format!("{name} is no option"));
        }
    }
    Ok(())
}

/// The words of `check`: a level, how partitions were had, or flags of the tool that gave the verdict.
fn check_words(options: &mut Options, asked: &str) -> Result<(), String> {
    let mut words = asked.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "linearizable" | "kafka" | "--consistency-models" | "sub-via=assign" => {}
            "sub-via=subscribe" => options.subscribe = true,
            "ww-deps" => options.ww_deps = true,
            "--group-size" => options.group_size = words.next().and_then(|size| size.parse().ok()),
            "transactional-causal" => options.level = Some(Level::Causal),
            level => options.level = Some(level.parse()?),
        }
    }
    Ok(())
}

/// A check for each level of `verdicts`.
fn levels(check: &Check, record: &Json) -> Result<Vec<Check>, String> {
    let verdicts = record.get("verdicts").and_then(Json::as_object);
    let mut checks = Vec::new();
    for (name, verdict) in verdicts.into_iter().flatten() {
        let mut check = check.clone();
        check.what.clone_from(name);
        let said = match verdict.as_bool() {
            Some(valid) => Some(crate::judge::verdict(valid)),
            // Its own checker's third answer.
            None => (verdict == "unknown").then_some(Outcome::Unknown),
        };
        check.expected = said.map(|verdict| Expected { verdict, names: None });
        check.not_judged = None;
        match name.as_str() {
            "linearizable" => {}
            "sequential" => {
                check.expected = None;
                check.not_judged = Some("sequential consistency of registers is not checked".into());
            }
            level => check.options.level = Some(level.parse()?),
        }
        checks.push(check);
    }
    Ok(checks)
}

/// Whether a format is one of sessions alone.
pub fn no_real_time(format: Option<Format>) -> bool {
    format.is_some_and(|format| !format.has_real_time())
}
