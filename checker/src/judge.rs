//! One door for histories that something else recorded.

use crate::{Budget, Judgement, Level, invariants, linear, log, sessions, txn};
use history::{Op, ReadError, Value};
use std::fmt;

/// What a history is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelName {
    /// A register: read, write.
    Register,
    /// A register with compare-and-set.
    CasRegister,
    /// Several registers, read and written in one step.
    MultiRegister,
    /// A lock.
    Mutex,
    /// A set that reads whole: linearizable.
    Set,
    /// Sets of elements that were added, each judged by itself.
    SetFull,
    /// A first-in first-out queue.
    Queue,
    /// A counter.
    Counter,
    /// An append-only log.
    Log,
    /// Strings under keys: get, put, append.
    KeyValue,
    /// Transactions of appends to lists and reads of them.
    ListAppend,
    /// Transactions of writes and reads of registers.
    RwRegister,
    /// The same, without times: sessions alone.
    RwRegisterSessions,
    /// Transfers between accounts.
    Bank,
    /// Reads of groups of keys that are written once.
    LongFork,
    /// Kafka's logs.
    Kafka,
}

impl ModelName {
    /// All of them.
    pub const ALL: [ModelName; 16] = [
        ModelName::Register,
        ModelName::CasRegister,
        ModelName::MultiRegister,
        ModelName::Mutex,
        ModelName::Set,
        ModelName::SetFull,
        ModelName::Queue,
        ModelName::Counter,
        ModelName::Log,
        ModelName::KeyValue,
        ModelName::ListAppend,
        ModelName::RwRegister,
        ModelName::RwRegisterSessions,
        ModelName::Bank,
        ModelName::LongFork,
        ModelName::Kafka,
    ];

    /// Its name, as `--model` takes it.
    pub fn text(self) -> &'static str {
        match self {
            ModelName::Register => "register",
            ModelName::CasRegister => "cas-register",
            ModelName::MultiRegister => "multi-register",
            ModelName::Mutex => "mutex",
            ModelName::Set => "set",
            ModelName::SetFull => "set-full",
            ModelName::Queue => "queue",
            ModelName::Counter => "counter",
            ModelName::Log => "log",
            ModelName::KeyValue => "key-value",
            ModelName::ListAppend => "list-append",
            ModelName::RwRegister => "rw-register",
            ModelName::RwRegisterSessions => "rw-register-sessions",
            ModelName::Bank => "bank",
            ModelName::LongFork => "long-fork",
            ModelName::Kafka => "kafka",
        }
    }
}

/// What a compare-and-set that failed says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailedCas {
    /// As [`FailedCas::Observe`], unless reads or writes of the history failed too: then operations fail for reasons
    /// other than what the register held, and as [`FailedCas::Drop`].
    #[default]
    Infer,
    /// That the register did not hold the old value at some moment of the operation.
    Observe,
    /// Nothing: it is left out.
    Drop,
}

/// How a history is judged.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The level of transactional models; none is the strongest that the history can tell about.
    pub level: Option<Level>,
    /// Whether the history's order is real time (false for formats of sessions alone).
    pub no_real_time: bool,
    /// The initial value; none is the model's own.
    pub initial: Option<Value>,
    /// Kafka: partitions were had by `subscribe` (skips between polls are tolerated), not by `assign`.
    pub subscribe: bool,
    /// Kafka: the order of offsets is the order of writes of transactions.
    pub ww_deps: bool,
    /// What a failed compare-and-set says.
    pub failed_cas: FailedCas,
    /// rw-register: writes follow reads within a transaction (on by default there).
    pub wfr_keys: Option<bool>,
    /// rw-register: each key is sequential.
    pub sequential_keys: bool,
    /// rw-register: each key is linearizable.
    pub linearizable_keys: bool,
    /// long-fork: how many keys a group has; none is read off the history.
    pub group_size: Option<usize>,
}

/// Why a history could not be judged.
#[derive(Debug)]
pub enum JudgeError {
    /// It could not be read.
    Read(ReadError),
    /// An entry does not fit the model.
    Entry {
        /// Its index.
        index: u64,
        /// What was expected, and what is there.
        why: String,
    },
}

impl fmt::Display for JudgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JudgeError::Read(error) => error.fmt(f),
            JudgeError::Entry { index, why } => write!(f, "operation {index}: {why}"),
        }
    }
}

impl std::error::Error for JudgeError {}

impl From<ReadError> for JudgeError {
    fn from(error: ReadError) -> JudgeError {
        JudgeError::Read(error)
    }
}

/// Judges a history as a model, within a budget. The history is read once, as a stream.
///
/// # Errors
/// Where the history cannot be read, or an entry of it does not fit the model.
pub fn judge(
    model: ModelName,
    options: &Options,
    budget: &Budget,
    history: impl Iterator<Item = Result<Op, ReadError>>,
) -> Result<Judgement, JudgeError> {
    use ModelName as M;
    match model {
        M::Register
        | M::CasRegister
        | M::MultiRegister
        | M::Mutex
        | M::Set
        | M::Queue
        | M::Counter
        | M::Log
        | M::KeyValue => linear::judge(model, options, budget, history),
        M::ListAppend | M::RwRegister => txn::judge(model, options, budget, history),
        M::RwRegisterSessions => sessions::judge(options, budget, history),
        M::SetFull | M::Bank | M::LongFork => invariants::judge(model, options, budget, history),
        M::Kafka => log::judge(options, budget, history),
    }
}
