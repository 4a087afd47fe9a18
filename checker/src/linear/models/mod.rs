//! The objects.

pub(crate) mod recorded_register;
pub(crate) mod register;
