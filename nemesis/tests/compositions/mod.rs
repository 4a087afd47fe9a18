//! Compositions of faults on one small cluster whose nodes do little but talk.

mod each;
mod left;
mod program;
mod rounds;
mod stage;

use ground::{Ended, Launch};
use std::path::Path;
use std::process::ExitCode;

/// The role of this process, where it is one of ours.
pub fn dispatch() -> Option<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["__harness", "compositions", folder, seed, rounds, each] => Some(stage::main(
            folder.as_ref(),
            seed.parse().ok()?,
            rounds.parse().ok()?,
            each == "each",
        )),
        ["__talker", peers, own, disk] => Some(program::main(peers, own, disk)),
        _ => None,
    }
}

/// Makes so many rounds in a new cluster in that folder; with `each`, first every fault of processes and resources for
/// itself.
pub fn run(folder: &Path, seed: u64, rounds: usize, each: bool) -> Result<(), String> {
    let each = if each { "each" } else { "not" };
    let words = [
        "compositions",
        &folder.to_string_lossy(),
        &seed.to_string(),
        &rounds.to_string(),
        each,
    ];
    let launch = Launch {
        run_dir: folder.into(),
        harness_args: words.map(str::to_string).into(),
        owner: None,
    };
    match ground::launch(launch) {
        Ok(Ended::Exited(0)) => Ok(()),
        Ok(other) => Err(format!("{other:?}")),
        Err(why) => Err(why.to_string()),
    }
}
