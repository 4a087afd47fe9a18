//! The conductor and the command line.
use std::process::ExitCode;
/// The harness's entry point.
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
