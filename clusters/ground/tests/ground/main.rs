//! The ground, for real: this executable is front, keeper, wire, disk, init, harness and the nodes' program.
//!
//! Needs namespaces, /dev/fuse and /dev/net/tun; where the machine lacks them it says so and fails. As root it runs
//! everything twice: as root, and as an ordinary user.
#![allow(unsafe_code)] // Raw frames and mappings have no safe form.

#[cfg(target_os = "linux")]
mod app;
#[cfg(target_os = "linux")]
mod client;
#[cfg(target_os = "linux")]
mod front;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod links;
#[cfg(target_os = "linux")]
mod pairs;
#[cfg(target_os = "linux")]
mod power;
#[cfg(target_os = "linux")]
mod raw;
#[cfg(target_os = "linux")]
mod real;
#[cfg(target_os = "linux")]
mod scenarios;
#[cfg(target_os = "linux")]
mod silence;

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
        ["__front", run_dir, scenario] => front::main(run_dir, scenario),
        ["__front_as_user", run_dir, scenario] => front::as_user(run_dir, scenario, 0o666),
        ["__front_with_closed_devices", run_dir, scenario] => front::as_user(run_dir, scenario, 0o600),
        ["__front_without_namespaces", run_dir] => front::without_namespaces(run_dir),
        ["__front_without_mkfs", run_dir] => front::without_mkfs(run_dir),
        _ => host::main(&args),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    assert!(ground::dispatch().is_none());
    let launch = ground::Launch {
        run_dir: "/".into(),
        harness_args: vec![],
        owner: None,
    };
    assert!(ground::launch(launch).is_err_and(|error| error.0.machine));
}
