//! Linearizability (Herlihy and Wing): is there one order of the operations that real time and the object allow?

use crate::{Budget, JudgeError, Judgement, ModelName, Options};
use history::{Op, ReadError};

/// Judges a history.
pub(crate) fn judge(
    model: ModelName,
    options: &Options,
    budget: &Budget,
    history: impl Iterator<Item = Result<Op, ReadError>>,
) -> Result<Judgement, JudgeError> {
    let _ = (model, options, budget, history.count());
    Err(JudgeError::Entry {
        index: 0,
        why: "this model is not judged yet".into(),
    })
}
