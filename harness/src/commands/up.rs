//! `ackall up`: a cluster by hand, on the same ground as a run. In the foreground it ends with Ctrl-C; detached it ends
//! with `ackall down`.

use super::run::{Folder, check_bug, check_properties, check_space, sudo_user, typed, write_plan};
use crate::cli::{UpArgs, drawn_seed, features, properties};
use crate::error::{Error, Status};
use crate::hand::{Ask, Hand, Held, Place, State, Told};
use crate::judge;
use crate::plan::{BROKERS, Overrides, Plan};
use clusters::System;
use ground::{Door, Ended, Launch, Loopback, Outside};
use results::store;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Between two looks whether a detached cluster is there to be asked.
const LOOK: Duration = Duration::from_millis(5);
/// The flags that tell a detached front from who started it.
const DETACH: &str = "--detach";
const DETACHED: &str = "--detached";

/// Brings a cluster up; in the foreground until its end.
pub fn up(args: &UpArgs, words: &[String]) -> Result<Status, Error> {
    let place = Place::of(&args.name)?;
    if args.detach {
        return detach(args, &place, words);
    }
    let (system, plan) = plan(args, words)?;
    if args.detached {
        // A terminal that closes takes its session with it.
        ground::leave_session().map_err(|e| {
            Error::internal("leaving the terminal", e, "leave --detach out, and end it with &")
        })?;
    }
    front(args, &place, &system, &plan)
}

fn plan(args: &UpArgs, words: &[String]) -> Result<(System, Plan), Error> {
    let found = crate::system::find(&args.system)?;
    let overrides = Overrides {
        server: properties(&args.set)?.into_iter().collect(),
        features: features(&args.feature)?.into_iter().collect(),
        bug: args.bug.clone(),
        disk: args.disk,
        system: found.system.clone(),
        ..Overrides::default()
    };
    let seed = args.seed.map_or_else(drawn_seed, Ok)?;
    let plan = Plan::by_hand(seed, &overrides, args.keep_disks, &typed(words))?;
    check_bug(&found.system, plan.bug.as_deref())?;
    check_properties(&found.system, &plan)?;
    Ok((found.hastened()?, plan))
}

/// The front: takes the name, the ports and a folder, launches, and tells how it ended.
fn front(args: &UpArgs, place: &Place, system: &System, plan: &Plan) -> Result<Status, Error> {
    let held = place.hold()?;
    // No more brokers than a plan has.
    let loopback = Loopback::bind(args.port, BROKERS as u16);
    let loopback = loopback.map_err(|e| no_ports(args, &e))?;
    let host_ports = loopback.ports().map_err(|e| no_ports(args, &e))?;
    let door = Door::open(&place.socket()).map_err(|e| {
        let what = format!("opening the control socket {}", place.socket().display());
        Error::new(
            Status::Unavailable,
            what,
            e,
            "XDG_RUNTIME_DIR names a folder of yours for sockets",
        )
    })?;
    let folder = Folder::make(&args.out, args.run_dir.as_deref(), plan)?;
    let prepared = check_space(&folder.path).and_then(|()| write_plan(&folder.path, system, plan));
    prepared.inspect_err(|_| folder.remove())?;
    folder.own();
    let hand = Hand {
        name: args.name.clone(),
        front: std::process::id(),
        host_ports,
        shows: !args.detached,
    };
    let launch = Launch {
        run_dir: folder.path.clone(),
        harness_args: harness_args(args, &folder.path, &hand)?,
        owner: sudo_user(),
    };
    let outside = Outside {
        door: Some(door),
        loopback,
    };
    let ended = ground::launch_with(launch, outside);
    told(args, place, held, &folder, plan, ended)
}

fn no_ports(args: &UpArgs, why: &std::io::Error) -> Error {
    let what = format!("taking {BROKERS} ports of the loopback for the brokers");
    match args.port {
        Some(_) => Error::usage(
            what,
            why,
            "leave --port out: then ports are taken where there is room",
        ),
        None => Error::new(Status::Unavailable, what, why, "free some ports of 127.0.0.1"),
    }
}

fn harness_args(args: &UpArgs, run_dir: &Path, hand: &Hand) -> Result<Vec<String>, Error> {
    let hand = serde_json::to_string(hand).map_err(|e| {
        Error::internal(
            "telling the harness of the cluster",
            e,
            "report this: it is a bug",
        )
    })?;
    let mut words = vec![run_dir.display().to_string(), crate::BY_HAND.to_string(), hand];
    words.extend(args.json.then(|| "--json".to_string()));
    words.extend(args.quiet.then(|| "--no-progress".to_string()));
    Ok(words)
}

/// The end: everything of the ground is gone by now.
fn told(
    args: &UpArgs,
    place: &Place,
    held: Held,
    folder: &Folder,
    plan: &Plan,
    ended: Result<Ended, ground::LaunchError>,
) -> Result<Status, Error> {
    let status = match ended {
        Ok(Ended::Exited(code)) => Status::from_code(code).ok_or_else(|| {
            let log = folder.path.join(store::LOG).display().to_string();
            Error::internal(
                "running the cluster",
                format!("the harness ended with status {code}"),
                format!("its log is {log}"),
            )
        }),
        Ok(Ended::Interrupted { signal }) => Ok(Status::of_signal(signal)),
        Ok(Ended::Died { what }) => Err(Error::internal(
            "running the cluster",
            what,
            format!(
                "what was recorded until then is in {}; {}",
                folder.path.display(),
                place.command("up")
            ),
        )),
        Err(e) => {
            folder.remove();
            Err(Error::new(Status::Unavailable, e.0.what, e.0.why, e.0.next))
        }
    };
    judge::keep_disks(plan, &folder.path, Status::Pass);
    if status.is_ok() && !args.quiet {
        // Somebody may have closed the terminal.
        let _ = writeln!(
            std::io::stderr(),
            "{} is down · {}",
            args.name,
            folder.path.display()
        );
    }
    // A front that failed keeps what it said for whoever started it detached.
    if !args.detached || status == Ok(Status::Pass) {
        held.release();
    }
    status
}

/// Starts a front of its own, and waits until its cluster is up, or it has ended.
fn detach(args: &UpArgs, place: &Place, words: &[String]) -> Result<Status, Error> {
    let failed =
        |e: std::io::Error| Error::internal("starting a front in the background", e, "leave --detach out");
    let own = std::process::id();
    let said = |what: &str| place.file(&format!("{own}.{what}"));
    let (log, out) = (said("log"), said("out"));
    let words = words.iter().filter(|word| *word != DETACH);
    let child = Command::new("/proc/self/exe")
        .args(words)
        .arg(DETACHED)
        .stdin(Stdio::null())
        .stdout(File::create(&out).map_err(failed)?)
        .stderr(File::create(&log).map_err(failed)?)
        .spawn();
    let came = child
        .map_err(failed)
        .and_then(|mut child| came_up(&mut child, place));
    let came = came.inspect_err(|_| _ = fs::remove_file(&log));
    let texts = [&out, &log].map(|path| fs::read_to_string(path).unwrap_or_default());
    let _ = fs::remove_file(&out);
    match came? {
        Ok(state) => {
            // What it says from now on has the name that `down` takes away.
            let _ = fs::rename(&log, place.file("log"));
            super::hand::show_state(&state, args.json);
            Ok(Status::Pass)
        }
        Err(status) => {
            let _ = fs::remove_file(&log);
            // It has told why, in three lines, to where we had it say so.
            say_as_is!("{}", texts[0]);
            let _ = write!(std::io::stderr(), "{}", texts[1]);
            Ok(status)
        }
    }
}

/// The state of its cluster, or the status with which the front ended.
fn came_up(child: &mut Child, place: &Place) -> Result<Result<State, Status>, Error> {
    let front = child.id();
    loop {
        let ended = child
            .try_wait()
            .map_err(|e| Error::internal("waiting for the front", e, "`ackall ps` shows whether it is up"))?;
        if let Some(ended) = ended {
            let code = ended.code().and_then(|code| u8::try_from(code).ok());
            let status = code.and_then(Status::from_code).unwrap_or(Status::Internal);
            // It can end well only by being ended.
            return Ok(Err(if status == Status::Pass {
                Status::Terminated
            } else {
                status
            }));
        }
        let asked = place.call().ok().and_then(|call| {
            call.send(&Ask::State).ok()?;
            call.receive::<Told>().ok()?
        });
        match asked {
            // Another front's would be of a cluster that was up before.
            Some((Told::State(state), _)) if state.front == front => return Ok(Ok(state)),
            _ => std::thread::sleep(LOOK),
        }
    }
}
