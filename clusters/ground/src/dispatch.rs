//! Which role this process is.

use std::process::ExitCode;

use crate::{disk_process, doctor, forward, init, keeper, sys, wire};

/// Runs the role that the first argument names, and gives its exit status: `__keeper`, `__wire`,
/// `__disk`, `__init`, `__forward` or `__probe`. None where it is something else. Call it first thing in `main`.
pub fn dispatch() -> Option<ExitCode> {
    let role = std::env::args_os().nth(1)?;
    let (name, main): (&str, fn() -> ExitCode) = match role.to_str()? {
        "__keeper" => ("ackall-keeper", keeper::main),
        "__wire" => ("ackall-wire", wire::main),
        "__disk" => ("ackall-disk", disk),
        "__init" => ("ackall-init", init::main),
        "__forward" => ("ackall-forward", forward::main),
        "__probe" => ("ackall-probe", doctor::stage::main),
        _ => return None,
    };
    // After an exec of /proc/self/exe it would be "exe".
    sys::set_name(name);
    Some(main())
}

fn disk() -> ExitCode {
    sys::big_buffers_by_mmap();
    disk_process::main()
}
