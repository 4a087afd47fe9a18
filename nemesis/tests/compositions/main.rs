//! The faults of processes and resources, each on the real ground: that it takes, and that it heals; and random
//! compositions of all faults in a row. `campaign compositions` makes five hundred.
//!
//! This executable is front, keeper, wire, disk, init, harness and the nodes' program. Needs namespaces, /dev/fuse and
//! /dev/net/tun; where the machine lacks them it says so and fails.

#[cfg(target_os = "linux")]
#[path = "mod.rs"]
mod compositions;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    /// Enough that every fault is in some composition.
    const ROUNDS: usize = 12;
    if let Some(code) = ground::dispatch().or_else(compositions::dispatch) {
        return code;
    }
    if std::env::args().any(|arg| arg == "--list") {
        return ExitCode::SUCCESS;
    }
    let folder = std::env::temp_dir().join(format!("nemesis-compositions-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let ended = compositions::run(&folder, 1, ROUNDS, true);
    std::fs::remove_dir_all(&folder).unwrap();
    println!("{ended:?}");
    ExitCode::from(u8::from(ended.is_err()))
}

#[cfg(not(target_os = "linux"))]
fn main() {}
