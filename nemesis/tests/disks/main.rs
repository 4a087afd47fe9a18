//! Every fault of disks, on the real ground, with a program that keeps its disk busy and tells what it met: put in, seen
//! by the disk and by the program, overlapping, healed.
//!
//! This executable is front, keeper, wire, disk, init, harness and the nodes' program. Needs namespaces, /dev/fuse and
//! /dev/net/tun; where the machine lacks them it says so and fails.

#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
#[path = "../support/launch.rs"]
mod launch;
#[cfg(target_os = "linux")]
mod night;
#[cfg(target_os = "linux")]
mod scribe;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    if let Some(code) = ground::dispatch() {
        return code;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["__scribe", disk] => scribe::main(disk.as_ref()),
        ["__format", disk] => scribe::format(disk.as_ref()),
        ["__harness", folder] => faults::run(folder.as_ref()),
        _ if args.contains(&"--list") => ExitCode::SUCCESS,
        _ => ExitCode::from(u8::from(!launch::is_well("disks", &[]))),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
