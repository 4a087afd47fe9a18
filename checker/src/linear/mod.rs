//! Linearizability (Herlihy and Wing, 1990): is there one order of the operations that real time and the object
//! allow?
//!
//! What anyone can use: [`Model`], [`Operation`] and [`check_operations`], for objects of one's own.
//!
//! ```
//! use checker::Budget;
//! use checker::linear::{Answer, Operation, Register, RegisterOp, check_operations};
//!
//! let register = Register { initial: 0 };
//! // Two writes at once, and a read after both: either may have been the last.
//! let mut history = vec![
//!     Operation::completed(RegisterOp::Write(1), 0, 10)?,
//!     Operation::completed(RegisterOp::Write(2), 5, 15)?,
//!     Operation::completed(RegisterOp::Read(1), 20, 25)?,
//! ];
//! assert_eq!(check_operations(&register, &history, &Budget::unlimited()), Answer::Linearizable);
//!
//! // But not both, one after the other.
//! history.push(Operation::completed(RegisterOp::Read(2), 30, 35)?);
//! let Answer::NotLinearizable(stuck) = check_operations(&register, &history, &Budget::unlimited()) else {
//!     panic!("it was read 1, then 2, and nothing was written in between");
//! };
//! assert_eq!(stuck.at, 3);
//! assert_eq!(stuck.linearized, [1, 0, 2]);
//! # Ok::<(), checker::linear::Backwards>(())
//! ```

mod crashed;
mod decide;
#[cfg(test)]
mod engines;
mod limits;
mod mask;
mod minimal;
mod model;
mod models;
mod objects;
mod operations;
mod picture;
mod race;
mod register;
mod report;
mod search;
mod timeline;
mod words;

pub use model::{AsRegister, Model};
pub use models::register::{Register, RegisterOp};
pub use operations::{Backwards, Operation};

use crate::{Budget, JudgeError, Judgement, ModelName, Operations, Options, Outcome, Spent};
use decide::Until;
use history::{Op, ReadError};
use model::Recorded;
use models::recorded_register::RecordedRegister;
use objects::Object;

/// Whether a history is linearizable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is an order of all its operations.
    Linearizable,
    /// There is none.
    NotLinearizable(Stuck),
    /// Not decided within a limit.
    Unknown(Spent),
}

/// How far a history can be ordered: the first operations to complete can, but not with the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// An order of all operations that completed before, and of open ones that it needs.
    pub linearized: Vec<usize>,
    /// The operation that cannot be placed: no order of what completed before it takes it in.
    pub at: usize,
}

/// Whether the history of one object is linearizable, within a budget.
pub fn check_operations<M: Model>(model: &M, operations: &[Operation<M::Op>], budget: &Budget) -> Answer {
    decide::explain(operations, model, budget)
}

/// Whether the history of one object is linearizable: the verdict alone, which takes less than an explanation.
///
/// # Errors
/// Where a limit was reached first.
pub fn is_linearizable<M: Model>(
    model: &M,
    operations: &[Operation<M::Op>],
    budget: &Budget,
) -> Result<bool, Spent> {
    match decide::decide(operations, model, budget) {
        decide::Decision::Linearizable => Ok(true),
        decide::Decision::Stuck(_) => Ok(false),
        decide::Decision::Unknown(why) => Err(why.spent(budget)),
    }
}

/// Judges a history.
pub(crate) fn judge(
    model: ModelName,
    options: &Options,
    budget: &Budget,
    history: impl Iterator<Item = Result<Op, ReadError>>,
) -> Result<Judgement, JudgeError> {
    read(model, options, history).map(|recording| recording.judge(budget))
}

/// A recorded history, read and ready to be judged.
pub struct Recording(Box<dyn Judged>);

impl Recording {
    /// Its operations by outcome.
    pub fn operations(&self) -> Operations {
        self.0.operations()
    }

    /// The verdict alone, without counterexamples.
    pub fn verdict(&self, budget: &Budget) -> Outcome {
        self.0.verdict(budget)
    }

    /// The judgement, with a counterexample of each object that fails.
    pub fn judge(&self, budget: &Budget) -> Judgement {
        self.0.judge(budget)
    }
}

/// Reads a recorded history as a model.
///
/// # Errors
/// Where the history cannot be read, an entry of it does not fit the model, or the model is not judged by
/// linearizability.
pub fn read(
    model: ModelName,
    options: &Options,
    history: impl Iterator<Item = Result<Op, ReadError>>,
) -> Result<Recording, JudgeError> {
    use models::{counter, key_value, log, multi_register, mutex, queue, set};
    let initial = options.initial.as_ref();
    // What was asked for is no entry's fault: it is told as the first's.
    let unfit = |why| JudgeError::Entry { index: 0, why };
    match model {
        ModelName::Register => read_as(RecordedRegister::new(options, false), history),
        ModelName::CasRegister => read_as(RecordedRegister::new(options, true), history),
        ModelName::MultiRegister => read_as(multi_register::MultiRegister::new(initial), history),
        ModelName::Mutex => read_as(mutex::Mutex, history),
        ModelName::Set => read_as(set::Set::new(initial).map_err(unfit)?, history),
        ModelName::Queue => read_as(queue::Queue::new(initial).map_err(unfit)?, history),
        ModelName::Counter => read_as(counter::Counter::new(initial).map_err(unfit)?, history),
        ModelName::Log => read_as(log::Log::default(), history),
        ModelName::KeyValue => read_as(key_value::KeyValue::new(initial).map_err(unfit)?, history),
        other => Err(unfit(format!(
            "{} is not judged by linearizability",
            other.text()
        ))),
    }
}

/// The objects of a recorded history, with their model.
struct Read<M: Recorded> {
    model: M,
    objects: Vec<Object<M::Op>>,
    operations: Operations,
}

trait Judged {
    fn operations(&self) -> Operations;
    fn verdict(&self, budget: &Budget) -> Outcome;
    fn judge(&self, budget: &Budget) -> Judgement;
}

impl<M: Recorded> Judged for Read<M> {
    fn operations(&self) -> Operations {
        self.operations
    }

    fn verdict(&self, budget: &Budget) -> Outcome {
        report::verdict(&report::decisions(
            &self.model,
            &self.objects,
            Until::Failure,
            budget,
        ))
    }

    fn judge(&self, budget: &Budget) -> Judgement {
        report::report(&self.model, &self.objects, self.operations, budget)
    }
}

fn read_as<M: Recorded + 'static>(
    mut model: M,
    history: impl Iterator<Item = Result<Op, ReadError>>,
) -> Result<Recording, JudgeError> {
    let (mut objects, operations) = objects::read(&mut model, history)?;
    for object in &mut objects {
        object.keep(|op| model.counts(op));
    }
    Ok(Recording(Box::new(Read {
        model,
        objects,
        operations,
    })))
}
