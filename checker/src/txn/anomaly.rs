//! The anomalies that are cycles, by what their edges are (Adya; Adya, Liskov and O'Neil; Cerone and Gotsman).

use super::cycle::EdgeKind;
use super::kinds::Kinds;

/// What dependencies a cycle is made of, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Class {
    /// ww alone.
    G0,
    /// ww and wr, of which one at least is wr.
    G1c,
    /// Exactly one rw.
    GSingle,
    /// Two rw or more, of which none follows straight on another.
    GNonadjacent,
    /// Two rw or more, of which one follows straight on another.
    G2,
}

/// What a cycle needs besides data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Clock {
    /// Nothing.
    None,
    /// The order of a process.
    Process,
    /// The order of real time.
    Realtime,
}

impl Clock {
    /// The kinds of edges that it allows besides data.
    pub(crate) fn kinds(self) -> Kinds {
        match self {
            Clock::None => Kinds::NONE,
            Clock::Process => Kinds::of(EdgeKind::Process),
            Clock::Realtime => Kinds::of(EdgeKind::Process).and(Kinds::of(EdgeKind::Realtime)),
        }
    }
}

/// An anomaly that is a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CycleAnomaly {
    /// What it needs besides data.
    pub(crate) clock: Clock,
    /// What it is made of.
    pub(crate) class: Class,
}

impl CycleAnomaly {
    /// What a cycle is, by the kinds of its edges in order.
    pub(crate) fn of(kinds: &[EdgeKind]) -> CycleAnomaly {
        let clock = if kinds.contains(&EdgeKind::Realtime) {
            Clock::Realtime
        } else if kinds.contains(&EdgeKind::Process) {
            Clock::Process
        } else {
            Clock::None
        };
        let is_rw = |kind: &EdgeKind| *kind == EdgeKind::Rw;
        let class = match kinds.iter().filter(|kind| is_rw(kind)).count() {
            0 if kinds.contains(&EdgeKind::Wr) => Class::G1c,
            0 => Class::G0,
            1 => Class::GSingle,
            _ if adjacent(kinds) => Class::G2,
            _ => Class::GNonadjacent,
        };
        CycleAnomaly { clock, class }
    }

    /// Whether a kind of edge is an order that clients saw, not data.
    pub(crate) fn is_clock(kind: EdgeKind) -> bool {
        matches!(kind, EdgeKind::Process | EdgeKind::Realtime)
    }

    /// Its name; `item` where predicates are not looked at, so that G2 and its like are those of items.
    pub(crate) fn name(self, item: bool) -> String {
        let (class, has_item) = match self.class {
            Class::G0 => ("G0", false),
            Class::G1c => ("G1c", false),
            Class::GSingle => ("G-single", true),
            Class::GNonadjacent => ("G-nonadjacent", true),
            Class::G2 => ("G2", true),
        };
        let item = if item && has_item { "-item" } else { "" };
        let clock = match self.clock {
            Clock::None => "",
            Clock::Process => "-process",
            Clock::Realtime => "-realtime",
        };
        format!("{class}{item}{clock}")
    }

    /// Whether every cycle of this anomaly is one of the other too, read with fewer demands: the other need not be
    /// told of where this one is.
    pub(crate) fn implies(self, other: CycleAnomaly) -> bool {
        let class = match self.class {
            Class::G0 => matches!(other.class, Class::G0 | Class::G1c),
            Class::G1c => other.class == Class::G1c,
            Class::GSingle => other.class >= Class::GSingle,
            Class::GNonadjacent => other.class >= Class::GNonadjacent,
            Class::G2 => other.class == Class::G2,
        };
        class && self.clock <= other.clock
    }
}

/// Whether an rw follows straight on another, round the cycle.
pub(crate) fn adjacent(kinds: &[EdgeKind]) -> bool {
    let next = kinds.iter().cycle().skip(1);
    kinds
        .iter()
        .zip(next)
        .any(|(one, other)| (*one, *other) == (EdgeKind::Rw, EdgeKind::Rw))
}

/// An anomaly of transactions, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum TxnAnomaly {
    /// A list has an element twice.
    DuplicateElements,
    /// The versions of a key precede each other in a circle.
    CyclicVersions,
    /// Two lists of a key contradict each other.
    IncompatibleOrder,
    /// A transaction read what it wrote later.
    FutureRead,
    /// A committed transaction read what nobody wrote.
    ThinAirRead,
    /// A committed transaction read an aborted one's write.
    G1a,
    /// A committed transaction read a write that its writer overwrote.
    G1b,
    /// A committed transaction wrote on top of an aborted one's write.
    DirtyUpdate,
    /// A transaction's read contradicts its own earlier steps.
    Internal,
    /// Two transactions read one version and then both wrote.
    LostUpdate,
    /// A cycle.
    Cycle(CycleAnomaly),
}

impl TxnAnomaly {
    /// Its name. Those of cycles are the item forms: predicates are not looked at.
    pub(crate) fn name(self) -> String {
        match self {
            TxnAnomaly::DuplicateElements => "duplicate-elements".into(),
            TxnAnomaly::CyclicVersions => "cyclic-versions".into(),
            TxnAnomaly::IncompatibleOrder => "incompatible-order".into(),
            TxnAnomaly::FutureRead => "future-read".into(),
            TxnAnomaly::ThinAirRead => "thin-air-read".into(),
            TxnAnomaly::G1a => "G1a".into(),
            TxnAnomaly::G1b => "G1b".into(),
            TxnAnomaly::DirtyUpdate => "dirty-update".into(),
            TxnAnomaly::Internal => "internal".into(),
            TxnAnomaly::LostUpdate => "lost-update".into(),
            TxnAnomaly::Cycle(cycle) => cycle.name(true),
        }
    }
}
