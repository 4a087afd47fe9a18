//! Every fault on a whole run of a cluster: put in under load, measured, healed, and judged. One run has one fault, or
//! several one after the other where a start costs much.

use super::{Run, start_within};
use nemesis::About;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// What a fault asks of its scenario where the usual one will not do.
struct Special {
    fault: &'static str,
    /// Whom it strikes.
    target: &'static str,
    /// What the command line adds.
    args: &'static [&'static str],
    /// Whether it needs a run of its own: what it leaves behind would be said of the faults after it.
    alone: bool,
}

/// The usual: a broker that follows.
const USUAL: Special = Special {
    fault: "",
    target: "follower",
    args: &[],
    alone: false,
};
/// Voters that may change.
const CHANGING: &[&str] = &["--feature", "kraft.version=1"];

const SPECIAL: &[Special] = &[
    Special {
        fault: "resign-controller",
        target: "active-controller",
        ..USUAL
    },
    Special {
        fault: "remove-voter",
        target: "controllers",
        args: CHANGING,
        ..USUAL
    },
    Special {
        fault: "add-voter",
        target: "controllers",
        args: CHANGING,
        ..USUAL
    },
    Special {
        fault: "elect-preferred",
        target: "brokers",
        ..USUAL
    },
    Special {
        fault: "rolling-restart",
        target: "brokers:all",
        ..USUAL
    },
    alone("recreate-topic"),
    alone("cancel-reassignment"),
    alone("grow-partitions"),
    alone("elect-unclean"),
    alone("set-min-isr"),
    alone("set-feature"),
    alone("disk-sync-fails-once"),
    alone("disk-sync-lies"),
    alone("disk-corrupt"),
    alone("disk-truncate"),
    alone("disk-replace"),
    alone("disk-roll-back"),
];

const fn alone(fault: &'static str) -> Special {
    Special {
        fault,
        alone: true,
        ..USUAL
    }
}

/// One fault on some target, as it is told.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it is called: the fault's name, and what is special.
    pub name: String,
    about: &'static About,
    target: &'static str,
    /// In TOML's inline form.
    pub params: String,
    args: &'static [&'static str],
    alone: bool,
}

impl Case {
    /// A fault as it is where nothing is said.
    pub fn of(about: &'static About) -> Case {
        let special = SPECIAL.iter().find(|special| special.fault == about.name);
        let special = special.unwrap_or(&USUAL);
        Case {
            name: about.name.into(),
            about,
            target: special.target,
            params: String::new(),
            args: special.args,
            alone: special.alone,
        }
    }

    /// Whether both can be in one run.
    fn goes_with(&self, other: &Case) -> bool {
        !self.alone && !other.alone && self.args == other.args
    }
}

/// Every remainder of a power cut: on a broker that follows, and on the active controller.
pub fn remainders() -> Vec<Case> {
    let power_cut = nemesis::power_cut::PowerCut;
    let about = nemesis::Fault::about(&power_cut);
    let told = about.params.iter().find(|param| param.name == "remainder");
    let remainders = match told.map(|param| &param.kind) {
        Some(nemesis::Kind::Word(words)) => words,
        other => panic!("what a power cut leaves is told by a word, and this is {other:?}"),
    };
    let on = |target: &'static str| {
        let cases = remainders.iter().map(|remainder| Case {
            name: format!("power-cut {remainder} {target}"),
            target,
            params: format!("remainder = \"{remainder}\""),
            ..Case::of(about)
        });
        cases.collect::<Vec<_>>()
    };
    [on("follower"), on("active-controller")].concat()
}

/// Where faults are shown.
#[derive(Clone, Debug, Default)]
pub struct On {
    /// The system, as `--system` names it; the reference cluster where none is.
    pub system: Option<String>,
    /// How many faults a run may have, one after the other.
    pub together: usize,
}

/// How long one fault may take in a run, its heal included, and a run's start and end: on the slowest system.
const CASE_LIMIT: Duration = Duration::from_secs(100);

/// The cases of one run after the other: each as many as may be, in their order.
pub fn runs(cases: &[Case], on: &On) -> Vec<Vec<Case>> {
    let mut runs: Vec<Vec<Case>> = Vec::new();
    for case in cases {
        let open = runs
            .iter_mut()
            .find(|run| run.len() < on.together && run.iter().all(|it| it.goes_with(case)));
        match open {
            Some(run) => run.push(case.clone()),
            None => runs.push(vec![case.clone()]),
        }
    }
    runs
}

/// A scenario of faults, one after the other.
pub fn scenario(name: &str, cases: &[Case]) -> String {
    let follower = include_str!("../../scenarios/follower-power-cut.toml");
    // They are in that file, in this order.
    let from = follower.find("[server]").unwrap();
    let to = follower.find("[[requirements]]").unwrap();
    let settings = &follower[from..to];
    let limit = 120 * cases.len();
    let steps: Vec<String> = cases.iter().enumerate().map(steps).collect();
    format!(
        r#"name = "one-{name}"
summary = "Faults, each put in and healed."
promises = ["kip-966"]
limit = "{limit}s"

{settings}
{}"#,
        steps.concat()
    )
}

fn steps((n, case): (usize, &Case)) -> String {
    let (fault, target, params) = (case.about.name, case.target, &case.params);
    format!(
        r#"
[[steps]]
name = "T{}"
text = "the fault is in"
after = {{ acks = 300 }}
act = [{{ fault = "{fault}", target = "{target}", params = {{ {params} }}, as = "struck-{n}" }}]
until = {{ acks = 30 }}
limit = "60s"

[[steps]]
name = "T{}"
text = "it is healed"
act = [{{ heal = "{fault}", target = "struck-{n}" }}]
until = {{ acks = 50, isr_size = 3 }}
limit = "60s"
"#,
        2 * n,
        2 * n + 1
    )
}

/// What a run showed of a fault.
#[derive(Clone, Debug)]
pub enum Shown {
    /// It took and was healed; the run's verdict, and what was measured.
    Took(String, String),
    /// This cluster cannot have it; why.
    NotHere(&'static str),
}

/// Runs faults in that folder, one after the other in one run; of each what was shown of it, or what was wrong.
/// Where one run of several is not as it should be, each has a run of its own.
pub fn shown(folder: &Path, cases: &[Case], on: &On) -> Vec<Result<Shown, String>> {
    let all = run(folder, cases, on);
    if cases.len() == 1 || all.iter().all(Result::is_ok) {
        return all;
    }
    for (case, shown) in cases.iter().zip(&all) {
        if let Err(why) = shown {
            eprintln!("{}, once more and alone: {why}", case.name);
        }
    }
    cases
        .iter()
        .flat_map(|case| run(folder, std::slice::from_ref(case), on))
        .collect()
}

fn run(folder: &Path, cases: &[Case], on: &On) -> Vec<Result<Shown, String>> {
    let Some(first) = cases.first() else {
        return Vec::new();
    };
    let name = match cases.len() {
        1 => first.name.replace(' ', "-"),
        n => format!("{}-and-{}-more", first.name.replace(' ', "-"), n - 1),
    };
    let file = folder.join(format!("{name}.toml"));
    if let Err(why) = fs::write(&file, scenario(&name, cases)) {
        return cases
            .iter()
            .map(|_| Err(format!("{}: {why}", file.display())))
            .collect();
    }
    let file = file.to_string_lossy();
    let system: Vec<&str> = on.system.iter().flat_map(|name| ["--system", name]).collect();
    let usual = ["--no-progress", "--seed", "1", "--keep-disks", "never", &*file];
    let args = [first.args, &system, &usual].concat();
    let limit = CASE_LIMIT * cases.len() as u32;
    let run = start_within(folder, &name, &args, limit);
    let nth = cases.iter().enumerate();
    nth.map(|(n, case)| judged(case, n, &run)).collect()
}

/// Topics that are made anew have lost their records because somebody asked for it, so nothing can be said of them.
fn may_be_unknown(name: &str) -> bool {
    name == "recreate-topic"
}

/// A move that brings no replica is over at once, and on three brokers there is no other: its test has four.
const OVER_AT_ONCE: &str = "was complete before it could be cancelled";

/// What a run showed of its n-th fault.
fn judged(case: &Case, n: usize, run: &Run) -> Result<Shown, String> {
    let about = case.about;
    if run.code() == 70 && about.name == "cancel-reassignment" && run.err.contains(OVER_AT_ONCE) {
        return Ok(Shown::NotHere("on three brokers a move is over at once"));
    }
    let passed = run.code() == 0 || (run.code() == 2 && may_be_unknown(about.name));
    if !passed {
        return Err(format!("status {}: {}", run.code(), run.said()));
    }
    let result = run.result();
    let fault = &result["faults"][n];
    if fault["name"] != about.name {
        return Err(format!("it is not in the result: {result}"));
    }
    let measured = fault["measured"].as_object().cloned().unwrap_or_default();
    let says = |quantity: &str| {
        let healed = format!("heal_{quantity}");
        measured.contains_key(quantity) || measured.contains_key(&healed)
    };
    if !about.measures.iter().any(|(quantity, _)| says(quantity)) {
        return Err(format!("nothing was measured of it: {fault}"));
    }
    if fault["healed_at"].is_null() {
        return Err(format!("it was not healed: {fault}"));
    }
    let words = measured.iter().map(|(quantity, value)| {
        let value = value.as_f64().unwrap_or(f64::NAN);
        format!("{quantity} {}", (value * 10.0).round() / 10.0)
    });
    let verdict = result["verdict"].as_str().unwrap_or("none").to_string();
    Ok(Shown::Took(verdict, words.collect::<Vec<_>>().join(", ")))
}

/// What a campaign showed, as a table of Markdown.
pub fn table(all: &[(Case, Result<Shown, String>)]) -> String {
    let mut text = String::from("| Fault | Took and healed | Verdict | Measured |\n|---|---|---|---|\n");
    for (case, shown) in all {
        let row = match shown {
            Ok(Shown::Took(verdict, measured)) => format!("yes | {verdict} | {measured}"),
            Ok(Shown::NotHere(why)) => format!("cannot be had | | {why}"),
            Err(why) => format!("WRONG | | {}", why.lines().next().unwrap_or_default()),
        };
        text.push_str(&format!("| `{}` | {row} |\n", case.name));
    }
    text
}
