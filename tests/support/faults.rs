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
    /// What is put in before it, by the same act.
    before: &'static str,
    /// What the command line adds.
    args: &'static [&'static str],
}

/// The usual: a broker that follows.
const USUAL: Special = Special {
    fault: "",
    target: "follower",
    before: "",
    args: &[],
};

const SPECIAL: [Special; 6] = [
    Special {
        fault: "resign-controller",
        target: "active-controller",
        ..USUAL
    },
    Special {
        fault: "remove-voter",
        target: "controllers",
        args: &["--feature", "kraft.version=1"],
        ..USUAL
    },
    Special {
        fault: "add-voter",
        target: "controllers",
        args: &["--feature", "kraft.version=1"],
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
    // Or the move is over before it can be cancelled.
    Special {
        fault: "cancel-reassignment",
        before: r#"{ fault = "bandwidth", target = "brokers:all", params = { rate_kbit = 256 }, as = "slow" }, "#,
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
    let (settings, special) = (&follower[from..to], special(fault));
    let (target, before) = (special.target, special.before);
    let also = if before.is_empty() {
        ""
    } else {
        r#", { heal = "bandwidth", target = "slow" }"#
    };
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
act = [{before}{{ fault = "{fault}", target = "{target}", as = "struck" }}]
until = {{ acks = 30 }}
limit = "60s"

[[steps]]
name = "T1"
text = "it is healed"
act = [{{ heal = "{fault}", target = "struck" }}{also}]
until = {{ acks = 50 }}
limit = "60s"
"#
    )
}

/// Runs one fault in that folder, and says what was measured; or what was wrong.
pub fn one(folder: &Path, about: &About) -> Result<String, String> {
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

fn judged(about: &About, run: &Run) -> Result<String, String> {
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
    Ok(words.join(", "))
}
