//! Programs of several kinds: those that the shim reaches, and one that it does not.

use std::process::{Command, Stdio};

use crate::scenarios::{Bench, EXACT, SECOND, assert_near, step};

const OFFSET: i64 = -250 * SECOND;

/// Prints its wall clock in milliseconds every few milliseconds, and waits in between in more than one way.
const JAVA: &str = "
public class Clock {
    public static void main(String[] args) throws Exception {
        Object lock = new Object();
        while (true) {
            System.out.println(System.currentTimeMillis() + \" \" + System.nanoTime());
            Thread.sleep(5);
            synchronized (lock) { lock.wait(5); }
            java.util.concurrent.locks.LockSupport.parkNanos(5000000);
        }
    }
}";
const PYTHON: &str = "
import threading, time
while True:
    print(int(time.time() * 1000), flush=True)
    threading.Event().wait(0.005)
";
const NODE: &str = "setInterval(() => console.log(Date.now()), 5)";
const STATIC: &str = "fn main() { loop { std::thread::sleep(std::time::Duration::from_millis(5)); } }";

pub fn check(bench: &Bench) {
    let java = bench.run_dir.join("Clock.java");
    std::fs::write(&java, JAVA).unwrap();
    let java = java.to_str().unwrap();
    for (id, name, argv) in [
        (
            1,
            "java",
            &["java", "-Xmx64m", "-XX:TieredStopAtLevel=1", java][..],
        ),
        (2, "python3", &["python3", "-c", PYTHON]),
        (3, "node", &["node", "-e", NODE]),
    ] {
        if installed(name) {
            reached(bench, id, name, argv);
        }
    }
    not_reached(bench, 5);
}

fn installed(name: &str) -> bool {
    let version = Command::new(name)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let there = version.is_ok_and(|status| status.success());
    if !there {
        println!("SKIPPED: {name} is not installed");
    }
    there
}

/// Each process of the program says that it is shown what was asked, and what it prints says so too.
fn reached(bench: &Bench, id: i32, name: &str, argv: &[&str]) {
    bench.power(id);
    bench.start(id, argv);
    bench.until(id, |seen| {
        (!seen.processes.is_empty() && printed(bench, id).is_some()).then_some(())
    });
    let at = bench.ground.set_clock(id, 1, step(OFFSET)).unwrap();
    let measured = bench.until(id, |seen| {
        assert_eq!(seen.without, [], "{name}");
        seen.processes.iter().find(|process| process.at_ns > at).cloned()
    });
    assert_near(measured.wall_offset_ns, OFFSET, EXACT + measured.window_ns);
    // What it prints goes back by as much.
    let true_ms = || std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64;
    let off = bench.until(id, |_| {
        printed(bench, id)
            .map(|shown| shown - true_ms())
            .filter(|off| *off < -100_000)
    });
    assert_near(off, OFFSET / 1_000_000, 3_000);
    let at = bench.ground.clear_clock(id, 1).unwrap();
    let healed = bench.until(id, |seen| {
        seen.processes.iter().find(|process| process.at_ns > at).cloned()
    });
    assert_near(healed.wall_offset_ns, 0, EXACT + healed.window_ns);
    println!(
        "{name} ({}): {} ns off what was asked, within a window of {} ns",
        measured.name,
        measured.wall_offset_ns - OFFSET,
        measured.window_ns
    );
    bench
        .ground
        .power_off(&[id], 2, ground::Policy::default())
        .unwrap();
}

/// The last time that the program has printed, in milliseconds: of a line that is whole.
fn printed(bench: &Bench, id: i32) -> Option<i64> {
    let log = bench.log(id);
    let (lines, _) = log.rsplit_once('\n')?;
    let number: i64 = lines.lines().last()?.split(' ').next()?.parse().ok()?;
    // Some programs print microseconds.
    Some(if number > 100_000_000_000_000 {
        number / 1000
    } else {
        number
    })
}

/// A static program is known as such.
fn not_reached(bench: &Bench, id: i32) {
    if !installed("rustc") {
        return;
    }
    let (source, program) = (bench.run_dir.join("static.rs"), bench.run_dir.join("static"));
    std::fs::write(&source, STATIC).unwrap();
    let made = Command::new("rustc")
        .args(["-C", "target-feature=+crt-static", "-o"])
        .args([&program, &source])
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        println!("SKIPPED: no static program can be linked here");
        return;
    }
    bench.power(id);
    bench.start(id, &[program.to_str().unwrap()]);
    bench.ground.set_clock(id, 1, step(OFFSET)).unwrap();
    let without = bench.until(id, |seen| seen.without.first().cloned());
    assert_eq!(without.name, "static");
    assert!(!without.stopped);
    assert_eq!(bench.ground.clock_seen(id).unwrap().processes, []);
}
