//! A register: read, write, compare-and-set.

use crate::linear::{AsRegister, Model};

/// A register of numbered values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// The value it begins with.
    pub initial: u32,
}

/// What was done to a register, and what it answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterOp {
    /// It was read, and held this.
    Read(u32),
    /// This was written.
    Write(u32),
    /// It held the first, and was set to the second.
    Cas(u32, u32),
    /// A compare-and-set failed: it held something else than this.
    Differs(u32),
}

impl Model for Register {
    type Op = RegisterOp;
    type State = u32;

    fn initial(&self) -> u32 {
        self.initial
    }

    fn step(&self, state: &u32, op: &RegisterOp) -> Option<u32> {
        match *op {
            RegisterOp::Read(value) => (value == *state).then_some(value),
            RegisterOp::Write(value) => Some(value),
            RegisterOp::Cas(old, new) => (old == *state).then_some(new),
            RegisterOp::Differs(value) => (value != *state).then_some(*state),
        }
    }

    fn reads_only(&self, op: &RegisterOp) -> bool {
        match op {
            RegisterOp::Read(_) | RegisterOp::Differs(_) => true,
            RegisterOp::Cas(old, new) => old == new,
            RegisterOp::Write(_) => false,
        }
    }

    fn as_register(&self) -> Option<AsRegister<RegisterOp>> {
        Some(AsRegister {
            register: *self,
            op: |op| *op,
        })
    }
}
