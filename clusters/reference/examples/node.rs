//! A node by itself, without the harness: `cargo run -p reference --example node -- node start --config FILE`.

use std::process::ExitCode;

fn main() -> ExitCode {
    reference::main()
}
