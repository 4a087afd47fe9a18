//! Registers have searches of their own: most of what is known about speed is about them.
//!
//! [`zones`] needs no search, where each value is written once. [`depth`] and [`breadth`] walk the same events over
//! the same [`board`], one as a depth-first search with a memory of where it was, the other with all places at once
//! and no memory of earlier ones. Either can be exponentially faster than the other.

pub(crate) mod board;
pub(crate) mod breadth;
pub(crate) mod depth;
pub(crate) mod walk;
pub(crate) mod zones;
