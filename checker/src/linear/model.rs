//! What an object does, one operation at a time: the sequential side of linearizability (Herlihy and Wing, 1990).

use super::models::register::{Register, RegisterOp};
use super::operations::Operation;
use crate::Reason;
use history::Value;
use std::hash::Hash;

/// A sequential object. Operations carry what was asked and what was answered; a step is possible where the object,
/// in that state, would have answered so.
///
/// ```
/// use checker::linear::Model;
///
/// /// A counter that can be raised and read.
/// struct Counter;
///
/// #[derive(Clone, PartialEq, Eq, Hash)]
/// enum Call {
///     Raise,
///     Read(u64),
/// }
///
/// impl Model for Counter {
///     type Op = Call;
///     type State = u64;
///
///     fn initial(&self) -> u64 {
///         0
///     }
///
///     fn step(&self, state: &u64, op: &Call) -> Option<u64> {
///         match op {
///             Call::Raise => Some(state + 1),
///             Call::Read(seen) => (seen == state).then_some(*state),
///         }
///     }
///
///     fn reads_only(&self, op: &Call) -> bool {
///         matches!(op, Call::Read(_))
///     }
/// }
/// ```
pub trait Model: Send + Sync {
    /// An operation with its answer. Equal operations are interchangeable.
    type Op: Clone + Eq + Hash + Send + Sync;
    /// A state.
    type State: Clone + Eq + Hash + Send + Sync;

    /// The first state.
    fn initial(&self) -> Self::State;

    /// The state after an operation; none where the object could not have answered so.
    fn step(&self, state: &Self::State, op: &Self::Op) -> Option<Self::State>;

    /// Whether the operation leaves every state as it is in which it is possible.
    fn reads_only(&self, op: &Self::Op) -> bool {
        let _ = op;
        false
    }

    /// The same object as a register of numbered values, where it is one: registers have faster searches.
    fn as_register(&self) -> Option<AsRegister<Self::Op>> {
        None
    }

    /// About how many bytes a state holds outside of itself: searches count them against the memory they may use.
    fn state_bytes(&self, state: &Self::State) -> u64 {
        let _ = state;
        0
    }

    /// This model as it is fitted to one history, of which it may then tell states apart only as far as some operation
    /// can. Those that completed must all be in an order, others need not. None where it is the same for all.
    fn fitted(&self, operations: &[Operation<Self::Op>]) -> Option<Self>
    where
        Self: Sized,
    {
        let _ = operations;
        None
    }

    /// Whether this model, or what is fitted to a history, refuses states that are lost only because of what comes later:
    /// by [`Model::fitted`], [`Model::refutes`] or [`Model::reaches`].
    fn looks_ahead(&self) -> bool {
        false
    }

    /// Whether it can be told without a search that a history has no order. Asked of what is fitted to it.
    fn refutes(&self, operations: &[Operation<Self::Op>]) -> bool {
        let _ = operations;
        false
    }

    /// How early an operation has to come, where that can be told: of those still to come, the one that this is least
    /// for is asked of [`Model::reaches`].
    fn bound(&self, op: &Self::Op) -> Option<u64> {
        let _ = op;
        None
    }

    /// Whether some operations, none of which resets, may lead from a state to one in which an operation is possible.
    /// True where nobody knows.
    fn reaches(&self, state: &Self::State, op: &Self::Op) -> bool {
        let _ = (state, op);
        true
    }

    /// Whether an operation makes a state that does not depend on the one before, so that [`Model::reaches`] says
    /// nothing across it.
    fn resets(&self, op: &Self::Op) -> bool {
        let _ = op;
        false
    }
}

/// An object as a register.
pub struct AsRegister<Op> {
    /// The register.
    pub register: Register,
    /// What an operation is to it.
    pub op: fn(&Op) -> RegisterOp,
}

/// How a recorded operation ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Completion<'a> {
    /// It happened; the completion's value.
    Ok(&'a Value),
    /// It did not happen.
    Fail,
    /// It may have happened, or may yet.
    Unknown,
}

/// What a recorded operation is to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decoded<Op> {
    /// Nothing: it says nothing about the object.
    Skip,
    /// An operation on the one object that there is.
    One(Op),
    /// An operation on one of many objects of the kind, each judged by itself.
    Keyed(Value, Op),
}

/// A model that reads the operations of recorded histories.
pub(crate) trait Recorded: Model {
    /// What a recorded operation is: its name, the value of its invocation, and how it ended.
    ///
    /// # Errors
    /// Where the operation is none of this model's: what was expected, and what is there.
    fn decode(
        &mut self,
        f: &str,
        invoked: &Value,
        completion: Completion<'_>,
    ) -> Result<Decoded<Self::Op>, String>;

    /// Whether an operation still counts once the whole history was read.
    fn counts(&self, op: &Self::Op) -> bool {
        let _ = op;
        true
    }

    /// What was assumed about the history, where anything was.
    fn assumed(&self) -> Option<Reason> {
        None
    }

    /// The operation in words, as it stands in explanations: `read 3`, `write 4`, `cas 3 to 4`.
    fn words(&self, op: &Self::Op) -> String;
}
