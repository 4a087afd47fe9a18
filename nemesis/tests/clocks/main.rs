//! Every fault of clocks, on the real ground, with nodes of the reference cluster: put in, measured in the node's
//! process, overlapping, healed; and the node goes on serving.
//!
//! This executable is front, keeper, wire, disk, init, harness and the nodes' program. Needs namespaces, /dev/fuse and
//! /dev/net/tun; where the machine lacks them it says so and fails.

#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
#[path = "../support/launch.rs"]
mod launch;

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
        ["__harness", folder] => faults::run(folder.as_ref()),
        _ if args.contains(&"--list") => ExitCode::SUCCESS,
        _ => ExitCode::from(u8::from(!launch::is_well("clocks", &[]))),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
