//! However a run ends, nothing of it is left: each part killed, interrupts, a closed terminal, two runs at once.
//! The campaign kills each part twenty times, these tests twice.
#![cfg(target_os = "linux")]

mod support;

use nix::sys::signal::Signal;
use serde_json::json;
use std::fs;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::deaths::{Moment, VICTIMS, Victim, await_acks, kill};
use support::machine::{Machine, Trace, processes, signal};
use support::{Folder, Run, Started, ackall, clean, executable, ground, skipped, start};

/// Load and no fault, for longer than any of these tests lets it run.
const LONG: [&str; 5] = ["calm", "--time", "40s", "--seed", "1"];

#[test]
fn whichever_part_is_killed_the_rest_is_gone_within_a_second() {
    let _ground = ground();
    let folder = Folder::new("deaths");
    let second = [
        Moment::Fault(2),
        Moment::Final(Duration::from_millis(5)),
        Moment::Fault(6),
        Moment::Any(Duration::from_secs(3)),
        Moment::Fault(3),
    ];
    for (n, (victim, second)) in VICTIMS.into_iter().zip(second).enumerate() {
        let first = Moment::Start(Duration::from_millis(35 * n as u64));
        for (m, moment) in [first, second].into_iter().enumerate() {
            let name = format!("kill-{n}-{m}");
            let death = kill(&folder.0, &name, victim, moment, Signal::SIGKILL);
            let death = death.unwrap_or_else(|why| panic!("{victim:?} killed at {moment:?}: {why}"));
            assert!(
                !death.run.dir.join("result.json").exists(),
                "a run that was cut short has no result"
            );
            if victim == Victim::Harness {
                what_was_recorded_can_be_judged(&death.run);
            }
        }
    }
}

/// After SIGKILL of the harness its history is there to the last entry; where it had none yet, that is said.
fn what_was_recorded_can_be_judged(run: &Run) {
    let output = ackall()
        .args(["analyze", "--json"])
        .arg(&run.dir)
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(2) => {
            let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(result["verdict"], "unknown");
            assert!(!result["reasons"].as_array().unwrap().is_empty(), "{result}");
        }
        Some(64 | 65) => assert!(err.contains("history") || err.contains("no run"), "{err}"),
        other => panic!("analyze ended with {other:?}: {err}"),
    }
}

#[test]
fn a_harness_that_aborts_is_told_of_and_leaves_nothing() {
    let _ground = ground();
    let folder = Folder::new("abort");
    let moment = Moment::Any(Duration::from_secs(2));
    let death = kill(&folder.0, "abort", Victim::Harness, moment, Signal::SIGABRT).unwrap();
    assert!(
        death.run.err.contains("the harness was killed by signal 6"),
        "{}",
        death.run.said()
    );
    assert_eq!(death.run.err.lines().rev().take(3).count(), 3);
    what_was_recorded_can_be_judged(&death.run);
}

/// A run under load, and what it holds.
fn under_load(folder: &Folder, name: &str, args: &[&str]) -> (Started, Trace) {
    let mut run = start(&folder.0, name, args);
    await_acks(&mut run).unwrap();
    let trace = Trace::of(&run.mark);
    (run, trace)
}

/// Waits for the end after an interrupt; the exit status and the verdict must fit, and nothing may be left.
fn interrupted(folder: &Folder, run: Started, trace: &Trace, before: &Machine, code: i32) -> Run {
    let run = run.wait();
    assert_eq!(run.code(), code, "{}", run.said());
    trace.gone(Instant::now()).unwrap();
    assert_eq!(before.left(&folder.0), [""; 0]);
    let result = run.result();
    assert_eq!(result["verdict"], "unknown", "{result}");
    let interrupted = result["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .any(|reason| reason["code"] == "interrupted");
    assert!(interrupted, "{}", result["reasons"]);
    run
}

#[test]
fn signals_end_a_run_with_a_verdict_and_leave_nothing() {
    let _ground = ground();
    let folder = Folder::new("signals");
    for (with, code) in [
        (Signal::SIGINT, 130),
        (Signal::SIGTERM, 143),
        (Signal::SIGHUP, 143),
    ] {
        let before = Machine::now();
        let (run, trace) = under_load(&folder, with.as_str(), &LONG);
        signal(run.front(), with);
        interrupted(&folder, run, &trace, &before, code);
    }
}

#[test]
fn a_second_interrupt_ends_a_run_at_once() {
    let _ground = ground();
    let folder = Folder::new("twice");
    let before = Machine::now();
    let (run, trace) = under_load(&folder, "run", &LONG);
    // The harness would end by itself, and has stopped: only the second signal can end the run before its grace.
    let harness = processes(&run.mark)
        .into_iter()
        .find(|process| process.role() == "__harness")
        .unwrap();
    signal(harness.pid, Signal::SIGSTOP);
    signal(run.front(), Signal::SIGINT);
    std::thread::sleep(Duration::from_millis(300));
    assert!(
        processes(&run.mark).len() > 10,
        "the first signal waits for the harness"
    );
    let second = Instant::now();
    signal(run.front(), Signal::SIGINT);
    let run = run.wait();
    trace.gone(second).unwrap();
    assert_eq!(run.code(), 130, "{}", run.said());
    assert_eq!(before.left(&folder.0), [""; 0]);
}

/// A terminal of its own for a run, which is its session's leader as a shell's foreground job would be.
struct Terminal {
    master: std::os::fd::OwnedFd,
    run: Started,
    trace: Trace,
}

fn in_a_terminal(folder: &Folder, name: &str) -> Option<Terminal> {
    if Command::new("setsid")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        skipped("terminal", "setsid, of util-linux, is not installed");
        return None;
    }
    let pty = nix::pty::openpty(None, None).unwrap();
    for end in [&pty.master, &pty.slave] {
        let close = nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC);
        nix::fcntl::fcntl(end.as_fd(), close).unwrap();
    }
    let mut command = clean(Command::new("setsid"));
    command
        .arg("--ctty")
        .arg(executable())
        .arg("run")
        .args(LONG)
        .arg("--run-dir")
        .arg(folder.0.join(name));
    let mut run = support::spawn_on(command, &folder.0, name, Stdio::from(pty.slave));
    await_acks(&mut run).unwrap();
    let trace = Trace::of(&run.mark);
    Some(Terminal {
        master: pty.master,
        run,
        trace,
    })
}

#[test]
fn ctrl_c_in_a_terminal_ends_a_run() {
    let _ground = ground();
    let folder = Folder::new("ctrl-c");
    let before = Machine::now();
    let Some(Terminal { master, run, trace }) = in_a_terminal(&folder, "run") else {
        return;
    };
    nix::unistd::write(&master, b"\x03").unwrap();
    interrupted(&folder, run, &trace, &before, 130);
}

#[test]
fn a_closed_terminal_ends_a_run() {
    let _ground = ground();
    let folder = Folder::new("closed");
    let before = Machine::now();
    let Some(Terminal { master, run, trace }) = in_a_terminal(&folder, "run") else {
        return;
    };
    drop(master);
    interrupted(&folder, run, &trace, &before, 143);
}

#[test]
fn two_runs_at_once_do_not_disturb_each_other_and_share_no_folder() {
    let _ground = ground();
    let folder = Folder::new("two");
    let before = Machine::now();
    let out = folder.0.join("runs");
    let begin = |name: &str| {
        let mut command = ackall();
        // Not through --run-dir: both make their folder below the same one, perhaps in the same second.
        command
            .args(["calm", "--time", "2s", "--seed", "7", "--out"])
            .arg(&out);
        support::spawn(command, &folder.0, name)
    };
    let both = [begin("a"), begin("b")];
    let runs = both.map(|run| {
        let run = run.wait();
        assert_eq!(run.code(), 0, "{}", run.said());
        run
    });
    assert_eq!(before.left(&folder.0), [""; 0]);
    let mut made: Vec<String> = fs::read_dir(out.join("calm"))
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    made.sort();
    assert_eq!(made.len(), 2, "{made:?}");
    for name in &made {
        let (stamp, rest) = name.split_once("Z-").unwrap();
        assert!(stamp.len() == 15 && stamp.as_bytes()[8] == b'T', "{name}");
        assert!(rest == "7" || rest == "7-2", "{name}");
    }
    for link in ["latest", "calm/latest"] {
        let target = fs::read_link(out.join(link)).unwrap();
        assert!(target.is_relative(), "{}", target.display());
        assert!(
            made.contains(&target.file_name().unwrap().to_string_lossy().into_owned()),
            "{}",
            target.display()
        );
    }
    assert!(!out.join("latest-fail").exists(), "both passed");
    let odd: Vec<_> = fs::read_dir(&out)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(odd.len(), 2, "{odd:?}");
    for (run, other) in [(&runs[0], &runs[1]), (&runs[1], &runs[0])] {
        assert_ne!(run.out, other.out, "each tells of its own folder");
    }
    // Names that find one of them, and names that do not.
    for (name, code) in [
        ("latest", 0),
        (made[1].as_str(), 0),
        ("20", 64),
        ("latest-fail", 64),
        ("nothing", 64),
    ] {
        let output = ackall()
            .args(["analyze", name, "--json", "--out"])
            .arg(&out)
            .output()
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        if code != 0 {
            let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(said["error"]["code"], json!(code), "{said}");
        }
    }
}
