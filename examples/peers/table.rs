//! The table of ratios.

use crate::measured::Measured;
use std::path::Path;

/// A file with what both say of it.
pub struct Pair {
    ours: Measured,
    theirs: Option<Measured>,
}

/// The head of a part.
pub fn title(text: &str) {
    println!("\n{text}");
    println!(
        "{:28} {:>9} {:8} {:>12} {:>12} {:>8} {:>9} {:>9} {:>8}  rounds",
        "history", "ops", "verdict", "ours ms", "theirs ms", "times", "ours MiB", "theirs", "times"
    );
}

/// Ours with theirs, by file.
pub fn pairs(ours: &[Measured], theirs: Option<&[Measured]>) -> Vec<Pair> {
    let same = |file: &str| {
        theirs
            .into_iter()
            .flatten()
            .find(|other| other.file == file)
            .cloned()
    };
    ours.iter()
        .map(|ours| Pair {
            theirs: same(&ours.file),
            ours: ours.clone(),
        })
        .collect()
}

/// A file's row.
pub fn row(pair: &Pair) {
    let name = Path::new(&pair.ours.file)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let theirs = pair.theirs.as_ref();
    let verdict = match theirs {
        Some(theirs) if theirs.verdict != pair.ours.verdict => {
            format!("{} ≠ {}", pair.ours.verdict, theirs.verdict)
        }
        _ => pair.ours.verdict.clone(),
    };
    let rounds = format!(
        "{}, {}",
        pair.ours.times_s.len(),
        theirs.map_or("-".to_string(), |theirs| theirs.times_s.len().to_string())
    );
    print(
        &name,
        pair.ours.operations,
        &verdict,
        (pair.ours.median(), theirs.map(Measured::median)),
        (pair.ours.memory_bytes, theirs.map(|theirs| theirs.memory_bytes)),
        &rounds,
    );
}

/// All rows in one, and the file on which we do worst.
pub fn sum(name: &str, pairs: &[Pair]) {
    let whole = pairs.iter().all(|pair| pair.theirs.is_some());
    let times = |of: fn(&Measured) -> f64| -> (f64, Option<f64>) {
        let ours = pairs.iter().map(|pair| of(&pair.ours)).sum();
        let theirs = pairs.iter().filter_map(|pair| pair.theirs.as_ref()).map(of).sum();
        (ours, whole.then_some(theirs))
    };
    let most = |of: Vec<&Measured>| of.iter().map(|measured| measured.memory_bytes).max();
    let theirs: Vec<&Measured> = pairs.iter().filter_map(|pair| pair.theirs.as_ref()).collect();
    let same = theirs.len() == pairs.len()
        && pairs.iter().all(|pair| {
            pair.theirs
                .as_ref()
                .is_some_and(|theirs| theirs.verdict == pair.ours.verdict)
        });
    print(
        name,
        pairs.iter().map(|pair| pair.ours.operations).sum(),
        if same { "the same" } else { "differ" },
        times(Measured::median),
        (
            most(pairs.iter().map(|pair| &pair.ours).collect()).unwrap_or(0),
            most(theirs),
        ),
        "",
    );
    let ratio = |pair: &Pair| {
        pair.theirs
            .as_ref()
            .map(|theirs| theirs.median() / pair.ours.median())
    };
    let worst = pairs.iter().filter_map(|pair| Some((ratio(pair)?, pair)));
    if let Some((ratio, pair)) = worst.min_by(|a, b| a.0.total_cmp(&b.0)) {
        println!("worst of them: {ratio:.1} times, on {}", pair.ours.file);
    }
}

fn print(
    name: &str,
    operations: usize,
    verdict: &str,
    time: (f64, Option<f64>),
    memory: (u64, Option<u64>),
    rounds: &str,
) {
    let dash = || "-".to_string();
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let times = time
        .1
        .map_or_else(dash, |theirs| format!("{:.1}", theirs / time.0));
    // Below a page of memory a ratio says nothing.
    let less = memory.1.filter(|_| memory.0 > 0);
    let less = less.map_or_else(dash, |theirs| format!("{:.1}", theirs as f64 / memory.0 as f64));
    println!(
        "{name:28} {operations:>9} {verdict:8} {:>12.3} {:>12} {times:>8} {:>9.1} {:>9} {less:>8}  {rounds}",
        time.0 * 1e3,
        time.1.map_or_else(dash, |theirs| format!("{:.3}", theirs * 1e3)),
        mib(memory.0),
        memory.1.map_or_else(dash, |theirs| format!("{:.1}", mib(theirs))),
    );
}
