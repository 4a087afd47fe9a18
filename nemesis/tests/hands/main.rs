//! Every fault that the cluster does with its own hands, on the real ground, with nodes of the reference cluster: put in, seen
//! by a client of the test's own, and healed.
//!
//! This executable is front, keeper, wire, disk, init, harness and the nodes' program. Needs namespaces, /dev/fuse and
//! /dev/net/tun; where the machine lacks them it says so and fails.

#[cfg(target_os = "linux")]
mod changes;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod guests;
#[cfg(target_os = "linux")]
#[path = "../support/launch.rs"]
mod launch;
#[cfg(target_os = "linux")]
mod power;
#[cfg(target_os = "linux")]
mod voters;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    if let Some(code) = ground::dispatch() {
        return code;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["node", ..] => reference::main(),
        ["__harness", night, folder] => faults::run(night, folder.as_ref()),
        _ if args.contains(&"--list") => ExitCode::SUCCESS,
        _ => host(args.iter().find(|arg| !arg.starts_with('-')).copied()),
    }
}

/// Each night in a run of its own; only the one that is named, where one is.
#[cfg(target_os = "linux")]
fn host(named: Option<&str>) -> std::process::ExitCode {
    let mut failed = false;
    for night in faults::NIGHTS {
        if named.is_none_or(|named| night.contains(named)) {
            failed |= !launch::is_well(&format!("hands-{night}"), &[night]);
        }
    }
    std::process::ExitCode::from(u8::from(failed))
}

#[cfg(not(target_os = "linux"))]
fn main() {}
