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
mod power;

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
        _ => host(),
    }
}

/// Makes a run's folder, launches, and takes the folder away again.
#[cfg(target_os = "linux")]
fn host() -> std::process::ExitCode {
    let folder = std::env::temp_dir().join(format!("nemesis-hands-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let ended = ground::launch(ground::Launch {
        run_dir: folder.clone(),
        harness_args: vec![folder.to_string_lossy().into_owned()],
        owner: None,
    });
    std::fs::remove_dir_all(&folder).unwrap();
    println!("{ended:?}");
    std::process::ExitCode::from(u8::from(ended != Ok(ground::Ended::Exited(0))))
}

#[cfg(not(target_os = "linux"))]
fn main() {}
