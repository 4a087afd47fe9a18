//! Clock faults on the real ground: what programs of several kinds are shown, that it is measured in them, that waits
//! end when they should, and that what the shim does not reach is said.
//!
//! This executable is front, keeper, wire, disk, init, harness and one of the nodes' programs. Needs what the ground
//! needs; programs that are not installed are skipped, in words.

// The program under test calls the C library the way C programs do.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod app;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(target_os = "linux")]
mod scenarios;
#[cfg(target_os = "linux")]
mod waits;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    if let Some(code) = ground::dispatch() {
        return code;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["__harness", scenario] => scenarios::run(scenario),
        ["__app"] => app::main(),
        ["__front", run_dir, scenario] => front(run_dir, scenario),
        _ => host(&args),
    }
}

#[cfg(target_os = "linux")]
fn front(run_dir: &str, scenario: &str) -> std::process::ExitCode {
    let launched = ground::launch(ground::Launch {
        run_dir: run_dir.into(),
        harness_args: vec![scenario.into()],
        owner: None,
    });
    match launched {
        Ok(ground::Ended::Exited(0)) => std::process::ExitCode::SUCCESS,
        other => {
            eprintln!("{other:?}");
            std::process::ExitCode::FAILURE
        }
    }
}

/// Each scenario on a ground of its own.
#[cfg(target_os = "linux")]
fn host(args: &[&str]) -> std::process::ExitCode {
    let mut failed = false;
    let wanted = args
        .iter()
        .find(|arg| !arg.starts_with('-'))
        .copied()
        .unwrap_or("");
    let scenarios = scenarios::ALL.iter().filter(|name| name.contains(wanted));
    for name in scenarios.filter(|_| !args.contains(&"--list")) {
        let folder = std::env::temp_dir().join(format!("clock-test-{}-{name}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let began = std::time::Instant::now();
        let front = std::process::Command::new("/proc/self/exe")
            .args(["__front", folder.to_str().unwrap(), name])
            .env("CLOCK_TEST_DIR", &folder)
            .status()
            .unwrap();
        let word = if front.success() { "ok" } else { "FAILED" };
        println!("test {name} ... {word}, {:.1?}", began.elapsed());
        failed |= !front.success();
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::process::ExitCode::from(u8::from(failed))
}

#[cfg(not(target_os = "linux"))]
fn main() {
    assert!(ground::dispatch().is_none());
}
