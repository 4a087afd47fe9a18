//! Campaigns: the judged figures, as commands. `cargo test` runs seed 1 of each question and two kills of each part;
//! these run them all.
//!
//! ```text
//! cargo run --release --example campaign -- answers  --seeds 1..20    the default run, with and without ELR
//! cargo run --release --example campaign -- controls --seeds 1..10    the controls, without ELR
//!                                                                     both: --system NAME, as `ackall run` has it;
//!                                                                     --only elr-off, or another question
//! cargo run --release --example campaign -- kills    --rounds 20      SIGKILL to each part, at twenty moments
//! cargo run --release --example campaign -- quorum   --rounds 50      faults on the metadata quorum of a real cluster;
//!                                                                     --kind NAME takes one of them, --json its figures,
//!                                                                     --bug NAME has the nodes run with a known bug
//! cargo run --release --example campaign -- faults                    each fault in a whole run; --only NAME (also of several:
//!                                                                     NAME,NAME), --system NAME, --together N: so many
//!                                                                     one after the other in one run
//! cargo run --release --example campaign -- remainders                every remainder of a power cut, on a broker and on
//!                                                                     the active controller; the same options
//! cargo run --release --example campaign -- compositions --rounds 500 random faults, several at once, put in and healed in
//!                                                                     a row on one cluster; --seed N draws others
//! ```
//!
//! A line a run, and a last line with the counts; exit status 1 where one answer was wrong, 70 where a fault on the
//! quorum did not take. All that is written is in the folder of `--out` (default `campaign`), which must be new or empty.

#[cfg(target_os = "linux")]
#[path = "../tests/support/mod.rs"]
mod support;

#[cfg(target_os = "linux")]
#[path = "../tests/quorum/campaign/mod.rs"]
mod quorum;

#[cfg(target_os = "linux")]
#[path = "../nemesis/tests/compositions/mod.rs"]
mod compositions;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    compositions::dispatch()
        .or_else(quorum::dispatch)
        .unwrap_or_else(linux::main)
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!(
        "error: running a campaign\n  why: runs need Linux\n  next: run it on Linux, in a virtual machine for one"
    );
    std::process::exit(69);
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::quorum::{self, Kind};
    use crate::support::answers::{CONTROLS, FALLEN, Question, STANDING, wrong};
    use crate::support::deaths::{VICTIMS, kill, twenty};
    use crate::support::faults::{self, Case, On, Shown};
    use crate::support::{decoder, start, varied};
    use nix::sys::signal::Signal;
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::{Command, ExitCode};
    use std::time::Duration;

    /// How long a run may take, and from the exec of the first node to the first acknowledged record: in seconds.
    struct Seconds {
        run: f64,
        boot_worst: f64,
        boot_median: f64,
    }

    /// The reference cluster's.
    const REFERENCE: Seconds = Seconds {
        run: 20.0,
        boot_worst: 4.0,
        boot_median: 2.0,
    };
    /// Those of six JVMs on two cores.
    const OTHERS: Seconds = Seconds {
        run: 90.0,
        boot_worst: 20.0,
        boot_median: 20.0,
    };
    const USAGE: &str = "campaign answers --seeds 1..20 [--system NAME] [--only NAME] | controls --seeds 1..10 [--system NAME] [--only NAME] | kills --rounds 20 | faults [--only NAME] [--system NAME] [--together 6] | remainders [--only NAME] [--system NAME] [--together 6] | compositions --rounds 500 [--seed N] | quorum --rounds 50 [--kind NAME] [--bug NAME] [--json] [--out FOLDER]";
    /// The most rounds of one fault on the quorum: each topic that is created is a folder on a broker.
    const MOST_QUORUM_ROUNDS: usize = 500;

    pub fn main() -> ExitCode {
        let args: Vec<String> = std::env::args().skip(1).collect();
        if args.first().is_some_and(|name| name == "quorum") {
            return faults_on_the_quorum(&args[1..]);
        }
        if args.first().is_some_and(|name| name == "compositions") {
            return compositions_of_faults(&args[1..]);
        }
        let result = Order::parse(&args).and_then(|order| {
            build()?;
            order.carry_out()
        });
        match result {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(why) => not_understood(&why),
        }
    }

    fn not_understood(why: &str) -> ExitCode {
        eprintln!("error: running a campaign\n  why: {why}\n  next: {USAGE}");
        ExitCode::from(64)
    }

    /// Random faults, several at once, in a row on one cluster. This executable is all of it.
    fn compositions_of_faults(args: &[String]) -> ExitCode {
        let number = |flag: &str, default: u64| match args.iter().position(|arg| arg == flag) {
            None => Some(default),
            Some(at) => args.get(at + 1)?.parse().ok(),
        };
        let (Some(rounds), Some(seed)) = (number("--rounds", 500), number("--seed", 1)) else {
            return not_understood("--rounds and --seed are numbers");
        };
        let folder = std::env::temp_dir().join(format!("ackall-compositions-{}", std::process::id()));
        if let Err(why) = fs::create_dir_all(&folder) {
            return not_understood(&format!("making {}: {why}", folder.display()));
        }
        match crate::compositions::run(&folder, seed, rounds as usize, true) {
            Ok(()) => {
                let _ = fs::remove_dir_all(&folder);
                ExitCode::SUCCESS
            }
            Err(why) => {
                eprintln!(
                    "error: running a campaign\n  why: {why}\n  next: read the logs in {}; ackall doctor",
                    folder.display()
                );
                ExitCode::from(70)
            }
        }
    }

    /// Faults on the quorum of a real cluster. This executable is all of it, so nothing is built first.
    fn faults_on_the_quorum(args: &[String]) -> ExitCode {
        let (order, json) = match quorum_order(args) {
            Ok(order) => order,
            Err(why) => return not_understood(&why),
        };
        let all = match quorum::run(&order) {
            Ok(all) => all,
            Err(failed) => {
                eprintln!(
                    "error: running a campaign\n  why: {}\n  next: read the logs in {}; ackall doctor",
                    failed.why,
                    order.out.display()
                );
                return ExitCode::from(failed.status);
            }
        };
        if json {
            match serde_json::to_string_pretty(&all) {
                Ok(text) => println!("{text}"),
                Err(why) => return not_understood(&why.to_string()),
            }
        } else {
            print!("{}", quorum::table(&all));
            println!(
                "× is fetch and election time-out together, {} ms",
                quorum::UNIT.as_millis()
            );
        }
        let mut status = 0;
        for figures in &all {
            for short in figures.short() {
                eprintln!("{} WRONG: {short}", figures.kind);
                status = status.max(1);
            }
            if let Some(why) = &figures.not_taken {
                eprintln!("{} not taken: {why}", figures.kind);
                status = 70;
            }
        }
        ExitCode::from(status)
    }

    fn quorum_order(args: &[String]) -> Result<(quorum::Order, bool), String> {
        let (mut kinds, mut rounds, mut out, mut json) =
            (Kind::ALL.to_vec(), 50, PathBuf::from("campaign"), false);
        let mut bug = None;
        let mut words = args.iter();
        while let Some(word) = words.next() {
            if word == "--json" {
                json = true;
                continue;
            }
            let value = words.next().ok_or_else(|| format!("{word} is not understood"))?;
            match word.as_str() {
                "--kind" => {
                    let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
                    let kind =
                        Kind::named(value).ok_or_else(|| format!("--kind is one of {}", names.join(", ")))?;
                    kinds = vec![kind];
                }
                "--rounds" => {
                    rounds = value
                        .parse()
                        .ok()
                        .filter(|n| (1..=MOST_QUORUM_ROUNDS).contains(n))
                        .ok_or_else(|| format!("--rounds is 1 to {MOST_QUORUM_ROUNDS}"))?;
                }
                "--bug" => bug = Some(value.clone()),
                "--out" => out = value.into(),
                other => return Err(format!("{other} is not understood")),
            }
        }
        let out = empty_folder(&out)?;
        let order = quorum::Order {
            kinds,
            rounds,
            bug,
            out,
        };
        Ok((order, json))
    }

    /// Makes a folder where there is none; one that holds something is refused.
    fn empty_folder(out: &Path) -> Result<PathBuf, String> {
        fs::create_dir_all(out).map_err(|e| format!("making {}: {e}", out.display()))?;
        let out = fs::canonicalize(out).map_err(|e| format!("{}: {e}", out.display()))?;
        match fs::read_dir(&out).map(|mut entries| entries.next().is_some()) {
            Ok(false) => Ok(out),
            _ => Err(format!("{} is not empty", out.display())),
        }
    }

    /// The executable that is judged is built first, in the same profile: an example's build does not include it.
    fn build() -> Result<(), String> {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args([
            "build",
            "--quiet",
            "--bin",
            "ackall",
            // Named too, so that the packages beneath have the features that they were built with for it.
            "--example",
            "campaign",
            "--manifest-path",
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
        ]);
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        match cargo.status() {
            Ok(status) if status.success() => Ok(()),
            other => Err(format!("building ackall: {other:?}")),
        }
    }

    enum What {
        Answers(Answers),
        Kills(usize),
        Faults(Vec<Case>, On),
    }

    /// Questions whose answers are known, each with each seed.
    struct Answers {
        questions: Vec<Question>,
        seeds: Vec<u64>,
        /// Of which system; the reference cluster where none is named.
        system: Option<String>,
    }

    struct Order {
        what: What,
        out: PathBuf,
    }

    impl Order {
        fn parse(args: &[String]) -> Result<Order, String> {
            let [name, options @ ..] = args else {
                return Err("no campaign is named".into());
            };
            let (mut seeds, mut rounds, mut out) = (None, 20, PathBuf::from("campaign"));
            let (mut only, mut system) = (None, None);
            let mut together = 1;
            for pair in options.chunks(2) {
                match pair {
                    [flag, value] if flag == "--seeds" => seeds = Some(range(value)?),
                    [flag, value] if flag == "--rounds" => {
                        rounds = value
                            .parse()
                            .ok()
                            .filter(|n| (1..=20).contains(n))
                            .ok_or("--rounds is 1 to 20")?;
                    }
                    [flag, value] if flag == "--out" => out = value.into(),
                    [flag, value] if flag == "--only" => only = Some(value.clone()),
                    [flag, value] if flag == "--system" => system = Some(value.clone()),
                    [flag, value] if flag == "--together" => {
                        together = value.parse().map_err(|_| "--together is a number")?;
                    }
                    other => return Err(format!("{} is not understood", other.join(" "))),
                }
            }
            let what = match name.as_str() {
                "answers" | "controls" => {
                    let of_answers = name == "answers";
                    let questions = if of_answers {
                        &[STANDING, FALLEN][..]
                    } else {
                        &CONTROLS
                    };
                    let asked =
                        |question: &&Question| only.as_ref().is_none_or(|only| question.name == *only);
                    let questions: Vec<Question> = questions.iter().filter(asked).copied().collect();
                    if questions.is_empty() {
                        return Err(format!("{name} has no question of that name"));
                    }
                    What::Answers(Answers {
                        questions,
                        seeds: seeds.unwrap_or_else(|| (1..=if of_answers { 20 } else { 10 }).collect()),
                        system,
                    })
                }
                "kills" => What::Kills(rounds),
                "faults" | "remainders" => {
                    let all = if name == "faults" {
                        nemesis::ALL.iter().map(|fault| Case::of(fault.about())).collect()
                    } else {
                        faults::remainders()
                    };
                    What::Faults(chosen(all, only.as_deref())?, On { system, together })
                }
                other => return Err(format!("there is no campaign {other}")),
            };
            let out = empty_folder(&out)?;
            Ok(Order { what, out })
        }

        /// Whether every answer was right.
        fn carry_out(&self) -> Result<bool, String> {
            match &self.what {
                What::Answers(asked) => Ok(answers(&self.out, asked)),
                What::Kills(rounds) => Ok(kills(&self.out, *rounds)),
                What::Faults(cases, on) => Ok(faults_shown(&self.out, cases, on)),
            }
        }
    }

    /// Those whose names are asked for, by commas; all, where none is.
    fn chosen(all: Vec<Case>, only: Option<&str>) -> Result<Vec<Case>, String> {
        let Some(only) = only else { return Ok(all) };
        let named = |name: &str| {
            let found = all.iter().find(|case| case.name == name).cloned();
            found.ok_or_else(|| format!("there is no fault {name}"))
        };
        only.split(',').map(named).collect()
    }

    /// Each fault in a whole run.
    fn faults_shown(out: &Path, cases: &[Case], on: &On) -> bool {
        let (mut right, mut not_here, mut all) = (0, 0, Vec::new());
        for run in faults::runs(cases, on) {
            for (case, shown) in run.iter().zip(faults::shown(out, &run, on)) {
                match &shown {
                    Ok(Shown::Took(verdict, measured)) => {
                        right += 1;
                        println!("{:<22} took and healed · {verdict} · {measured}", case.name);
                    }
                    Ok(Shown::NotHere(why)) => {
                        not_here += 1;
                        println!("{:<22} not here · {why}", case.name);
                    }
                    Err(why) => println!("{:<22} WRONG · {why}", case.name),
                }
                all.push((case.clone(), shown));
            }
        }
        println!("\n{}", faults::table(&all));
        println!(
            "{right} of {} faults took and healed, {not_here} cannot be had here",
            cases.len()
        );
        right + not_here == cases.len()
    }

    fn range(text: &str) -> Result<Vec<u64>, String> {
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        match (low.parse::<u64>(), high.parse::<u64>()) {
            (Ok(low), Ok(high)) if low <= high && high - low < 1000 => Ok((low..=high).collect()),
            _ => Err(format!("--seeds {text}: 1..20, for one")),
        }
    }

    /// Asks each question with each seed.
    fn answers(out: &Path, asked: &Answers) -> bool {
        let limits = if asked.system.is_some() { OTHERS } else { REFERENCE };
        let system: Vec<&str> = asked.system.iter().flat_map(|name| ["--system", name]).collect();
        let (questions, seeds) = (&asked.questions, &asked.seeds);
        let (mut right, mut runs, mut boots, mut longest) = (0, 0, Vec::new(), 0.0_f64);
        let mut plans: BTreeMap<(&str, String), u64> = BTreeMap::new();
        for question in questions {
            for seed in seeds {
                runs += 1;
                let text = seed.to_string();
                let args = [
                    question.args,
                    &system[..],
                    &["--seed", &text, "--keep-disks", "always"],
                ]
                .concat();
                let run = start(out, &format!("{}-{seed}", question.name), &args).wait();
                let seconds = run.took.as_secs_f64();
                let mut wrong = wrong(question, &run);
                if seconds > limits.run {
                    wrong.push(format!("it took {seconds:.1} s, not {} s at most", limits.run));
                }
                let plan = fs::read_to_string(run.dir.join("plan.toml")).map(|plan| varied(&plan));
                match plan.map(|plan| plans.insert((question.name, plan), *seed)) {
                    Ok(None) => {}
                    Ok(Some(other)) => wrong.push(format!("its plan is that of seed {other}")),
                    Err(e) => wrong.push(format!("it has no plan: {e}")),
                }
                let result = fs::read(run.dir.join("result.json")).unwrap_or_default();
                let result: serde_json::Value = serde_json::from_slice(&result).unwrap_or_default();
                let boot = result["boot_to_first_ack_s"].as_f64();
                boots.extend(boot);
                longest = longest.max(seconds);
                right += u64::from(wrong.is_empty());
                let boot = boot.map_or("no ack".into(), |boot| format!("first ack {boot:.2} s"));
                let found = result["verdict"].as_str().unwrap_or("no verdict");
                let word = if wrong.is_empty() { "right" } else { "WRONG" };
                let lost = decoder::Facts::lost_in(&run.dir);
                println!(
                    "{:<18} seed {seed:<3} {found:<8} {word} · {seconds:.1} s · {boot} · {lost} acked records lost",
                    question.name
                );
                for why in wrong.iter().take(10) {
                    println!("    {why}");
                }
            }
        }
        boots.sort_by(f64::total_cmp);
        let median = boots.get(boots.len() / 2).copied().unwrap_or(f64::INFINITY);
        let worst = boots.last().copied().unwrap_or(f64::INFINITY);
        println!(
            "{right} of {runs} answers right · longest run {longest:.1} s · first ack median {median:.2} s, worst {worst:.2} s"
        );
        right == runs && worst <= limits.boot_worst && median <= limits.boot_median
    }

    /// Kills each part so many times.
    fn kills(out: &Path, rounds: usize) -> bool {
        let (mut right, mut tried, mut slowest) = (0, 0, Duration::ZERO);
        // Fewer rounds take from every kind of moment.
        let moments = twenty();
        let chosen: Vec<_> = (0..rounds)
            .map(|n| moments[(n * 5 + n / 4) % moments.len()])
            .collect();
        for victim in VICTIMS {
            for (n, moment) in chosen.iter().enumerate() {
                tried += 1;
                let name = format!("{}-{n}", victim.name());
                let (who, when) = (format!("{:<8}", victim.name()), format!("{moment:?}"));
                match kill(out, &name, victim, *moment, Signal::SIGKILL) {
                    Ok(death) => {
                        right += 1;
                        slowest = slowest.max(death.gone);
                        println!("{who} {when:<20} all gone after {:.0?}", death.gone);
                        let _ = fs::remove_dir_all(out.join(&name));
                    }
                    Err(why) => println!("{who} {when:<20} WRONG: {why}"),
                }
            }
        }
        println!("{right} of {tried} deaths left nothing · slowest {slowest:.0?}");
        right == tried
    }
}
