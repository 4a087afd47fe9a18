//! How long list-append histories take to read and to judge.
//!
//! `cargo run --release -p checker --example txn_bench -- write FILE [--count N] [--appends N] [--seed N]` makes one of a
//! serializable store: ten processes, ten keys at a time, up to 32 appends to a key, transactions of one to four steps.
//! FILE ends in `.edn` (Jepsen's EDN, a map a line) or in `.json` (Jepsen's JSON).
//!
//! `... -- time FILE [--runs N] [--level NAME]` reads and judges it: the best and the median time, and the most memory
//! that the process held (Linux).

use checker::{Budget, Judgement, Level, ModelName, Options, judge};
use history::{Format, read_foreign};
use std::error::Error;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::time::{Duration, Instant};

const PROCESSES: usize = 10;
const KEYS: usize = 10;
const MOST_STEPS: usize = 4;

type Failed = Box<dyn Error>;

fn main() -> Result<(), Failed> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let place = words.iter().position(|word| word == name)?;
        words.get(place + 1)
    };
    let number = |name: &str, otherwise: usize| match option(name) {
        Some(word) => word.parse(),
        None => Ok(otherwise),
    };
    match words.get(..2) {
        Some([verb, file]) if verb == "write" => {
            let (count, appends) = (number("--count", 100_000)?, number("--appends", 32)?);
            write(file, count, appends, number("--seed", 1)? as u64)
        }
        Some([verb, file]) if verb == "time" => {
            let level = option("--level").map(|name| name.parse()).transpose()?;
            time(file, number("--runs", 5)?, level)
        }
        _ => Err(
            "usage: txn_bench write|time FILE [--count N] [--appends N] [--seed N] [--runs N] [--level NAME]"
                .into(),
        ),
    }
}

fn time(file: &str, runs: usize, level: Option<Level>) -> Result<(), Failed> {
    let mut times = Vec::new();
    for _ in 0..runs {
        let began = Instant::now();
        let reader = read_foreign(format(file), BufReader::with_capacity(1 << 20, File::open(file)?));
        let entries = reader.map(|entry| entry.map(|_| 1u64)).sum::<Result<u64, _>>()?;
        let read = began.elapsed();
        let began = Instant::now();
        let judged = judged(file, level)?;
        times.push((
            began.elapsed(),
            read,
            entries,
            judged.verdict,
            judged.operations_total,
        ));
    }
    times.sort_by_key(|run| run.0);
    let Some((best, read, entries, verdict, transactions)) = times.first() else {
        return Err("--runs 0".into());
    };
    println!(
        "{transactions} transactions, {entries} entries: {}; best {best:.1?}, median {:.1?}, of which reading alone {read:.1?}; {}",
        verdict.text(),
        times[times.len() / 2].0,
        peak().map_or("memory unknown".into(), |mebibytes| format!(
            "peak {mebibytes} MiB"
        )),
    );
    Ok(())
}

fn judged(file: &str, level: Option<Level>) -> Result<Judgement, Failed> {
    let reader = read_foreign(format(file), BufReader::with_capacity(1 << 20, File::open(file)?));
    let budget = Budget::new(Duration::from_secs(600), 16 << 30);
    let options = Options {
        level,
        ..Options::default()
    };
    Ok(judge(ModelName::ListAppend, &options, &budget, reader)?)
}

fn format(file: &str) -> Format {
    if file.ends_with(".json") {
        Format::JepsenJson
    } else {
        Format::JepsenEdn
    }
}

/// The most memory that the process held, in MiB, where the system says so.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes >> 10)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(z ^ (z >> 31)) * limit as u128) >> 64) as usize
    }
}

/// A step in the making: a key, and the element that it appends.
type Step = (usize, Option<usize>);

/// The store: ten keys at a time, each replaced by a new one when it has had its appends.
struct Store {
    keys: Vec<usize>,
    appended: Vec<usize>,
    lists: Vec<String>,
    appends: usize,
    edn: bool,
}

impl Store {
    fn plan(&mut self, random: &mut Random) -> Vec<Step> {
        (0..1 + random.below(MOST_STEPS))
            .map(|_| {
                let place = random.below(KEYS);
                let key = self.keys[place];
                if random.below(2) == 0 {
                    return (key, None);
                }
                self.appended[key] += 1;
                if self.appended[key] == self.appends {
                    self.keys[place] = self.lists.len();
                    self.lists.push(String::new());
                    self.appended.push(0);
                }
                (key, Some(self.appended[key]))
            })
            .collect()
    }

    /// Takes effect: its steps with what it read.
    fn run(&mut self, plan: &[Step]) -> String {
        self.text(plan, true)
    }

    fn text(&mut self, plan: &[Step], done: bool) -> String {
        let (append, read, nil, comma) = if self.edn {
            (":append ", ":r ", "nil", " ")
        } else {
            ("\"append\",", "\"r\",", "null", ",")
        };
        let mut text = String::from("[");
        for (place, (key, element)) in plan.iter().enumerate() {
            let before = if place > 0 { comma } else { "" };
            let _ = match element {
                Some(element) => write!(text, "{before}[{append}{key}{comma}{element}]"),
                None if done => write!(text, "{before}[{read}{key}{comma}[{}]]", self.lists[*key]),
                None => write!(text, "{before}[{read}{key}{comma}{nil}]"),
            };
            if let (Some(element), true) = (element, done) {
                let list = &mut self.lists[*key];
                let between = if list.is_empty() { "" } else { comma };
                let _ = write!(list, "{between}{element}");
            }
        }
        text.push(']');
        text
    }
}

/// What a process does.
enum State {
    Idle,
    Begun(Vec<Step>),
    Done(String),
}

fn write(file: &str, count: usize, appends: usize, seed: u64) -> Result<(), Failed> {
    let edn = format(file) == Format::JepsenEdn;
    let mut out = BufWriter::new(File::create(file)?);
    let mut random = Random(seed);
    let mut store = Store {
        keys: (0..KEYS).collect(),
        appended: vec![0; KEYS],
        lists: vec![String::new(); KEYS],
        appends,
        edn,
    };
    let mut processes: Vec<State> = (0..PROCESSES).map(|_| State::Idle).collect();
    let (mut begun, mut ended, mut index) = (0, 0, 0);
    let mut entry = |kind: &str, process: usize, value: &str| {
        let time = index * 1000;
        let line = if edn {
            format!(
                "{{:type :{kind}, :f :txn, :value {value}, :process {process}, :time {time}, :index {index}}}\n"
            )
        } else {
            let comma = if index == 0 { "[" } else { "," };
            format!(
                "{comma}{{\"type\":\"{kind}\",\"f\":\"txn\",\"value\":{value},\"process\":{process},\"time\":{time},\"index\":{index}}}\n"
            )
        };
        index += 1;
        out.write_all(line.as_bytes())
    };
    while ended < count {
        let process = random.below(PROCESSES);
        processes[process] = match std::mem::replace(&mut processes[process], State::Idle) {
            State::Idle if begun < count => {
                begun += 1;
                let plan = store.plan(&mut random);
                entry("invoke", process, &store.text(&plan, false))?;
                State::Begun(plan)
            }
            State::Idle => State::Idle,
            State::Begun(plan) => State::Done(store.run(&plan)),
            State::Done(text) => {
                ended += 1;
                entry("ok", process, &text)?;
                State::Idle
            }
        };
    }
    if !edn {
        out.write_all(b"]\n")?;
    }
    Ok(out.flush()?)
}
