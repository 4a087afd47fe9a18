//! The objects.

pub(crate) mod register;
