//! `ackall ps`, `down`, `enter` and `fault`: what is done by hand to a cluster that is up.

use crate::cli::{AtArgs, EnterArgs, FaultArgs};
use crate::error::{Error, Status};
use crate::hand::{Ask, Heal, Hurt, Place, State, Told};
use ground::{Entry, Left};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// How long an end may take: longer than the front waits for a harness that does not end by itself.
const END_LIMIT: Duration = Duration::from_secs(15);

/// How long a harness may take to hear of its end: it may be taking in a long history's last entries.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Asks, and waits for the answer.
fn ask(place: &Place, ask: &Ask) -> Result<(Told, Option<Entry>), Error> {
    let ended = |why: String| {
        Error::internal(
            format!("asking the cluster {:?}", place.name()),
            why,
            format!("{} shows whether it is up", place.command("ps")),
        )
    };
    let call = place.call()?;
    call.send(ask).map_err(|e| ended(e.to_string()))?;
    match call.receive::<Told>() {
        Ok(Some((Told::Failed(error), _))) => Err(error),
        Ok(Some(told)) => Ok(told),
        Ok(None) => Err(ended("it ended before it answered".into())),
        Err(e) => Err(ended(e.to_string())),
    }
}

fn unexpected(told: &Told) -> Error {
    Error::internal(
        "reading the cluster's answer",
        format!("it answered {told:?}"),
        "report this: it is a bug",
    )
}

/// Shows the state.
pub fn ps(args: &AtArgs) -> Result<Status, Error> {
    match ask(&Place::of(&args.name)?, &Ask::State)?.0 {
        Told::State(state) => show_state(&state, args.json),
        told => return Err(unexpected(&told)),
    }
    Ok(Status::Pass)
}

/// A state, as a table or as JSON.
pub fn show_state(state: &State, json: bool) {
    if json {
        say!("{}", json!(state));
    } else {
        state.lines().iter().for_each(|line| say!("{line}"));
    }
}

/// Ends a cluster, and waits until nothing of it is left.
pub fn down(args: &AtArgs) -> Result<Status, Error> {
    let place = Place::of(&args.name)?;
    let call = place.call()?;
    let told = call
        .send(&Ask::Down)
        .and_then(|()| call.receive_within::<Told>(ANSWER_LIMIT));
    match told {
        // One that ends before it answers has heard it, or is ending anyway.
        Ok(Some(Told::Ends) | None) => {}
        Ok(Some(told)) => return Err(unexpected(&told)),
        Err(why) => {
            return Err(Error::internal(
                format!("ending the cluster {:?}", args.name),
                format!("its harness does not answer: {why}"),
                "Ctrl-C in its terminal, twice, or SIGKILL to its process `ackall up`, ends it at once",
            ));
        }
    }
    let took = place.await_end(END_LIMIT)?;
    let took_ms = took.as_millis() as u64;
    if args.json {
        say!("{}", json!({"name": args.name, "down": true, "took_ms": took_ms}));
    } else {
        say!(
            "{} is down: nothing of it is left, {took_ms} ms after it was told",
            args.name
        );
    }
    Ok(Status::Pass)
}

/// Runs a command in a node, and ends with its status.
pub fn enter(args: &EnterArgs) -> Result<Status, Error> {
    let place = Place::of(&args.name)?;
    let told = ask(
        &place,
        &Ask::Enter {
            node: args.node.clone(),
        },
    )?;
    let (Told::Entry { node, home }, Some(entry)) = told else {
        return Err(unexpected(&told.0));
    };
    let command = if args.command.is_empty() {
        vec![shell()]
    } else {
        args.command.clone()
    };
    let left = entry.run(&command, &home, args.command.is_empty()).map_err(|e| {
        Error::internal(
            format!("entering node {node}"),
            e,
            format!(
                "has it power ({})? else `ackall doctor` tries what entering needs",
                place.command("ps")
            ),
        )
    })?;
    // Whatever the status means to the command, it is its own.
    std::process::exit(status_of(left, node, &command[0])?.into())
}

/// The status that a shell would give a command which ended like that.
fn status_of(left: Left, node: i32, command: &str) -> Result<u8, Error> {
    const NOT_FOUND: u8 = 127;
    const NOT_EXECUTABLE: u8 = 126;
    const BY_SIGNAL: i32 = 128;
    const SIGKILL: i32 = 9;
    let say = |why: String| eprintln!("ackall enter: {why}");
    Ok(match left {
        Left::Exited(status) => status,
        Left::Killed(signal) => (BY_SIGNAL + signal) as u8,
        Left::NotExecuted(errno) => {
            let why = std::io::Error::from_raw_os_error(errno);
            say(format!("executing {command} in node {node}: {why}"));
            if why.kind() == std::io::ErrorKind::NotFound {
                NOT_FOUND
            } else {
                NOT_EXECUTABLE
            }
        }
        Left::WithTheNode => {
            say(format!(
                "node {node} has ended, or lost its power, and {command} with it"
            ));
            (BY_SIGNAL + SIGKILL) as u8
        }
    })
}

/// The user's shell, where it is one that every system has.
fn shell() -> String {
    let shell = std::env::var("SHELL").unwrap_or_default();
    if Path::new(&shell).is_absolute() && Path::new(&shell).exists() {
        shell
    } else {
        "/bin/sh".into()
    }
}

/// Puts a fault in, takes some out, or lists them.
pub fn fault(args: &FaultArgs) -> Result<Status, Error> {
    let place = Place::of(&args.name)?;
    let question = match args.what.as_str() {
        "list" => nothing_more(args, Ask::Faults)?,
        "heal" => Ask::Heal(which(args)?),
        name => wanted(args, name)?,
    };
    match ask(&place, &question)?.0 {
        Told::Fault(hurt) if args.json => say!("{}", json!(hurt)),
        Told::Fault(hurt) => say!("{}", hurt.line()),
        Told::Healed(all) if args.json => say!("{}", json!({"healed": all})),
        Told::Healed(all) => print_all("healed: ", &all),
        Told::Faults(all) if args.json => say!("{}", json!({"faults": all})),
        Told::Faults(all) => print_all("", &all),
        told => return Err(unexpected(&told)),
    }
    Ok(Status::Pass)
}

fn print_all(before: &str, all: &[Hurt]) {
    if all.is_empty() {
        say!("{before}no fault is in");
    }
    all.iter().for_each(|one| say!("{before}{}", one.line()));
}

fn nothing_more(args: &FaultArgs, ask: Ask) -> Result<Ask, Error> {
    match (args.targets.first(), args.param.first()) {
        (None, None) => Ok(ask),
        (Some(more), _) | (None, Some(more)) => Err(Error::usage(
            "reading the command line",
            format!("nothing can follow `fault {}`, as {more:?} does", args.what),
            "ackall fault list",
        )),
    }
}

fn which(args: &FaultArgs) -> Result<Heal, Error> {
    let wrong = |why: String| {
        Error::usage(
            "reading what to heal",
            why,
            "ackall fault heal 3, or heal all; `ackall fault list` shows the numbers",
        )
    };
    match (&args.targets[..], args.param.first()) {
        ([one], None) if one == "all" => Ok(Heal::All),
        ([one], None) => one
            .parse()
            .map(Heal::One)
            .map_err(|_| wrong(format!("{one:?} is no fault's number"))),
        ([], None) => Err(wrong("nothing is named".into())),
        _ => Err(wrong("one number is wanted, or all".into())),
    }
}

/// A fault to put in. What this machine has no means for is refused here: there, in the run, it could not be tried.
fn wanted(args: &FaultArgs, name: &str) -> Result<Ask, Error> {
    if nemesis::find(name).is_none() {
        return Err(crate::conductor::unknown_fault(name));
    }
    crate::needs::check_fault(name)?;
    let pair = |text: &String| crate::cli::pair("--param", "KEY=VALUE", text);
    let params = args
        .param
        .iter()
        .map(pair)
        .collect::<Result<BTreeMap<_, _>, _>>()?;
    Ok(Ask::Fault {
        name: name.into(),
        targets: args.targets.clone(),
        params,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(what: &str, targets: &[&str]) -> FaultArgs {
        FaultArgs {
            what: what.into(),
            targets: targets.iter().map(|target| target.to_string()).collect(),
            param: Vec::new(),
            name: "default".into(),
            json: false,
        }
    }

    #[test]
    fn what_to_heal_is_a_number_or_all() {
        assert_eq!(which(&args("heal", &["all"])), Ok(Heal::All));
        assert_eq!(which(&args("heal", &["3"])), Ok(Heal::One(3)));
        for bad in [&[][..], &["x"], &["1", "2"], &["-1"]] {
            assert_eq!(
                which(&args("heal", bad)).unwrap_err().status,
                Status::Usage,
                "{bad:?}"
            );
        }
        assert!(nothing_more(&args("list", &["0"]), Ask::Faults).is_err());
    }

    #[test]
    fn a_status_is_that_of_a_shell() {
        let of = |left| status_of(left, 0, "x").unwrap();
        assert_eq!(of(Left::Exited(3)), 3);
        assert_eq!(of(Left::Killed(2)), 130);
        assert_eq!(of(Left::WithTheNode), 137);
        assert_eq!(of(Left::NotExecuted(2)), 127);
        assert_eq!(of(Left::NotExecuted(13)), 126);
    }

    #[test]
    fn an_unknown_fault_gets_the_nearest() {
        let error = wanted(&args("cut-netwrok", &["0"]), "cut-netwrok").unwrap_err();
        assert!(
            error.why.contains("cut-network") && error.status == Status::Usage,
            "{error}"
        );
    }
}
