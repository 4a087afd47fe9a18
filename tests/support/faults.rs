//! Every fault on a whole run of the reference cluster: put in under load, measured, healed, and judged.

use super::{Run, start};
use nemesis::About;
use std::fs;
use std::path::Path;

/// What a fault asks of its scenario where the usual one will not do.
struct Special {
    fault: &'static str,
    /// Whom it strikes.
    target: &'static str,
    /// What the command line adds.
    args: &'static [&'static str],
}

/// The usual: a broker that follows.
const USUAL: Special = Special {
    fault: "",
    target: "follower",
    args: &[],
};

const SPECIAL: [Special; 5] = [
    Special {
        fault: "resign-controller",
        target: "active-controller",
        ..USUAL
    },
    Special {
        fault: "remove-voter",
        target: "controllers",
        args: &["--feature", "kraft.version=1"],
    },
    Special {
        fault: "add-voter",
        target: "controllers",
        args: &["--feature", "kraft.version=1"],
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
];

fn special(fault: &str) -> &'static Special {
    SPECIAL
        .iter()
        .find(|special| special.fault == fault)
        .unwrap_or(&USUAL)
}

/// A scenario of one fault.
fn scenario(fault: &str) -> String {
    let follower = include_str!("../../scenarios/follower-power-cut.toml");
    // They are in that file, in this order.
    let from = follower.find("[server]").unwrap();
    let to = follower.find("[[requirements]]").unwrap();
    let (settings, target) = (&follower[from..to], special(fault).target);
    format!(
        r#"name = "one-{fault}"
summary = "One fault, put in and healed."
promises = ["kip-966"]
limit = "120s"

{settings}
[[steps]]
name = "T0"
text = "the fault is in"
after = {{ acks = 300 }}
act = [{{ fault = "{fault}", target = "{target}", as = "struck" }}]
until = {{ acks = 30 }}
limit = "60s"

[[steps]]
name = "T1"
text = "it is healed"
act = [{{ heal = "{fault}", target = "struck" }}]
until = {{ acks = 50 }}
limit = "60s"
"#
    )
}

/// What a run showed of its fault.
pub enum Shown {
    /// It took and was healed; what was measured.
    Took(String),
    /// This cluster cannot have it; why.
    NotHere(&'static str),
}

/// Runs one fault in that folder; the error is what was wrong.
pub fn one(folder: &Path, about: &About) -> Result<Shown, String> {
    let name = about.name;
    let file = folder.join(format!("{name}.toml"));
    fs::write(&file, scenario(name)).map_err(|why| format!("{}: {why}", file.display()))?;
    let file = file.to_string_lossy();
    let args = [special(name).args, &["--no-progress", "--seed", "1", &*file]].concat();
    let run = start(folder, name, &args).wait();
    judged(about, &run)
}

/// Topics that are made anew have lost their records because somebody asked for it, so nothing can be said of them.
fn may_be_unknown(name: &str) -> bool {
    name == "recreate-topic"
}

/// A move that brings no replica is over at once, and on three brokers there is no other: its test has four.
const OVER_AT_ONCE: &str = "was complete before it could be cancelled";

fn judged(about: &About, run: &Run) -> Result<Shown, String> {
    if run.code() == 70 && about.name == "cancel-reassignment" && run.err.contains(OVER_AT_ONCE) {
        return Ok(Shown::NotHere("on three brokers a move is over at once"));
    }
    let passed = run.code() == 0 || (run.code() == 2 && may_be_unknown(about.name));
    if !passed {
        return Err(format!("status {}: {}", run.code(), run.said()));
    }
    let result = run.result();
    let faults = result["faults"].as_array().cloned().unwrap_or_default();
    let Some(fault) = faults.iter().find(|fault| fault["name"] == about.name) else {
        return Err(format!("it is not in the result: {result}"));
    };
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
    let words: Vec<String> = measured
        .iter()
        .map(|(quantity, value)| format!("{quantity} {}", value.as_f64().unwrap_or(f64::NAN)))
        .collect();
    Ok(Shown::Took(words.join(", ")))
}
