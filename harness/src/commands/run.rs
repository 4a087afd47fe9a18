//! `ackall run`: the front. It checks everything that can be checked before a process starts, makes the run's
//! folder and the plan, launches the ground, and tells how it ended.

use crate::cli::RunArgs;
use crate::error::{Error, Status, nearest};
use crate::plan::{Overrides, Plan};
use crate::scenario::Scenario;
use clusters::{System, is_one_line};
use ground::{Ended, Launch};
use results::store;
use serde::Deserialize;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Space that a run may take: six disks of 64 MiB of records and as much again of lost bytes, a history of 100 MiB.
pub const SPACE_BYTES: u64 = 1 << 30;

/// Runs a scenario under each seed, one after the other.
pub fn run(args: &RunArgs, words: &[String]) -> Result<Status, Error> {
    let scenario = Scenario::find(&args.scenario)?;
    let mut overrides = overrides(args)?;
    let found = crate::system::find(&args.system)?;
    overrides.system = found.system.clone();
    let system = &found.system;
    let seeds = args.seeds()?;
    let command = typed(words);
    let plan = |seed| Plan::new(&scenario, seed, &overrides, args.keep_disks, &command);
    // Every mistake of the scenario and the flags shows before anything starts.
    let first = plan(seeds[0])?;
    check_bug(system, first.bug.as_deref())?;
    check_properties(system, &first)?;
    if args.dry_run {
        say_as_is!("{}", text_of(&first)?);
        return Ok(Status::Pass);
    }
    crate::needs::check(&first)?;
    let system = found.hastened()?;
    let mut status = Status::Pass;
    let mut statuses = Vec::new();
    for seed in &seeds {
        let one = match one_run(args, &system, &plan(*seed)?) {
            Ok(one) => one,
            Err(error) if seeds.len() == 1 => return Err(error),
            Err(error) => {
                crate::tell(&error, args.json);
                error.status
            }
        };
        status = status.worst(one);
        statuses.push(one);
        if matches!(one, Status::Interrupted | Status::Terminated) {
            break;
        }
    }
    if seeds.len() > 1 && !args.json {
        print_several(&statuses);
    }
    Ok(status)
}

/// The command as it can be typed again: a word that a shell would take apart is quoted.
pub(super) fn typed(words: &[String]) -> String {
    std::iter::once("ackall".to_string())
        .chain(words.iter().map(|word| results::quoted(word)))
        .collect::<Vec<_>>()
        .join(" ")
}

fn print_several(statuses: &[Status]) {
    let count = |wanted: Status| statuses.iter().filter(|status| **status == wanted).count();
    say!(
        "{} runs: {} pass, {} fail, {} unknown, {} not judged",
        statuses.len(),
        count(Status::Pass),
        count(Status::Fail),
        count(Status::Unknown),
        statuses.iter().filter(|status| **status as u8 > 2).count(),
    );
}

fn overrides(args: &RunArgs) -> Result<Overrides, Error> {
    let time_ms = match &args.time {
        None => None,
        Some(text) => Some(humantime::parse_duration(text).map_err(|e| {
            Error::usage(
                format!("reading --time {text}"),
                e,
                "--time 60s, or 5m, for instance",
            )
        })?),
    };
    Ok(Overrides {
        server: args.properties()?.into_iter().collect(),
        features: args.features()?.into_iter().collect(),
        time_ms: time_ms.map(|time| time.as_millis() as u64),
        bug: args.bug.clone(),
        disk: args.disk,
        ..Overrides::default()
    })
}

/// A property as the system describes it.
#[derive(Deserialize)]
struct Property {
    name: String,
    /// `int` and `long` are whole numbers, `boolean` is true or false, anything else is text.
    #[serde(rename = "type")]
    kind: String,
    /// The least value of a number.
    #[serde(default)]
    least: Option<i64>,
}

impl Property {
    /// One of which only the name is known.
    fn of_any_kind(name: &str) -> Property {
        Property {
            name: name.to_owned(),
            kind: String::new(),
            least: None,
        }
    }

    /// Why a value is none of this property's, if so.
    fn refuses(&self, value: &str) -> Option<String> {
        let least = self.least.unwrap_or(i64::MIN);
        match self.kind.as_str() {
            "int" if !value.parse::<i32>().is_ok_and(|n| i64::from(n) >= least) => {
                Some(format!("{value:?} is no whole number of 32 bits from {least} on"))
            }
            "long" if !value.parse::<i64>().is_ok_and(|n| n >= least) => {
                Some(format!("{value:?} is no whole number of 64 bits from {least} on"))
            }
            "boolean" if !matches!(value, "true" | "false") => {
                Some(format!("{value:?} is neither true nor false"))
            }
            _ => None,
        }
    }
}

/// What a command of the system's prints about the system.
fn ask(system: &System, what: &str, argv: &[String]) -> Result<Vec<u8>, Error> {
    let argv = system.asking(argv);
    let failed = |why: String| not_told(system, what, &argv, why);
    let (program, arguments) = argv
        .split_first()
        .ok_or_else(|| failed("its command is empty".into()))?;
    let program = if program == "{self}" {
        "/proc/self/exe"
    } else {
        program
    };
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|e| failed(format!("{program}: {e}")))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().last().unwrap_or_default();
    Err(failed(format!("it ended with {}: {last}", output.status)))
}

fn not_told(system: &System, what: &str, argv: &[String], why: String) -> Error {
    Error::internal(
        format!("asking the system {} for its {what}", system.name),
        why,
        format!("run `{}` by hand", argv.join(" ").replace("{self}", "ackall")),
    )
}

/// The same, where it is JSON.
fn ask_json<T: serde::de::DeserializeOwned>(
    system: &System,
    what: &str,
    argv: &[String],
) -> Result<T, Error> {
    let told = ask(system, what, argv)?;
    serde_json::from_slice(&told).map_err(|e| not_told(system, what, argv, e.to_string()))
}

/// The properties that a configuration of the system may have; none where it does not say.
fn known_properties(system: &System) -> Result<Option<Vec<Property>>, Error> {
    let Some(properties) = &system.properties else {
        return Ok(None);
    };
    let Some([before, after]) = &properties.between else {
        return ask_json(system, "properties", &properties.argv).map(Some);
    };
    let told = ask(system, "properties", &properties.argv)?;
    let text = String::from_utf8_lossy(&told).into_owned();
    let names = text.split(before.as_str()).skip(1);
    let names = names.filter_map(|part| part.split_once(after.as_str()).map(|(name, _)| name));
    let also = properties.also.iter().map(String::as_str);
    let known: Vec<Property> = names.chain(also).map(Property::of_any_kind).collect();
    if known.is_empty() {
        let why = format!("it says nothing between {before:?} and {after:?}");
        return Err(not_told(system, "properties", &properties.argv, why));
    }
    Ok(Some(known))
}

/// Asks the system, by its own command, which properties it knows, and refuses others.
pub(super) fn check_properties(system: &System, plan: &Plan) -> Result<(), Error> {
    if let Some((key, _)) = plan.server.iter().find(|(_, value)| !is_one_line(value)) {
        return Err(Error::usage(
            format!("setting the server property {key}"),
            "it is more than one line, or takes the next line with it (a \\ at its end)",
            "--set KEY=VALUE once for each property",
        ));
    }
    // What its own description sets it knows.
    let own = |key: &String| system.server.contains_key(key) || system.server_least.contains_key(key);
    let said: Vec<_> = plan.server.iter().filter(|(key, _)| !own(key)).collect();
    if said.is_empty() {
        return Ok(());
    }
    let Some(known) = known_properties(system)? else {
        return Ok(());
    };
    for (key, value) in said {
        check_property(system, &known, key, value)?;
    }
    Ok(())
}

/// Refuses a bug that the system has not to offer.
pub(super) fn check_bug(system: &System, bug: Option<&str>) -> Result<(), Error> {
    let Some(bug) = bug else { return Ok(()) };
    let what = format!("switching on the bug {bug}");
    let Some(bugs) = &system.bugs else {
        return Err(Error::usage(
            what,
            format!("the system {} has none that could be switched on", system.name),
            "leave --bug out, or run the reference cluster",
        ));
    };
    let names: Vec<String> = ask_json(system, "bugs", &bugs.names)?;
    if names.iter().any(|name| name == bug) {
        return Ok(());
    }
    let near = nearest(bug, names.iter().map(String::as_str));
    Err(Error::usage(
        what,
        format!(
            "{} has none of that name; the nearest are {}",
            system.name,
            near.join(", ")
        ),
        format!("--bug {}", near.first().unwrap_or(&"NAME")),
    ))
}

fn check_property(system: &System, known: &[Property], key: &str, value: &str) -> Result<(), Error> {
    let what = format!("setting the server property {key}");
    let Some(property) = known.iter().find(|property| property.name == key) else {
        let near = nearest(key, known.iter().map(|property| property.name.as_str()));
        return Err(Error::usage(
            what,
            format!(
                "{} has none of that name; the nearest are {}",
                system.name,
                near.join(", ")
            ),
            format!("--set {}=...", near.first().unwrap_or(&"KEY")),
        ));
    };
    let begins = format!("{key}=");
    let templates = [&system.controller.template, &system.broker.template];
    if templates
        .iter()
        .any(|template| template.lines().any(|line| line.starts_with(&begins)))
    {
        return Err(Error::usage(
            what,
            "each node gets a value of its own for it from the system's template",
            "leave it out",
        ));
    }
    match property.refuses(value) {
        Some(why) => Err(Error::usage(
            what,
            why,
            "ackall node properties   lists those of the reference cluster, with types and defaults",
        )),
        None => Ok(()),
    }
}

/// Writes all that the conductor is to know: the plan, and the system as it is described.
pub(super) fn write_plan(run_dir: &Path, system: &System, plan: &Plan) -> Result<(), Error> {
    let description = toml::to_string(system)
        .map_err(|e| Error::internal("writing the system as TOML", e, "report this: it is a bug"))?;
    for (name, text) in [(store::PLAN, text_of(plan)?), (store::SYSTEM, description)] {
        let path = run_dir.join(name);
        store::write_whole(&path, text.as_bytes()).map_err(|e| cannot_write(&path, &e))?;
    }
    Ok(())
}

pub(super) fn text_of(plan: &Plan) -> Result<String, Error> {
    toml::to_string(plan)
        .map_err(|e| Error::internal("writing the plan as TOML", e, "report this: it is a bug"))
}

/// One run: folder, plan, ground, result.
fn one_run(args: &RunArgs, system: &System, plan: &Plan) -> Result<Status, Error> {
    let folder = Folder::make(&args.out, args.run_dir.as_deref(), plan)?;
    let run_dir = &folder.path;
    check_space(run_dir).inspect_err(|_| folder.remove())?;
    write_plan(run_dir, system, plan).inspect_err(|_| folder.remove())?;
    folder.own();
    let progress = !args.quiet && !args.no_progress;
    if progress {
        let _ = writeln!(
            std::io::stderr(),
            "{} · seed {} · {}",
            plan.scenario,
            plan.seed,
            run_dir.display()
        );
    }
    let mut harness_args = vec![run_dir.display().to_string()];
    harness_args.extend(args.json.then(|| "--json".to_string()));
    harness_args.extend((!progress).then(|| "--no-progress".to_string()));
    // In a user namespace of its own the harness is root whoever we are.
    harness_args.extend(ground::is_root().then(|| "--as-root".to_string()));
    let ended = ground::launch(Launch {
        run_dir: run_dir.clone(),
        harness_args,
        owner: folder.owner,
    });
    let status = match ended {
        Ok(Ended::Exited(code)) => status_of(code, run_dir)?,
        Ok(Ended::Interrupted { signal }) => {
            return Ok(Status::of_signal(signal));
        }
        Ok(Ended::Died { what }) => {
            return Err(Error::internal(
                "running the scenario",
                what,
                format!(
                    "what was recorded until then is in {}; run it again",
                    run_dir.display()
                ),
            ));
        }
        Err(e) => {
            folder.remove();
            return Err(Error::new(Status::Unavailable, e.0.what, e.0.why, e.0.next));
        }
    };
    // Links are a comfort: a file system without them is no reason to fail a run that was judged.
    let _ = store::link_latest(&args.out, run_dir, status == Status::Pass);
    show(args, run_dir)?;
    Ok(status)
}

pub(super) fn cannot_write(path: &Path, e: &std::io::Error) -> Error {
    Error::new(
        Status::Unavailable,
        format!("writing {}", path.display()),
        e,
        "--out FOLDER names another place for runs",
    )
}

/// The harness's exit status. A panic, or a status that it never uses, is a failure of the harness.
fn status_of(code: u8, run_dir: &Path) -> Result<Status, Error> {
    match Status::from_code(code) {
        // It has told why already, in three lines.
        Some(status) => Ok(status),
        None => Err(Error::internal(
            "running the scenario",
            format!("the harness ended with status {code}"),
            format!("its log is {}", run_dir.join(store::LOG).display()),
        )),
    }
}

/// What a finished run says: five lines, or its `result.json`.
fn show(args: &RunArgs, run_dir: &Path) -> Result<(), Error> {
    let path = run_dir.join(store::RESULT);
    // An error was told by the harness itself, and leaves no result.
    let Ok(text) = fs::read_to_string(&path) else {
        return Ok(());
    };
    if args.json {
        // One line a run, so that several can be told apart.
        let value: serde_json::Value = serde_json::from_str(&text)
            .map_err(|e| Error::internal(format!("reading {}", path.display()), e, "run it again"))?;
        say!("{value}");
        return Ok(());
    }
    let result: results::RunResult = serde_json::from_str(&text)
        .map_err(|e| Error::internal(format!("reading {}", path.display()), e, "run it again"))?;
    let colored = args.color.on_stdout();
    for line in results::summary::lines(&result, colored) {
        say!("{line}");
    }
    Ok(())
}

/// The run's folder, while it is the front's to make or to remove.
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// The one who typed sudo.
    owner: Option<(u32, u32)>,
    /// Whether this run made it.
    made: bool,
    /// Folders above it that this run may have made, the lowest first.
    above: Vec<PathBuf>,
}

impl Folder {
    pub(super) fn make(out: &Path, run_dir: Option<&Path>, plan: &Plan) -> Result<Folder, Error> {
        let owner = sudo_user();
        let Some(path) = run_dir else {
            let out_is_new = !out.exists();
            let path = store::make_run_dir(out, &plan.scenario, plan.seed, SystemTime::now())
                .map_err(|e| cannot_write(out, &e))?;
            let above = path
                .ancestors()
                .skip(1)
                .take(if out_is_new { 2 } else { 1 })
                .map(Path::to_path_buf)
                .collect();
            let folder = Folder {
                path,
                owner,
                made: true,
                above,
            };
            folder.own_parents(out);
            return Ok(folder);
        };
        let made = !path.exists();
        fs::create_dir_all(path).map_err(|e| cannot_write(path, &e))?;
        let path = fs::canonicalize(path).map_err(|e| cannot_write(path, &e))?;
        let mut entries = fs::read_dir(&path).map_err(|e| cannot_write(&path, &e))?;
        if entries.next().is_some() {
            return Err(Error::usage(
                format!("using {} as the run's folder", path.display()),
                "it is in use: it is not empty",
                "name a new folder, or leave --run-dir out",
            ));
        }
        Ok(Folder {
            path,
            owner,
            made,
            above: Vec::new(),
        })
    }

    /// Takes back what the run made, where it never began.
    pub(super) fn remove(&self) {
        if self.made {
            let _ = fs::remove_dir_all(&self.path);
            for folder in &self.above {
                // Only where it is empty: other runs may be in it.
                let _ = fs::remove_dir(folder);
            }
            return;
        }
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let path = entry.path();
            let _ = if path.is_dir() {
                fs::remove_dir_all(path)
            } else {
                fs::remove_file(path)
            };
        }
    }

    /// Under sudo the folders above the run, as far as they are in `out`, belong to the user too.
    fn own_parents(&self, out: &Path) {
        let Some((uid, gid)) = self.owner else { return };
        let out = fs::canonicalize(out).unwrap_or_else(|_| out.to_path_buf());
        for folder in self
            .path
            .ancestors()
            .take_while(|folder| folder.starts_with(&out))
        {
            let _ = std::os::unix::fs::lchown(folder, Some(uid), Some(gid));
        }
    }

    /// Under sudo the run's folder belongs to the user, in whose name the harness writes into it. What is made in it
    /// later the ground gives away at the end.
    pub(super) fn own(&self) {
        if let Some(owner) = self.owner {
            // A file system without owners lets the harness write all the same; another tells when it does not.
            let _ = ground::give_all(&self.path, owner);
        }
    }
}

/// The user who typed sudo, where one did.
pub(super) fn sudo_user() -> Option<(u32, u32)> {
    let id = |name: &str| std::env::var(name).ok()?.parse().ok();
    let is_root = ground::is_root();
    if is_root {
        Some((id("SUDO_UID")?, id("SUDO_GID")?))
    } else {
        None
    }
}

pub(super) fn check_space(run_dir: &Path) -> Result<(), Error> {
    let free = ground::free_bytes(run_dir).map_err(|e| cannot_write(run_dir, &e))?;
    if free < SPACE_BYTES {
        return Err(Error::new(
            Status::Unavailable,
            format!("making room for a run in {}", run_dir.display()),
            format!(
                "it has {} MiB free, a run may take {} MiB",
                free >> 20,
                SPACE_BYTES >> 20
            ),
            "free some space, or name another place with --out",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Property, check_bug, check_property, typed};
    use clusters::System;

    #[test]
    fn properties_are_checked_by_name_type_and_range() {
        let property = |name: &str, kind: &str| Property {
            name: name.into(),
            kind: kind.into(),
            least: Some(1),
        };
        let known = [
            property("n.ms", "int"),
            property("l", "long"),
            property("b", "boolean"),
            property("node.id", "int"),
        ];
        let system = System::reference();
        let check = |key, value| check_property(&system, &known, key, value);
        for (key, value) in [("n.ms", "1500"), ("l", "9999999999"), ("b", "false")] {
            assert!(check(key, value).is_ok(), "{key}={value}");
        }
        for (key, value) in [
            ("n.ms", "abc"),
            ("n.ms", "0"),
            ("n.ms", "9999999999"),
            ("l", "1.5"),
            ("b", "yes"),
            ("node.id", "7"),
            ("x", "1"),
        ] {
            let error = check(key, value).unwrap_err();
            assert_eq!(error.status, crate::error::Status::Usage, "{key}={value}");
        }
    }

    #[test]
    fn a_bug_is_only_for_systems_that_have_it() {
        let refused = |system: &System, bug| check_bug(system, Some(bug)).unwrap_err();
        // Stands in for a system's own command.
        let mut system = System::reference();
        let bugs = system.bugs.as_mut().unwrap();
        bugs.names = ["printf", r#"["no-pre-vote", "no-check-quorum"]"#]
            .map(String::from)
            .to_vec();
        assert!(check_bug(&system, Some("no-pre-vote")).is_ok());
        let error = refused(&system, "no-prevote");
        assert!(error.why.contains("no-pre-vote, no-check-quorum"), "{error}");
        assert_eq!(error.status, crate::error::Status::Usage);
        system.bugs = None;
        let error = refused(&system, "no-pre-vote");
        assert_eq!(error.status, crate::error::Status::Usage);
        assert!(error.next.contains("reference cluster"), "{error}");
        assert!(check_bug(&system, None).is_ok());
    }

    #[test]
    fn a_command_can_be_typed_again() {
        let words = |words: &[&str]| typed(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>());
        assert_eq!(
            words(&["--feature", "a.b=0", "--seed", "7"]),
            "ackall --feature a.b=0 --seed 7"
        );
        assert_eq!(
            words(&["--out", "my runs", "it's", ""]),
            r"ackall --out 'my runs' 'it'\''s' ''"
        );
    }
}
