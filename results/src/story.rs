//! What a result says, in words that the summary, the test report and the page share.

use crate::result::{AnomalyResult, RunResult};
use crate::store;
use crate::text::{counted, grouped, quoted};
use checker::{Outcome, Reason};

/// The anomalies that are the loss of an acknowledged record, one an instance.
const LOSSES: [&str; 2] = ["acked-then-lost", "acked-tail-lost"];

/// Whether an anomaly of this name is the loss of an acknowledged record.
pub(crate) fn is_loss(name: &str) -> bool {
    LOSSES.contains(&name)
}

/// How many acknowledged records were lost, on both sides of the promise.
pub(crate) fn lost(result: &RunResult) -> u64 {
    result
        .anomalies
        .iter()
        .filter(|anomaly| is_loss(&anomaly.name))
        .map(|anomaly| anomaly.count)
        .sum()
}

/// The reasons that left a verdict open: all but those that name what was found.
pub(crate) fn lacks(result: &RunResult) -> impl Iterator<Item = &Reason> {
    let found = |reason: &Reason| {
        reason.code == checker::codes::OUTSIDE_PROMISE
            || result.anomalies.iter().any(|a| a.name == reason.code)
    };
    result.reasons.iter().filter(move |reason| !found(reason))
}

/// The verdict in a line.
pub(crate) fn verdict(result: &RunResult) -> String {
    match result.verdict {
        Outcome::Pass => format!("every promise held: {}", promise_name(result)),
        Outcome::Fail => {
            let broken: Vec<&str> = inside(result).map(|anomaly| anomaly.name.as_str()).collect();
            format!(
                "a promise was broken: {} ({})",
                promise_name(result),
                broken.join(", ")
            )
        }
        Outcome::Unknown => {
            let lacks: Vec<&Reason> = lacks(result).collect();
            match lacks[..] {
                [] => "the history does not show enough to judge".to_string(),
                [one] => one.message.clone(),
                [first, ref more @ ..] => {
                    format!(
                        "{} (and {})",
                        first.message,
                        counted(more.len() as u64, "more reason")
                    )
                }
            }
        }
    }
}

/// The promise's name, where there is one.
pub(crate) fn promise_name(result: &RunResult) -> &str {
    if result.promise.name.is_empty() {
        "none was made"
    } else {
        &result.promise.name
    }
}

/// The anomalies that a promise covers.
pub(crate) fn inside(result: &RunResult) -> impl Iterator<Item = &AnomalyResult> {
    result.anomalies.iter().filter(|anomaly| anomaly.inside_promise)
}

/// What was lost, and what else was found, in a line.
pub(crate) fn losses(result: &RunResult) -> String {
    let (losses, others): (Vec<_>, Vec<_>) = result
        .anomalies
        .iter()
        .partition(|anomaly| is_loss(&anomaly.name));
    let told = |anomalies: &[&AnomalyResult]| {
        let told: Vec<String> = anomalies.iter().map(|anomaly| sided(anomaly)).collect();
        told.join(", ")
    };
    let lost = match (lost(result), result.verdict) {
        (0, Outcome::Unknown) => "no acknowledged record is known to be lost".to_string(),
        (0, _) => "nothing acknowledged was lost".to_string(),
        (n, _) => format!("{} lost: {}", counted(n, "acknowledged record"), told(&losses)),
    };
    if others.is_empty() {
        lost
    } else {
        format!("{lost}; also found: {}", told(&others))
    }
}

/// An anomaly with its count and its side: "acked-then-lost 2,345 (inside the promise)".
fn sided(anomaly: &AnomalyResult) -> String {
    format!(
        "{} {} ({})",
        anomaly.name,
        grouped(anomaly.count),
        side(anomaly.inside_promise)
    )
}

/// On which side of the promise.
pub(crate) fn side(inside_promise: bool) -> &'static str {
    if inside_promise {
        "inside the promise"
    } else {
        "outside the promise"
    }
}

/// The report's path, as it was on the machine of the run.
pub(crate) fn report_path(result: &RunResult) -> String {
    std::path::Path::new(&result.meta.path)
        .join(store::REPORT)
        .display()
        .to_string()
}

/// The command that plays the same plan again: one seed, and a folder of its own.
pub(crate) fn again(result: &RunResult) -> String {
    let mut words = Vec::new();
    let mut typed = result.meta.command.split_whitespace();
    while let Some(word) = typed.next() {
        match word.split_once('=').map_or(word, |(flag, _)| flag) {
            "--seed" | "--seeds" | "--run-dir" => {
                if !word.contains('=') {
                    typed.next();
                }
            }
            _ => words.push(word),
        }
    }
    if words.is_empty() {
        words.extend(["ackall", "run", &result.meta.scenario]);
    }
    format!("{} --seed {}", words.join(" "), result.meta.seed)
}

/// The command that judges the stored run again.
pub(crate) fn closer(result: &RunResult) -> String {
    format!("ackall analyze {}", quoted(&result.meta.path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::{judged, meta, night};

    fn typed(command: &str) -> RunResult {
        let history = night(true);
        let mut result = crate::result(&history, &judged(&history, true), &meta());
        result.meta.command = command.into();
        result
    }

    #[test]
    fn a_run_is_seen_again_under_its_own_seed_in_a_folder_of_its_own() {
        for (command, expected) in [
            ("ackall", "ackall --seed 7"),
            ("ackall run calm --seed 7", "ackall run calm --seed 7"),
            (
                "ackall run calm --seed=3 --json",
                "ackall run calm --json --seed 7",
            ),
            (
                "ackall run calm --seeds 1..20 --set a=b",
                "ackall run calm --set a=b --seed 7",
            ),
            ("ackall --run-dir /tmp/x calm", "ackall calm --seed 7"),
            ("ackall calm --run-dir=/tmp/x --seed", "ackall calm --seed 7"),
            ("", "ackall run last-replica-standing --seed 7"),
        ] {
            assert_eq!(again(&typed(command)), expected, "{command}");
        }
    }

    #[test]
    fn a_path_is_quoted_where_a_shell_would_split_it() {
        let mut result = typed("ackall");
        result.meta.path = "/tmp/my runs/it's".into();
        assert_eq!(closer(&result), r"ackall analyze '/tmp/my runs/it'\''s'");
        assert!(report_path(&result).starts_with("/tmp/my runs/it's"));
    }

    #[test]
    fn a_run_without_a_promise_says_so() {
        let mut result = typed("ackall");
        result.promise.name.clear();
        assert_eq!(verdict(&result), "every promise held: none was made");
    }
}
