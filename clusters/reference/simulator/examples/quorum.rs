//! The quorum, simulated as often as asked.
//!
//! ```text
//! cargo run --release -p simulator --example quorum -- --seeds 0..9999            a campaign: no rule breaks
//! cargo run --release -p simulator --example quorum -- --bug all                  each bug, and the rule that catches it
//! cargo run --release -p simulator --example quorum -- --bug NAME --replay SEED   one run again, and the end of its trace
//! cargo run --release -p simulator --example quorum -- --bug NAME --shrink SEED   the fewest faults that still break the rule
//! ```
//!
//! Progress goes to standard error, results to standard output (`--json`: one object). Exit status 0:
//! nothing broke and nothing was missing (with `--bug`: each bug was caught); 1: otherwise; 64: usage.
//! What `--shrink` prints is a file that `--replay` takes.

use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use raft::Bug;
use serde_json::{Value, json};
use simulator::quorum::{Counts, MIN_EVENTS, Order, Run, Script, TRACE_LINES, run, shrink};

const USAGE: &str = "quorum [--seeds 0..9999] [--min-events 10000] [--bug NAME|all] [--jobs 1] [--json] \
                     [--replay SEED|FILE | --shrink SEED] [--trace 400]";

/// How to run one seed or file again.
const AGAIN: &str = "cargo run --release -p simulator --example quorum --";

/// So many seeds a bug may take, where nothing else is said.
const BUG_SEEDS: u64 = 5_000;

/// So many broken runs are told one by one; all are counted.
const TOLD: usize = 20;

/// How often progress is shown.
const PROGRESS: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = Wishes::parse(&arguments).and_then(|wishes| wishes.carry_out());
    match result {
        Ok(report) => {
            // A reader that has gone away changes nothing.
            let _ = writeln!(std::io::stdout(), "{}", report.text);
            if report.good {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(why) => {
            let _ = writeln!(
                std::io::stderr(),
                "error: simulating a quorum\n  why: {why}\n  next: {USAGE}"
            );
            ExitCode::from(64)
        }
    }
}

/// What is to be printed, and whether all is well.
struct Report {
    text: String,
    good: bool,
}

/// Which bugs to switch on.
#[derive(Clone, Copy)]
enum Bugs {
    None,
    One(Bug),
    All,
}

/// What to do with one run.
enum Look {
    Replay(String),
    Shrink(u64),
}

struct Wishes {
    seeds: Option<RangeInclusive<u64>>,
    min_events: u64,
    bugs: Bugs,
    jobs: u64,
    json: bool,
    trace_lines: usize,
    look: Option<Look>,
}

impl Wishes {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut wishes = Self {
            seeds: None,
            min_events: MIN_EVENTS,
            bugs: Bugs::None,
            jobs: 1,
            json: false,
            trace_lines: TRACE_LINES,
            look: None,
        };
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(option) = rest.next() {
            let mut value = || rest.next().ok_or(format!("{option} needs a value"));
            match option {
                "--seeds" => wishes.seeds = Some(seeds(value()?)?),
                "--min-events" => wishes.min_events = number(option, value()?)?,
                "--jobs" => wishes.jobs = number(option, value()?)?.clamp(1, 256),
                "--json" => wishes.json = true,
                "--trace" => {
                    let lines = number(option, value()?)?;
                    wishes.trace_lines = usize::try_from(lines).unwrap_or(usize::MAX);
                }
                "--bug" => {
                    wishes.bugs = match value()? {
                        "all" => Bugs::All,
                        name => Bugs::One(name.parse().map_err(|error| format!("{name}: {error}"))?),
                    };
                }
                "--replay" => wishes.look = Some(Look::Replay(value()?.to_owned())),
                "--shrink" => wishes.look = Some(Look::Shrink(number(option, value()?)?)),
                other => return Err(format!("there is no option {other}")),
            }
        }
        if matches!((&wishes.look, wishes.bugs), (Some(_), Bugs::All)) {
            return Err("--replay and --shrink take one bug at most".to_owned());
        }
        Ok(wishes)
    }

    fn bug(&self) -> Option<Bug> {
        match self.bugs {
            Bugs::One(bug) => Some(bug),
            Bugs::None | Bugs::All => None,
        }
    }

    fn carry_out(&self) -> Result<Report, String> {
        match (&self.look, self.bugs) {
            (Some(Look::Replay(what)), _) => self.replay(what),
            (Some(Look::Shrink(seed)), _) => self.shrink(*seed),
            (None, Bugs::None) => Ok(self.campaign()),
            (None, Bugs::One(bug)) => Ok(self.hunt(&[bug])),
            (None, Bugs::All) => Ok(self.hunt(&Bug::ALL.map(|(bug, _)| bug))),
        }
    }

    fn order(&self, seed: u64, bug: Option<Bug>) -> Order {
        Order::new(seed, bug, self.min_events)
    }

    /// How to look into a run.
    fn again(&self, how: &str, seed: u64, bug: Option<Bug>) -> String {
        let mut text = format!("{AGAIN} --{how} {seed}");
        if let Some(bug) = bug {
            let _ = write!(text, " --bug {bug}");
        }
        if self.min_events != MIN_EVENTS {
            let _ = write!(text, " --min-events {}", self.min_events);
        }
        text
    }

    fn campaign(&self) -> Report {
        let seeds = self.seeds.clone().unwrap_or(0..=9_999);
        let mut campaign = Campaign::new();
        let mut progress = Progress::new(seeds.clone());
        in_parallel(
            seeds,
            self.jobs,
            |seed| run(self.order(seed, None)),
            |seed, run| {
                campaign.take(seed, &run);
                progress.show(seed, &campaign);
                true
            },
        );
        campaign.report(self)
    }

    /// Each bug, until a named rule breaks or there are no more seeds.
    fn hunt(&self, bugs: &[Bug]) -> Report {
        let seeds = self.seeds.clone().unwrap_or(0..=BUG_SEEDS - 1);
        let mut rows = Vec::new();
        for bug in bugs {
            let mut row = Row::new(*bug);
            in_parallel(
                seeds.clone(),
                self.jobs,
                |seed| run(self.order(seed, Some(*bug))),
                |seed, run| row.take(seed, &run),
            );
            let _ = writeln!(std::io::stderr(), "{}", row.line());
            rows.push(row);
        }
        let good = rows.iter().all(|row| row.caught.is_some());
        let text = if self.json {
            json!({ "bugs": rows.iter().map(Row::json).collect::<Vec<_>>() }).to_string()
        } else {
            let mut text = String::from(
                "| bug | caught by | first seed | seeds tried | events |\n| --- | --- | --- | --- | --- |\n",
            );
            for row in &rows {
                let _ = writeln!(text, "{}", row.line());
            }
            for row in &rows {
                if let Some((seed, _, words)) = &row.caught {
                    let again = self.again("replay", *seed, Some(row.bug));
                    let _ = writeln!(text, "\n{}: {words}\n  again: {again}", row.bug);
                }
            }
            text
        };
        Report { text, good }
    }

    fn replay(&self, what: &str) -> Result<Report, String> {
        let order = match what.parse() {
            Ok(seed) => self.order(seed, self.bug()),
            Err(_) => {
                let text = std::fs::read_to_string(what).map_err(|error| format!("{what}: {error}"))?;
                let script: Script = text.parse().map_err(|error| format!("{what}, {error}"))?;
                Order::of(&script)
            }
        };
        let run = run(Order {
            trace_lines: self.trace_lines,
            ..order
        });
        let text = if self.json {
            json!({
                "broken": run.rule(),
                "message": run.broken.as_ref().map(ToString::to_string),
                "trace_hash": format!("{:016x}", run.hash),
                "decisions": run.decisions.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "trace": run.lines,
                "counts": counts_json(&run.counts),
            })
            .to_string()
        } else {
            described(&run, "")
        };
        Ok(Report {
            text,
            good: run.broken.is_none(),
        })
    }

    fn shrink(&self, seed: u64) -> Result<Report, String> {
        let order = self.order(seed, self.bug());
        let told = |left: usize| {
            let _ = writeln!(std::io::stderr(), "{left} decisions left");
        };
        let shrunk = shrink(&order, self.trace_lines, told)
            .ok_or_else(|| format!("no rule breaks in seed {seed}: there is nothing to shrink"))?;
        let mut text = format!(
            "{}# {} decisions of {} are left, after {} runs\n",
            shrunk.script,
            shrunk.script.decisions.len(),
            shrunk.from,
            shrunk.runs
        );
        text.push_str(&described(&shrunk.run, "# "));
        Ok(Report { text, good: false })
    }
}

fn number(option: &str, text: &str) -> Result<u64, String> {
    text.parse().map_err(|error| format!("{option} {text}: {error}"))
}

/// Both ends included, as everywhere in `ackall`.
fn seeds(text: &str) -> Result<RangeInclusive<u64>, String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from, to) = (number("--seeds", from)?, number("--seeds", to)?);
    if from > to {
        return Err(format!("--seeds {text}: the first is beyond the last"));
    }
    Ok(from..=to)
}

/// The end of a run, for people: what happened, and what broke.
fn described(run: &Run, prefix: &str) -> String {
    let mut text = String::new();
    let mut line = |words: &str| {
        for part in words.lines() {
            let _ = writeln!(text, "{prefix}{part}");
        }
    };
    line("the end of the trace:");
    run.lines.iter().for_each(|words| line(words));
    line("what went wrong, in order:");
    run.decisions
        .iter()
        .for_each(|decision| line(&decision.to_string()));
    line(&run.counts.to_string());
    line(&format!("trace {:016x}", run.hash));
    match &run.broken {
        Some(violation) => line(&format!("broken: {violation}")),
        None => line("no rule broke"),
    }
    text
}

/// Runs seeds on so many threads, and hands their results on in the order of the seeds, until the
/// taker has had enough.
fn in_parallel(
    seeds: RangeInclusive<u64>,
    jobs: u64,
    run: impl Fn(u64) -> Run + Sync,
    mut take: impl FnMut(u64, Run) -> bool,
) {
    /// So many seeds a thread at a time: few, so that little is run in vain.
    const SHARE: u64 = 4;
    let (mut from, last) = (*seeds.start(), *seeds.end());
    loop {
        let to = from.saturating_add(jobs * SHARE - 1).min(last);
        let mut done: Vec<(u64, Run)> = if jobs == 1 {
            (from..=to).map(|seed| (seed, run(seed))).collect()
        } else {
            std::thread::scope(|scope| {
                let share = |job: u64| {
                    let first = from.checked_add(job).into_iter();
                    first.flat_map(|first| (first..=to).step_by(usize::try_from(jobs).unwrap_or(1)))
                };
                let run = &run;
                let threads: Vec<_> = (0..jobs)
                    .map(|job| {
                        scope.spawn(move || share(job).map(|seed| (seed, run(seed))).collect::<Vec<_>>())
                    })
                    .collect();
                // A thread that panicked takes the command with it.
                threads
                    .into_iter()
                    .flat_map(|thread| thread.join().unwrap())
                    .collect()
            })
        };
        done.sort_unstable_by_key(|(seed, _)| *seed);
        for (seed, run) in done {
            if !take(seed, run) {
                return;
            }
        }
        if to == last {
            return;
        }
        from = to + 1;
    }
}

/// A campaign as far as it has come.
struct Campaign {
    begun: Instant,
    seeds: u64,
    /// Runs in which nothing was committed after a fault: they show nothing.
    empty: Vec<u64>,
    broken: Vec<(u64, &'static str, String)>,
    counts: Counts,
}

impl Campaign {
    fn new() -> Self {
        Self {
            begun: Instant::now(),
            seeds: 0,
            empty: Vec::new(),
            broken: Vec::new(),
            counts: Counts::default(),
        }
    }

    fn take(&mut self, seed: u64, run: &Run) {
        if let Some(violation) = &run.broken {
            self.broken.push((seed, violation.rule(), violation.to_string()));
        } else if !run.counts_as_run() {
            self.empty.push(seed);
            return;
        }
        self.seeds += 1;
        self.counts.add(&run.counts);
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a figure for people, far below what a float holds exactly"
    )]
    fn events_a_second(&self) -> u64 {
        (self.counts.events as f64 / self.begun.elapsed().as_secs_f64()) as u64
    }

    fn report(&self, wishes: &Wishes) -> Report {
        let missing = self.counts.missing();
        let good = self.broken.is_empty() && missing.is_empty() && self.seeds > 0;
        let text = if wishes.json {
            json!({
                "seeds": self.seeds,
                "seeds_without_a_commit_after_a_fault": self.empty,
                "events_per_second": self.events_a_second(),
                "counts": counts_json(&self.counts),
                "missing": missing,
                "broken": self.broken.iter().map(|(seed, rule, message)| {
                    json!({ "seed": seed, "rule": rule, "message": message,
                            "replay": wishes.again("replay", *seed, None) })
                }).collect::<Vec<_>>(),
            })
            .to_string()
        } else {
            self.words(wishes, &missing)
        };
        Report { text, good }
    }

    fn words(&self, wishes: &Wishes, missing: &[&str]) -> String {
        let mut text = String::new();
        for (seed, _, message) in self.broken.iter().take(TOLD) {
            let (again, less) = (
                wishes.again("replay", *seed, None),
                wishes.again("shrink", *seed, None),
            );
            let _ = writeln!(
                text,
                "seed {seed}: {message}\n  again: {again}\n  smaller: {less}"
            );
        }
        if !self.empty.is_empty() {
            let some: Vec<_> = self.empty.iter().take(TOLD).collect();
            let _ = writeln!(
                text,
                "{} seeds do not count, nothing was committed after a fault: {some:?}",
                self.empty.len()
            );
        }
        let _ = writeln!(
            text,
            "{} seeds, {}; slowest recovery {} ms; {} events a second",
            self.seeds,
            self.counts,
            self.counts.slowest_recovery / simulator::quorum::MILLISECOND,
            self.events_a_second()
        );
        if !missing.is_empty() {
            let _ = writeln!(text, "there was none of: {}", missing.join(", "));
        }
        let _ = write!(text, "{} seeds broke a rule", self.broken.len());
        text
    }
}

fn counts_json(counts: &Counts) -> Value {
    let counts = counts.required().into_iter();
    counts
        .map(|(name, count)| (name.replace(' ', "_"), json!(count)))
        .collect()
}

/// A line now and then.
struct Progress {
    last: u64,
    shown: Instant,
}

impl Progress {
    fn new(seeds: RangeInclusive<u64>) -> Self {
        Self {
            last: *seeds.end(),
            shown: Instant::now(),
        }
    }

    fn show(&mut self, seed: u64, campaign: &Campaign) {
        if self.shown.elapsed() < PROGRESS {
            return;
        }
        self.shown = Instant::now();
        let _ = writeln!(
            std::io::stderr(),
            "seed {seed} of {} · {} events · {} a second · {} broken",
            self.last,
            campaign.counts.events,
            campaign.events_a_second(),
            campaign.broken.len()
        );
    }
}

/// What became of a bug.
struct Row {
    bug: Bug,
    caught: Option<(u64, &'static str, String)>,
    seeds: u64,
    events: u64,
    /// Runs that ended by a rule that is not named: they go on to the next seed.
    otherwise: u64,
}

impl Row {
    fn new(bug: Bug) -> Self {
        Self {
            bug,
            caught: None,
            seeds: 0,
            events: 0,
            otherwise: 0,
        }
    }

    /// Whether to go on.
    fn take(&mut self, seed: u64, run: &Run) -> bool {
        self.seeds += 1;
        self.events += run.counts.events;
        match &run.broken {
            Some(violation) if violation.is_named() => {
                self.caught = Some((seed, violation.rule(), violation.to_string()));
            }
            Some(_) => self.otherwise += 1,
            None => {}
        }
        self.caught.is_none()
    }

    fn line(&self) -> String {
        let Self {
            bug, seeds, events, ..
        } = self;
        match &self.caught {
            Some((seed, rule, _)) => format!("| {bug} | {rule} | {seed} | {seeds} | {events} |"),
            None => format!("| {bug} | nothing | - | {seeds} | {events} |"),
        }
    }

    fn json(&self) -> Value {
        json!({
            "bug": self.bug.name(),
            "caught_by": self.caught.as_ref().map(|caught| caught.1),
            "first_seed": self.caught.as_ref().map(|caught| caught.0),
            "message": self.caught.as_ref().map(|caught| &caught.2),
            "seeds": self.seeds,
            "events": self.events,
            "ended_otherwise": self.otherwise,
        })
    }
}
