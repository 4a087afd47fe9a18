//! `ackall node ...` is a node of the reference cluster; all else is the harness.
//!
//! The harness starts nodes as processes and reaches them by their protocol, their signals, links and
//! disks alone. This file is the only place where both are named.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("node") {
        reference::main()
    } else {
        harness::main()
    }
}
