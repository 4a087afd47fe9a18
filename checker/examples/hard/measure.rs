//! One history in one process, measured by the operating system: the peak of its resident memory is what the kernel says
//! at its end (`VmHWM`), its time what passed from its start to its end.

use checker::Outcome;
use std::process::Command;
use std::time::{Duration, Instant};

/// What came of one history.
pub struct Measured {
    /// The verdict.
    pub verdict: Outcome,
    /// What it should be.
    pub expected: Option<Outcome>,
    /// The time that judging took.
    pub seconds: f64,
    /// The peak of memory before it was judged: the history, and whatever made it.
    pub before_kib: u64,
    /// The peak of memory at the end.
    pub peak_kib: u64,
    /// Why.
    pub why: String,
}

impl Measured {
    /// For the process that waits.
    pub fn line(&self) -> String {
        let right = match self.expected {
            Some(expected) if expected != self.verdict && self.verdict != Outcome::Unknown => "WRONG",
            _ => "right",
        };
        let Measured {
            seconds,
            before_kib,
            peak_kib,
            why,
            ..
        } = self;
        format!(
            "{}\t{right}\t{seconds:.3}\t{before_kib}\t{peak_kib}\t{why}",
            self.verdict.text()
        )
    }
}

/// The peak of this process's resident memory; 0 where the system does not tell.
pub fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok())
        .unwrap_or(0)
}

/// Beyond the time that was given: what it takes to see that it is over.
const GRACE: Duration = Duration::from_secs(1);

/// Judges one history in a process of its own, and prints how it went. Whether that is as it should be.
pub fn child(name: &str, time: Duration, memory: u64) -> Result<bool, String> {
    let itself = std::env::current_exe().map_err(|error| format!("this program's path: {error}"))?;
    let began = Instant::now();
    let output = Command::new(itself)
        .args(["--one", name, "--budget", &format!("{}s", time.as_secs_f64())])
        .args(["--memory", &format!("{}KiB", memory >> 10)])
        .output()
        .map_err(|error| format!("starting {name}: {error}"))?;
    let wall = began.elapsed();
    let text = String::from_utf8_lossy(&output.stdout);
    let fields: Vec<&str> = text.trim_end_matches('\n').split('\t').collect();
    let [verdict, right, seconds, before, peak, why] = fields[..] else {
        println!(
            "{name:<46} ended without a verdict after {:.1} s: {}",
            wall.as_secs_f64(),
            output.status
        );
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        return Ok(false);
    };
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::INFINITY);
    let (judged, before, peak) = (number(seconds), number(before) / 1024.0, number(peak) / 1024.0);
    let over_time = judged > (time + GRACE).as_secs_f64();
    let over_memory = peak - before > (memory >> 20) as f64;
    let mut notes = String::new();
    for (wrong, note) in [
        (right == "WRONG", "WRONG "),
        (over_time, "OVER TIME "),
        (over_memory, "OVER MEMORY "),
    ] {
        if wrong {
            notes.push_str(note);
        }
    }
    let of_it = (peak - before).max(0.0);
    println!("{name:<46} {verdict:>9} {judged:>8.3} {peak:>9.1} {of_it:>9.1}  {notes}{why}");
    Ok(notes.is_empty())
}
