//! The campaign against the metadata quorum of a real cluster on its ground.
//!
//! Three controllers and two brokers of the reference cluster on hosts of their own, topics created all the time from
//! outside, and round after round one fault on the quorum: put in, measured that it took, healed, and timed from the
//! first frame that the wire delivers after the heal. After each round every acknowledged topic must be there with its
//! id: on both brokers, and in the whole metadata log, read again from its start as an observer does.
//!
//! What it does not: judge records of partitions (`ackall run` does), or look into a node.
//!
//! It is one executable in all the roles of a run: front, the ground's processes, the campaign itself, and the nodes'
//! program. Each kind of fault has a cluster of its own, in a folder of its own.

mod check;
mod figures;
mod kind;
mod load;
mod log;
mod probe;
mod round;
mod stage;

pub use figures::{Figures, UNIT, table};
pub use kind::Kind;

use ground::{Ended, Launch};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// The file of a kind's folder that its rounds are in.
const ROUNDS: &str = "rounds.json";

/// The role that this process has, where it is not the front: call it first thing in `main`.
pub fn dispatch() -> Option<ExitCode> {
    if let Some(code) = ground::dispatch() {
        return Some(code);
    }
    let args: Vec<String> = std::env::args().collect();
    match args.get(1)?.as_str() {
        "node" => Some(reference::main()),
        "__harness" => Some(stage::main(&args[2..])),
        _ => None,
    }
}

/// What to do.
pub struct Order {
    /// Which faults.
    pub kinds: Vec<Kind>,
    /// How many rounds of each.
    pub rounds: usize,
    /// A bug of the reference cluster's that is on in every node: to see that the campaign finds it.
    pub bug: Option<String>,
    /// Where all that is written goes: there, and absolute.
    pub out: PathBuf,
}

/// Why the campaign itself failed: the exit status, and the reason.
pub struct Failed {
    /// 69 where the machine lacks something, 70 otherwise.
    pub status: u8,
    /// In words.
    pub why: String,
}

/// Carries the order out, kind after kind.
pub fn run(order: &Order) -> Result<Vec<Figures>, Failed> {
    order.kinds.iter().map(|kind| one(order, *kind)).collect()
}

fn one(order: &Order, kind: Kind) -> Result<Figures, Failed> {
    let failed = |why: String| Failed { status: 70, why };
    let run_dir = order.out.join(kind.name());
    fs::create_dir_all(&run_dir).map_err(|e| failed(format!("making {}: {e}", run_dir.display())))?;
    let mut harness_args = vec![
        run_dir.display().to_string(),
        kind.name().into(),
        order.rounds.to_string(),
    ];
    harness_args.extend(order.bug.clone());
    let launch = Launch {
        harness_args,
        run_dir: run_dir.clone(),
        owner: None,
    };
    match ground::launch(launch) {
        Ok(Ended::Exited(0)) => {}
        Ok(Ended::Exited(code)) => return Err(failed(format!("{}: exit status {code}", kind.name()))),
        Ok(Ended::Died { what }) => return Err(failed(format!("{}: {what}", kind.name()))),
        Ok(Ended::Interrupted { signal }) => return Err(failed(format!("ended by signal {signal}"))),
        Err(error) => {
            return Err(Failed {
                status: if error.0.machine { 69 } else { 70 },
                why: error.to_string(),
            });
        }
    }
    let text = fs::read(run_dir.join(ROUNDS)).map_err(|e| failed(e.to_string()))?;
    serde_json::from_slice(&text).map_err(|e| failed(e.to_string()))
}
