//! The reference cluster: nodes that speak Kafka's protocol.
use std::process::ExitCode;
/// The entry point of `ackall node ...`.
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
