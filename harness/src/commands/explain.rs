//! `ackall explain`: the page on a fault, a scenario, an anomaly or reason code, on targets, or on what `check` has
//! names for; and `docs/faults.md`, made of the same.

use crate::error::{Error, Status, nearest};
use crate::needs::mechanisms;
use crate::scenario::{BUILT_IN, Scenario};
use crate::target::GRAMMAR;
use nemesis::{About, Default, Kind, Param, Program};
use std::fmt::Write;

/// The page on anomalies and reason codes.
const ANOMALIES: &str = include_str!("../../../docs/anomalies.md");
/// The page on `check`: what it has names for stands in its tables.
const CHECKERS: &str = include_str!("../../../docs/checkers.md");
/// The tables' sections, and what a name of each is.
const CHECKED: [(&str, &str); 5] = [
    ("Models", "the model"),
    ("Formats", "the format"),
    ("Levels", "the level"),
    (
        "Names of anomalies",
        "in a history that something else recorded, the anomaly",
    ),
    ("Limits", "in a history that something else recorded, the reason"),
];
/// The page on targets.
const TARGETS: &str = "targets";

/// Prints the page of that name; without one, the names.
pub fn explain(name: Option<&str>) -> Result<Status, Error> {
    match name {
        None => say_as_is!("{}", names()),
        Some(name) => say_as_is!("{}", page(name)?),
    }
    Ok(Status::Pass)
}

fn abouts() -> impl Iterator<Item = &'static About> {
    nemesis::ALL.iter().map(|fault| fault.about())
}

fn names() -> String {
    let mut text = String::from("faults\n");
    for about in abouts() {
        // A String takes whatever is written to it.
        let _ = writeln!(text, "  {:<22}{}", about.name, about.text);
    }
    text.push_str("\nscenarios\n");
    for (name, _) in BUILT_IN {
        let summary = Scenario::find(name)
            .map(|scenario| scenario.summary)
            .unwrap_or_default();
        let _ = writeln!(text, "  {name:<22}{summary}");
    }
    let _ = writeln!(
        text,
        "\nanomalies\n  {}",
        anomalies().map(|(name, _)| name).collect::<Vec<_>>().join(", ")
    );
    let _ = writeln!(
        text,
        "\nreason codes\n  {}",
        codes().map(|(code, _)| code).collect::<Vec<_>>().join(", ")
    );
    for (section, _) in CHECKED {
        let names: Vec<&str> = checked(section).map(|(name, _)| name).collect();
        let _ = writeln!(
            text,
            "\ncheck: {}\n  {}",
            section.to_lowercase(),
            names.join(", ")
        );
    }
    let _ = writeln!(text, "\nhow a scenario names nodes\n  {TARGETS}");
    text
}

/// All pages of that name: some words are a fault and an anomaly.
fn page(name: &str) -> Result<String, Error> {
    let mut pages = Vec::new();
    if name == TARGETS {
        pages.push(format!("{GRAMMAR}\n"));
    }
    if let Some(about) = abouts().find(|about| about.name == name) {
        pages.push(section(about));
    }
    if BUILT_IN.iter().any(|(known, _)| *known == name) {
        pages.push(scenario(name)?);
    }
    if let Some((_, text)) = anomalies().find(|(known, _)| *known == name) {
        pages.push(format!("the anomaly {name}\n\n{text}\n"));
    }
    if let Some((_, text)) = codes().find(|(known, _)| *known == name) {
        pages.push(format!("the reason {name}\n\nThe run is unknown: {text}.\n"));
    }
    for (section, what) in CHECKED {
        pages.extend(
            checked(section)
                .filter(|(known, _)| *known == name)
                .map(|(_, text)| format!("{what} {name}\n\n{}\n", row_in_words(section, text))),
        );
    }
    if !pages.is_empty() {
        return Ok(pages.join("\n"));
    }
    let known = abouts().map(|about| about.name);
    let known = known.chain(BUILT_IN.iter().map(|(name, _)| *name));
    let known = known
        .chain(anomalies().map(|(name, _)| name))
        .chain(codes().map(|(code, _)| code));
    let known = known.chain(
        CHECKED
            .into_iter()
            .flat_map(|(section, _)| checked(section).map(|(name, _)| name)),
    );
    let near = nearest(name, known.chain([TARGETS])).join(", ");
    Err(Error::usage(
        format!("explaining {name:?}"),
        format!("there is no page of that name; the nearest are {near}"),
        "ackall explain   lists them",
    ))
}

fn scenario(name: &str) -> Result<String, Error> {
    let scenario = Scenario::find(name)?;
    let mut text = format!("{name}\n\n{}\n", scenario.summary);
    for step in &scenario.steps {
        let _ = write!(text, "\n{}: {}", step.name, step.text);
    }
    let _ = writeln!(text, "\n\nackall scenarios {name}   prints its TOML");
    Ok(text)
}

/// The sections of the page on anomalies.
fn anomalies() -> impl Iterator<Item = (&'static str, &'static str)> {
    let end = ANOMALIES
        .find("\n# When nothing can be said")
        .unwrap_or(ANOMALIES.len());
    let sections = ANOMALIES[..end].split("\n## ").skip(1);
    sections
        .filter_map(|section| section.split_once('\n'))
        .map(|(name, text)| (name.trim(), text.trim()))
}

/// The reason codes, with what is missing.
fn codes() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = ANOMALIES
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    rows.filter_map(|row| row.split_once("` | "))
}

/// The rows of a table of the page on `check`: a name in its first column, and the others.
fn checked(section: &str) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
    let heading = format!("\n## {section}\n");
    let text = CHECKERS
        .find(&heading)
        .and_then(|at| CHECKERS.get(at + heading.len()..));
    let text = text.unwrap_or_default().split("\n## ").next().unwrap_or_default();
    let rows = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    rows.filter_map(|row| row.split_once("` | "))
}

/// What stands beside a name in its table, as a sentence.
fn row_in_words(section: &str, text: &str) -> String {
    match (section, text.rsplit_once(" | ")) {
        ("Levels", _) => format!("The next weaker: {text}."),
        (_, Some((what, real_time))) => format!("{}. Real time: {real_time}.", capital(what)),
        (_, None) => format!("{}.", capital(text).trim_end_matches('?')),
    }
}

/// `docs/faults.md`.
#[cfg(test)]
fn document() -> String {
    let mut text = String::from(INTRODUCTION);
    let _ = writeln!(
        text,
        "\n## Targets\n\nA target is {}.\n",
        GRAMMAR.replace('\n', " ")
    );
    text.push_str(COMPOSITION);
    text.push_str("\n## All of them\n\n| fault | what it does |\n| --- | --- |\n");
    for about in abouts() {
        let _ = writeln!(text, "| [`{0}`](#{0}) | {1} |", about.name, about.text);
    }
    for about in abouts() {
        let _ = write!(text, "\n{}", section(about));
    }
    text
}

#[cfg(test)]
const INTRODUCTION: &str = "\
# Faults

<!-- Made from the faults' own descriptions; `ACKALL_WRITE_DOCS=1 cargo test -p harness --lib explain` writes it. -->

A step of a scenario puts a fault in and heals it:

```toml
act = [{ fault = \"crash-loop\", target = \"leader\", params = { times = [2, 5] }, as = \"loop\" }]
act = [{ heal = \"crash-loop\", target = \"loop\" }]
```

`params` are checked when the scenario is read; what is not said is the default, and a range `[low, high]` of a number is drawn by the seed. The plan has what was drawn, the history what was asked, on which nodes, and what was measured. A fault that is not seen to take within its limit, or to heal, ends the run with status 70. A node that does not come up again after one is the system's own doing: a step that was not reached, with the reason from the node's log, and the run goes on to its final read. One for which this machine has no means ends it with 69 before it begins, in the words of `ackall doctor`.
";

#[cfg(test)]
const COMPOSITION: &str = "\
## Several at once

Faults overlap, and healing one leaves the others. Refused is what could not be told apart, or could not be seen:

- The same fault on the same node twice. It is refused, not queued. A target that is drawn (`one`, `any`, `minority`, `majority`) is drawn among nodes that do not have the fault.
- A fault of a program on a node whose program is down, or stands still, by another fault; only a loss of power strikes what stands still.
- A fault of links on a node whose links are silent already.
- Healing a fault of a program while its node is down by another fault.
- On a node whose disk fails, is full or hangs, another fault of its disk or one that starts the program again; and healing such a one before the disk.

What is refused while a run goes on is a step that was not reached: the run is unknown. A heal takes out every fault of its name whose nodes are all among its target's. When the steps are over whatever is still in is healed, faults of links first, those of controllers next, and then the latest first; then every link must be free of rules, or the status is 70.
";

/// A fault's section.
fn section(about: &About) -> String {
    let mut text = format!("## {}\n\n{}.\n\n", about.name, capital(about.text));
    if about.params.is_empty() {
        text.push_str("It has no parameters.\n");
    } else {
        text.push_str(
            "| parameter | unit | bounds | default | what it does |\n| --- | --- | --- | --- | --- |\n",
        );
    }
    for param in about.params {
        let (bounds, default) = bounds(&param.kind);
        let _ = writeln!(
            text,
            "| `{}` | {} | {bounds} | {default} | {} |",
            param.name,
            unit(param),
            param.text
        );
    }
    let needs = match mechanisms(about.needs) {
        [] => "what every run needs".to_string(),
        some => format!("what every run needs, and {}", some.join(" or ")),
    };
    let _ = writeln!(
        text,
        "\n**Needs** {needs}. **Its program** {}. **Heals:** {}.",
        program(about.program),
        about.heals
    );
    text.push_str("\nMeasured:\n\n");
    for (quantity, what) in about.measures {
        let _ = writeln!(text, "- `{quantity}`: {what}");
    }
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

fn program(program: Program) -> &'static str {
    match program {
        Program::GoesOn => "goes on",
        Program::StandsStill => "stands still until the heal",
        Program::Ends => "ends, and the heal starts it",
        Program::Restarts => "may end, and runs again before or by the heal",
        Program::LosesPower => "is gone with the power, and the heal starts it",
    }
}

fn bounds(kind: &Kind) -> (String, String) {
    match kind {
        Kind::Number { least, most, default } => {
            let default = match default {
                Default::Is(number) => number.to_string(),
                Default::Needed => "must be said".into(),
            };
            (format!("{least} to {most}"), default)
        }
        Kind::Word(words) => (
            words.join(", "),
            words.first().copied().unwrap_or_default().into(),
        ),
        Kind::Text("") => ("any text".into(), "none".into()),
        Kind::Text(default) => ("any text".into(), (*default).into()),
    }
}

/// The unit that a parameter's name ends in.
fn unit(param: &Param) -> &'static str {
    const UNITS: [(&str, &str); 11] = [
        ("_ms", "ms"),
        ("_s", "s"),
        ("_us", "µs"),
        ("_percent", "%"),
        ("_ppm", "ppm"),
        ("_mib", "MiB"),
        ("_kib", "KiB"),
        ("_bytes", "bytes"),
        ("_kbit", "kbit/s"),
        ("_mbit", "Mbit/s"),
        ("_mbit_per_s", "Mbit/s"),
    ];
    let ends = |(end, _): &&(&str, &str)| param.name.ends_with(end);
    match param.kind {
        Kind::Number { .. } => UNITS.iter().find(ends).map_or("", |(_, unit)| unit),
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_on_faults_is_what_the_faults_say() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/faults.md");
        let made = document();
        if std::env::var_os("ACKALL_WRITE_DOCS").is_some() {
            std::fs::write(path, &made).unwrap();
        }
        let there = std::fs::read_to_string(path).unwrap();
        assert!(
            there == made,
            "docs/faults.md is not what the faults say: ACKALL_WRITE_DOCS=1 cargo test -p harness --lib explain"
        );
    }

    #[test]
    fn every_name_has_a_page_and_others_get_the_nearest() {
        let listed = names();
        for about in abouts() {
            assert!(listed.contains(about.name));
            assert!(page(about.name).unwrap().contains("Heals"));
            assert!(
                !about.measures.is_empty() && !about.heals.is_empty(),
                "{}",
                about.name
            );
        }
        for name in ["calm", "acked-then-lost", "too-few-acks", "targets"] {
            assert!(page(name).unwrap().len() > 40, "{name}");
        }
        assert_eq!(
            page("committed-metadata-lost").unwrap().lines().next(),
            Some("the anomaly committed-metadata-lost")
        );
        let error = page("powercut").unwrap_err();
        assert!(error.why.contains("power-cut"), "{error}");
    }

    #[test]
    fn every_model_format_and_level_of_check_has_a_page() {
        let listed = names();
        let models = checker::ModelName::ALL.map(checker::ModelName::text);
        let levels = checker::Level::ALL.map(checker::Level::text);
        let formats = history::Format::ALL.map(history::Format::text);
        for name in models
            .into_iter()
            .chain(levels)
            .chain(formats)
            .chain(["G-single", "budget"])
        {
            assert!(listed.contains(name), "{name}");
            assert!(page(name).unwrap().len() > 20, "{name}");
        }
        for level in checker::Level::ALL {
            let page = page(level.text()).unwrap();
            for weaker in level.next_weaker() {
                assert!(page.contains(weaker.text()), "{page}");
            }
        }
        assert_eq!(
            page("mutex").unwrap(),
            "the model mutex\n\nLinearizable? `acquire` and `release`; it does not ask who holds it.\n"
        );
        // A run's own anomaly, and one of others' logs.
        assert_eq!(
            page("duplicate")
                .unwrap()
                .matches("the anomaly duplicate")
                .count(),
            2
        );
    }

    #[test]
    fn a_word_that_is_a_fault_and_an_anomaly_gets_both_pages() {
        let both = page("corrupt").unwrap();
        assert!(
            both.contains("Heals") && both.contains("the anomaly corrupt"),
            "{both}"
        );
        assert!(!page("calm").unwrap().contains("the anomaly"));
    }
}
