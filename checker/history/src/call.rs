//! Operations of foreign histories.

use crate::{Entry, Value};
use std::sync::Arc;

/// What an entry of a foreign history says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The operation's name; empty where the file gives none.
    pub f: Arc<str>,
    /// Its value.
    pub value: Value,
}

/// An entry of a foreign history. `index` and `time` are filled in where the file has none: the place among all
/// entries, from 0. Entries come in their order: one that comes before another happened before it.
pub type Op = Entry<Call>;
