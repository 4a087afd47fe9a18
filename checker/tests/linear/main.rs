//! Linearizability: the searches against its definition, and small histories whose verdicts are plain.

mod draw;
mod fuzz;
mod histories;
mod literal;
