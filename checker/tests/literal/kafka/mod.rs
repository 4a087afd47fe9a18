//! Kafka histories, literally: every rule by its definition, quadratic or worse.

pub mod cycles;
pub mod decode;
pub mod make;
pub mod mutate;
pub mod rules;

pub use cycles::cycles;
pub use make::make;
pub use mutate::mutate;
pub use rules::counts;

use checker::Judgement;

/// The cycles that a judgement tells of, in the literal checker's terms.
pub fn told(judgement: &Judgement) -> cycles::Cycles {
    let any = |names: &[&str]| {
        judgement
            .anomalies
            .iter()
            .any(|finding| names.contains(&&*finding.name))
    };
    let dependencies = any(&["G0", "G1c"]);
    cycles::Cycles {
        writes: any(&["G0"]),
        dependencies,
        timed: dependencies || any(&["G0-process", "G0-realtime", "G1c-process", "G1c-realtime"]),
        anti: any(&["G-single", "G-nonadjacent", "G2"]),
    }
}

/// What one of them says and the other does not; a component that has a worse cycle too is not told of its lesser one,
/// so that the cycles with rw can only be held against those that are told of either kind.
pub fn disagree(history: &[history::Op], ww_deps: bool, judgement: &Judgement) -> Option<String> {
    let (told, literal) = (told(judgement), cycles(history, ww_deps));
    let same = told.writes == literal.writes
        && told.dependencies == literal.dependencies
        && told.timed == literal.timed
        && (told.anti || told.dependencies) == (literal.anti || literal.dependencies);
    (!same).then(|| format!("{told:?}, but literally it is {literal:?}"))
}

/// Whether an anomaly is no cycle.
pub fn is_classic(name: &str) -> bool {
    let cycle = ["G0", "G1c", "G-", "G2"]
        .iter()
        .any(|start| name.starts_with(start));
    !cycle && !name.ends_with("-cycle-exists")
}
