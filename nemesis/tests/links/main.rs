//! Every fault of links, on the real ground: a cluster of four nodes that talk to each other all the time, into which
//! each fault is put, measured, and from which it is healed.
//!
//! This executable is front, keeper, wire, disk, init, harness and the nodes' program. Needs namespaces, /dev/fuse and
//! /dev/net/tun; where the machine lacks them it says so and fails.

#[cfg(target_os = "linux")]
mod chatter;
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
        ["__harness", folder] => faults::run(folder.as_ref()),
        ["__chatter", peers, own] => chatter::main(peers, own),
        _ if args.contains(&"--list") => ExitCode::SUCCESS,
        _ => ExitCode::from(u8::from(!launch::is_well("links", &[]))),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
