//! Speed and memory against other checkers, on the same files in the same run.
//!
//! ```text
//! cargo run --release --example peers -- [FOLDER]     files of Porcupine's below it (ACKALL_HISTORIES names it too); what
//!                                                     Porcupine's own sources bring is measured as well
//!     --only linear | transactions                    one half
//!     --rounds 21                                     the median of so many
//!     --all                                           a row for each log of etcd too
//! ```
//!
//! The peers are in `benches/peers`: a Go program on Porcupine (a checkout in PORCUPINE_DIR, else fetched as a module)
//! and a Rust program on the crate `adya`. What cannot be built here is said, and left out. Registers and key-value
//! stores are timed without parsing, list-append with it. Memory is the peak of what the process had resident during
//! the first round, less what it had before (the parsed history, where that is not part of it). Where a round takes
//! long, fewer are made, three at least; the table says how many.

mod made;
mod measured;
mod ours;
mod programs;
mod table;

use measured::Measured;
use programs::{Peer, Programs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What was asked for.
struct Order {
    folder: Option<PathBuf>,
    only: String,
    rounds: usize,
    all: bool,
}

const USAGE: &str = "peers [FOLDER] [--only linear|transactions] [--rounds 21] [--all]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().map(String::as_str) == Some(ours::ROLE) {
        return ours::main(&args[1..]);
    }
    match order(&args).and_then(|order| compare(&order)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: measuring against the peers\n  why: {why}\n  next: {USAGE}");
            ExitCode::from(64)
        }
    }
}

fn order(args: &[String]) -> Result<Order, String> {
    let mut order = Order {
        folder: std::env::var_os("ACKALL_HISTORIES").map(PathBuf::from),
        only: String::new(),
        rounds: 21,
        all: false,
    };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--all" => order.all = true,
            "--only" => order.only = words.next().cloned().unwrap_or_default(),
            "--rounds" => {
                let rounds = words
                    .next()
                    .and_then(|rounds| rounds.parse().ok())
                    .filter(|rounds| *rounds > 0);
                order.rounds = rounds.ok_or("--rounds wants a number above 0")?;
            }
            flag if flag.starts_with("--") => return Err(format!("{flag} is no flag")),
            folder => order.folder = Some(folder.into()),
        }
    }
    Ok(order)
}

fn compare(order: &Order) -> Result<(), String> {
    let programs = Programs::build()?;
    if order.only != "transactions" {
        etcd(order, &programs)?;
        key_value(order, &programs)?;
        registers(order, &programs)?;
    }
    if order.only != "linear" {
        transactions(order, &programs)?;
    }
    Ok(())
}

/// The logs of etcd: all that are found, each once.
fn etcd(order: &Order, programs: &Programs) -> Result<(), String> {
    let files = found(order, programs, "jepsen", "log");
    table::title(&format!("etcd, {} logs: the check alone", files.len()));
    let ours = programs.ours("etcd", order.rounds, &files)?;
    let theirs = programs.peer(Peer::Porcupine, "etcd", order.rounds, &files);
    let logs = table::pairs(&ours, theirs.as_deref());
    if order.all {
        logs.iter().for_each(table::row);
    }
    table::sum("all logs", &logs);
    Ok(())
}

fn key_value(order: &Order, programs: &Programs) -> Result<(), String> {
    let files = found(order, programs, "kv", "txt");
    table::title("key-value: the check alone");
    let ours = programs.ours("kv", order.rounds, &files)?;
    let theirs = programs.peer(Peer::Porcupine, "kv", order.rounds, &files);
    table::pairs(&ours, theirs.as_deref()).iter().for_each(table::row);
    Ok(())
}

/// Constructed registers; the largest for us alone.
fn registers(order: &Order, programs: &Programs) -> Result<(), String> {
    table::title("constructed registers: the check alone");
    for (name, both) in made::REGISTERS {
        let files = [programs.register(name)?];
        let ours = programs.ours("etcd", order.rounds, &files)?;
        let theirs = both
            .then(|| programs.peer(Peer::Porcupine, "etcd", order.rounds, &files))
            .flatten();
        table::pairs(&ours, theirs.as_deref()).iter().for_each(table::row);
    }
    Ok(())
}

fn transactions(order: &Order, programs: &Programs) -> Result<(), String> {
    table::title("list-append, strict-serializable: reading and parsing with it");
    for (transactions, both) in made::TRANSACTIONS {
        let files = [programs.list_append(transactions)?];
        let ours = programs.ours("list-append", order.rounds, &files)?;
        let theirs = both
            .then(|| programs.peer(Peer::Adya, "list-append", order.rounds, &files))
            .flatten();
        table::pairs(&ours, theirs.as_deref()).iter().for_each(table::row);
    }
    Ok(())
}

/// Files of that kind: in Porcupine's sources, else below the folder. What is packed is unpacked aside.
fn found(order: &Order, programs: &Programs, kind: &str, ending: &str) -> Vec<PathBuf> {
    let places = [
        programs.porcupine_data().map(|data| data.join(kind)),
        order
            .folder
            .as_ref()
            .map(|folder| folder.join("porcupine").join(kind)),
    ];
    let mut files: Vec<PathBuf> = Vec::new();
    for place in places.into_iter().flatten() {
        let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            let is_new = |path: &Path| !files.iter().any(|file| file.file_name() == path.file_name());
            // One log of etcd's has no operation: the cluster did not start.
            let holds_one = || std::fs::read_to_string(&path).is_ok_and(|text| text.contains(":invoke"));
            if path.extension().is_some_and(|end| end == ending) && is_new(&path) && holds_one() {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// One program's answers, by file.
type Answers = Vec<Measured>;
