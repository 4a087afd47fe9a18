//! A lock: `acquire` where it is free, `release` where it is held. It does not ask by whom: a client that crashed may
//! be released by another.
//!
//! An acquire or a release that failed did not happen, and says nothing. One without an answer may have happened.

use crate::linear::Model;
use crate::linear::model::{Completion, Decoded, Recorded};
use history::Value;

/// A lock; free at first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mutex;

/// What was done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MutexOp {
    /// It was free, and is held.
    Acquire,
    /// It was held, and is free.
    Release,
}

impl Model for Mutex {
    type Op = MutexOp;
    /// Whether it is held.
    type State = bool;

    fn initial(&self) -> bool {
        false
    }

    fn step(&self, held: &bool, op: &MutexOp) -> Option<bool> {
        match op {
            MutexOp::Acquire => (!held).then_some(true),
            MutexOp::Release => held.then_some(false),
        }
    }
}

impl Recorded for Mutex {
    fn decode(
        &mut self,
        f: &str,
        _invoked: &Value,
        completion: Completion<'_>,
    ) -> Result<Decoded<MutexOp>, String> {
        let op = match f {
            "acquire" => MutexOp::Acquire,
            "release" => MutexOp::Release,
            _ => return Err(format!("expected acquire or release, found {f:?}")),
        };
        Ok(match completion {
            Completion::Fail => Decoded::Skip,
            Completion::Ok(_) | Completion::Unknown => Decoded::One(op),
        })
    }

    fn words(&self, op: &MutexOp) -> String {
        match op {
            MutexOp::Acquire => "acquire".into(),
            MutexOp::Release => "release".into(),
        }
    }
}
