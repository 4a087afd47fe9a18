//! Transactional isolation of list-append and rw-register histories (Adya; Elle).

#[allow(dead_code, reason = "inference comes next")]
pub(crate) mod anomaly;
#[allow(dead_code, reason = "inference comes next")]
pub(crate) mod cycle;
#[allow(dead_code, reason = "inference comes next")]
pub(crate) mod fan;
#[allow(dead_code, reason = "inference comes next")]
pub(crate) mod graph;
#[allow(dead_code, reason = "inference comes next")]
pub(crate) mod kinds;
pub(crate) mod picture;
#[allow(dead_code, reason = "inference comes next")]
pub(crate) mod realtime;
#[allow(dead_code, reason = "inference comes next")]
pub(crate) mod scc;
#[allow(dead_code, reason = "inference comes next")]
pub(crate) mod search;

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
