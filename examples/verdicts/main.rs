//! One table of all verdicts: a folder of histories, judged, and held against what others said of them.
//!
//! ```text
//! cargo run --release --example verdicts -- FOLDER        a folder with manifest.json; ACKALL_HISTORIES names it too
//!     --only TEXT       only rows whose id has this in it
//!     --short           only disagreements and the summary
//!     --budget 60s  --memory 2GiB                          of each check
//! ```
//!
//! A row is a file and a check: what is said of it, what this project says, the anomalies, the time. Where the manifest
//! has a verdict for each of several levels, each is a row. At the end a line a source, and each disagreement, with the
//! place in `docs/checkers.md` that argues it. Exit status 1 where one is not argued, or an argument has nothing left
//! to argue about.
//!
//! A folder without a manifest is judged too: formats and models are guessed, and a file is held against what its path
//! says (`good`, `ok`, `valid` or `bad`, `invalid` as a word of it).

mod argued;
mod folder;
mod judge;
mod manifest;
mod names;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// What was asked for.
pub struct Order {
    /// The folder.
    pub folder: PathBuf,
    /// What a row's id must have in it.
    pub only: String,
    /// Whether only disagreements are shown.
    pub short: bool,
    /// The time of each check.
    pub budget: Duration,
    /// The memory of each check's search, in bytes.
    pub memory: u64,
}

const USAGE: &str = "verdicts FOLDER [--only TEXT] [--short] [--budget 60s] [--memory 2GiB]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let told = order(&args).and_then(|order| {
        let checks = if order.folder.join(manifest::NAME).is_file() {
            manifest::checks(&order.folder)?
        } else {
            folder::checks(&order.folder)?
        };
        let wanted = checks.into_iter().filter(|check| check.id.contains(&order.only));
        let mut table = table::Table::new(order.short);
        for check in wanted {
            let answer = check.not_judged.is_none().then(|| judge::judge(&check, &order));
            table.row(&check, answer);
        }
        // Arguments about files that were not asked for have nothing to say here.
        Ok(table.end(order.only.is_empty()))
    });
    match told {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: judging a folder of histories\n  why: {why}\n  next: {USAGE}");
            ExitCode::from(64)
        }
    }
}

fn order(args: &[String]) -> Result<Order, String> {
    let mut order = Order {
        folder: std::env::var_os("ACKALL_HISTORIES")
            .map(PathBuf::from)
            .unwrap_or_default(),
        only: String::new(),
        short: false,
        budget: Duration::from_secs(60),
        memory: 2 << 30,
    };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
        match word.as_str() {
            "--only" => order.only = value()?.clone(),
            "--short" => order.short = true,
            "--budget" => {
                let text = value()?;
                order.budget =
                    humantime::parse_duration(text).map_err(|e| format!("--budget {text}: {e}"))?;
            }
            "--memory" => {
                let text = value()?;
                let number = text
                    .strip_suffix("GiB")
                    .and_then(|number| number.parse::<u64>().ok());
                let bytes = number.and_then(|number| number.checked_mul(1 << 30));
                order.memory =
                    bytes.ok_or_else(|| format!("--memory {text}: 2GiB, for one, was expected"))?;
            }
            flag if flag.starts_with("--") => return Err(format!("{flag} is no flag")),
            folder => order.folder = PathBuf::from(folder),
        }
    }
    if !order.folder.is_dir() {
        return Err(format!(
            "{:?} is no folder (ACKALL_HISTORIES can name it)",
            order.folder.display().to_string()
        ));
    }
    Ok(order)
}
