//! A cycle of transactions: what pictures draw and words tell.

/// Why one transaction comes before another (Adya's direct dependencies, and two orders that were seen).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum EdgeKind {
    /// It wrote a version that the other overwrote.
    Ww,
    /// It wrote a version that the other read.
    Wr,
    /// It read a version that the other overwrote.
    Rw,
    /// The same process did it before the other.
    Process,
    /// It ended before the other began.
    Realtime,
}

impl EdgeKind {
    /// As it is written beside an edge.
    pub(crate) fn text(self) -> &'static str {
        match self {
            EdgeKind::Ww => "ww",
            EdgeKind::Wr => "wr",
            EdgeKind::Rw => "rw",
            EdgeKind::Process => "process",
            EdgeKind::Realtime => "realtime",
        }
    }
}

/// A transaction of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// The history's entry of it.
    pub(crate) index: u64,
    /// What it did, short.
    pub(crate) text: String,
}

/// An edge of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// What kind it is.
    pub(crate) kind: EdgeKind,
    /// Why it is there, in words.
    pub(crate) reason: String,
}

/// A step of a cycle: a transaction, and the edge to the next step's; the last one's goes to the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The transaction.
    pub(crate) node: Node,
    /// What leads from it to the next.
    pub(crate) edge: Edge,
}

/// A cycle of transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cycle {
    /// Its steps, in order.
    pub(crate) steps: Vec<Step>,
}
