//! The objects.

pub(crate) mod counter;
pub(crate) mod key_value;
pub(crate) mod log;
pub(crate) mod multi_register;
pub(crate) mod mutex;
mod prefixes;
pub(crate) mod queue;
pub(crate) mod recorded_register;
pub(crate) mod register;
pub(crate) mod set;
mod values;
