//! Killing one part of a run at some moment, and looking for what is left of the rest.

use super::history::Tail;
use super::machine::{Machine, Process, Trace, processes, signal};
use super::{Run, Started, start, until};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a moment may be waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at a growing history.
const LOOK: Duration = Duration::from_micros(500);

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    Front,
    Keeper,
    Harness,
    Wire,
    Disk,
}

/// All of them.
pub const VICTIMS: [Victim; 5] = [
    Victim::Front,
    Victim::Keeper,
    Victim::Harness,
    Victim::Wire,
    Victim::Disk,
];

impl Victim {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Victim::Front => "front",
            Victim::Keeper => "keeper",
            Victim::Harness => "harness",
            Victim::Wire => "wire",
            Victim::Disk => "disk",
        }
    }

    fn role(self) -> &'static str {
        match self {
            Victim::Front => "run",
            Victim::Keeper => "__keeper",
            Victim::Harness => "__harness",
            Victim::Wire => "__wire",
            Victim::Disk => "__disk",
        }
    }

    /// What the front says died.
    fn said(self) -> Option<&'static str> {
        match self {
            Victim::Front => None,
            Victim::Keeper => Some("the keeper was killed by signal"),
            Victim::Harness => Some("the harness was killed by signal"),
            Victim::Wire => Some("the wire was killed by signal"),
            Victim::Disk => Some("the disk of node"),
        }
    }

    fn find(self, run: &Started) -> Option<Process> {
        if self == Victim::Front {
            return processes(&run.mark)
                .into_iter()
                .find(|process| process.pid == run.front());
        }
        processes(&run.mark)
            .into_iter()
            .find(|process| process.role() == self.role())
    }
}

/// When.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    /// So long after the start, or as soon after as the victim is there.
    Start(Duration),
    /// While the n-th fault, counted from 1, is put in or healed.
    Fault(usize),
    /// So long after the last step's state was reached, which is when the final phase begins.
    Final(Duration),
    /// So long after the start, whatever happens then.
    Any(Duration),
}

/// Twenty moments: five in the first 200 ms, five while cutting or restarting, five in the final phase, which
/// takes some 30 ms, five anywhere.
pub fn twenty() -> Vec<Moment> {
    let millis = Duration::from_millis;
    let start = (0..5).map(|n| Moment::Start(millis(45 * n)));
    let fault = (0..5).map(|n| Moment::Fault([1, 2, 3, 4, 6][n]));
    let last = (0..5).map(|n| Moment::Final(millis(n * 4)));
    let any = (0..5).map(|n| Moment::Any(millis(700 + 1300 * n)));
    start.chain(fault).chain(last).chain(any).collect()
}

/// How a run died.
pub struct Death {
    /// The run.
    pub run: Run,
    /// How long until all of it was gone.
    pub gone: Duration,
}

/// How often a run may be over before its victim was hit.
const MISSES: usize = 3;

/// Starts a run, kills one part of it at that moment, and looks for the rest. A run that was over first is made again.
///
/// # Errors
/// What is wrong: something is left, or the front does not say what died.
pub fn kill(
    folder: &Path,
    name: &str,
    victim: Victim,
    moment: Moment,
    with: Signal,
) -> Result<Death, String> {
    for _ in 0..MISSES {
        if let Some(death) = try_kill(folder, name, victim, moment, with)? {
            return Ok(death);
        }
        std::fs::remove_dir_all(folder.join(name)).map_err(|e| e.to_string())?;
    }
    Err(format!(
        "the run was over before {moment:?} in each of {MISSES} tries"
    ))
}

fn try_kill(
    folder: &Path,
    name: &str,
    victim: Victim,
    moment: Moment,
    with: Signal,
) -> Result<Option<Death>, String> {
    let before = Machine::now();
    let mut run = start(
        folder,
        name,
        &["last-replica-standing", "--seed", "1", "--keep-disks", "never"],
    );
    // Looking takes longer than some moments last, so where it can be it is done before.
    let early = matches!(moment, Moment::Fault(_) | Moment::Final(_));
    if early {
        await_acks(&mut run)?;
    } else {
        await_moment(&mut run, moment)?;
    }
    let process = until(victim.name(), PATIENCE, || victim.find(&run));
    let trace = Trace::of(&run.mark);
    if early {
        await_moment(&mut run, moment)?;
    }
    let since = Instant::now();
    signal(process.pid, with);
    // A front that was killed must be reaped; another has to say what it saw before it ends.
    let run = run.wait();
    let gone = trace.gone(since)?;
    if run.code() == 0 && run.dir.join("result.json").exists() {
        return Ok(None);
    }
    let said = match victim.said() {
        None => run.code() == 256 + with as i32,
        Some(said) => {
            run.code() == 70 && run.err.contains(said) && run.err.contains(&format!("signal {}", with as i32))
        }
    };
    if !said {
        return Err(format!(
            "the {victim:?} was killed, and this is what was said: {}",
            run.said()
        ));
    }
    let left = before.left(folder);
    if !left.is_empty() {
        return Err(format!("left on the machine: {}", left.join("; ")));
    }
    Ok(Some(Death { run, gone }))
}

/// Waits for the moment.
///
/// # Errors
/// The run ended before it.
pub fn await_moment(run: &mut Started, moment: Moment) -> Result<(), String> {
    let mut tail = Tail::of(&run.dir);
    let mut faults = 0;
    let limit = Instant::now() + PATIENCE;
    let wait = loop {
        if run.has_ended() {
            return Err(format!("the run ended before {moment:?}: {}", run.said_so_far()));
        }
        if Instant::now() > limit {
            return Err(format!(
                "{moment:?} did not come within {PATIENCE:?}: {}",
                run.said_so_far()
            ));
        }
        match moment {
            Moment::Start(delay) | Moment::Any(delay) => {
                break (run.began + delay).saturating_duration_since(Instant::now());
            }
            Moment::Fault(n) => {
                faults += tail
                    .added("\"f\":\"fault\"")
                    .iter()
                    .filter(|entry| entry["type"] == "invoke")
                    .count();
                if faults >= n {
                    break Duration::ZERO;
                }
            }
            Moment::Final(delay) => {
                let steps = tail.added("\"f\":\"step\"");
                let last =
                    |entry: &Value| entry["value"]["name"] == "T4" && entry["value"]["reached"] == true;
                if steps.iter().any(last) {
                    break delay;
                }
            }
        }
        std::thread::sleep(LOOK);
    };
    std::thread::sleep(wait);
    Ok(())
}

/// Waits until a client's record is acknowledged.
///
/// # Errors
/// The run ended before.
pub fn await_acks(run: &mut Started) -> Result<(), String> {
    let mut tail = Tail::of(&run.dir);
    let limit = Instant::now() + PATIENCE;
    while !tail
        .added("\"f\":\"send\"")
        .iter()
        .any(|entry| entry["type"] == "ok")
    {
        if run.has_ended() || Instant::now() > limit {
            return Err(format!("nothing was acknowledged: {}", run.said_so_far()));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
