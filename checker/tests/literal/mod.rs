//! Literal, slow checkers, and makers of small histories: shared by the tests and by the example `fuzz`.
//!
//! Each is a few dozen lines that can be seen to be right. None shares a line with the checker that it is held against.

pub mod invariants;
pub mod kafka;
pub mod linear;
pub mod random;
pub mod sessions;
pub mod txn;
