//! Linearizability, literally: try every order.

pub mod hard;
pub mod make;
pub mod mutate;
pub mod object;
pub mod order;

pub use make::make;
pub use mutate::mutate;
pub use order::{linearizable, possible};

use checker::ModelName;
use history::Op;

/// The models that are judged so.
pub const MODELS: [ModelName; 9] = [
    ModelName::Register,
    ModelName::CasRegister,
    ModelName::MultiRegister,
    ModelName::Mutex,
    ModelName::Set,
    ModelName::Queue,
    ModelName::Counter,
    ModelName::Log,
    ModelName::KeyValue,
];

/// A history to read: an entry a line.
pub fn print(history: &[Op]) -> String {
    let line = |op: &Op| {
        format!(
            "{} t{} {:?} {:?} {} {}",
            op.index, op.time, op.process, op.kind, op.body.f, op.body.value
        )
    };
    history.iter().map(line).collect::<Vec<_>>().join("\n")
}
