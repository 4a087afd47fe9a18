//! Sets of kinds of edges: one byte.

use super::cycle::EdgeKind;

/// All kinds, those that say most first.
pub(crate) const KINDS: [EdgeKind; 5] = [
    EdgeKind::Ww,
    EdgeKind::Wr,
    EdgeKind::Rw,
    EdgeKind::Process,
    EdgeKind::Realtime,
];

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Kinds(u8);

impl Kinds {
    /// None.
    pub(crate) const NONE: Kinds = Kinds(0);
    /// What leaves a joint (a node that is no transaction): it goes on with the edge that came in.
    pub(crate) const ONWARD: Kinds = Kinds(1 << 7);
    /// Overwriting alone.
    pub(crate) const WW: Kinds = Kinds::of(EdgeKind::Ww);
    /// ww and wr: what Adya calls dependencies.
    pub(crate) const DEPENDENCIES: Kinds = Kinds::WW.and(Kinds::of(EdgeKind::Wr));
    /// Anti-dependencies alone.
    pub(crate) const RW: Kinds = Kinds::of(EdgeKind::Rw);
    /// ww, wr and rw: what the data prove.
    pub(crate) const DATA: Kinds = Kinds::DEPENDENCIES.and(Kinds::RW);

    /// The set of one kind.
    pub(crate) const fn of(kind: EdgeKind) -> Kinds {
        Kinds(1 << kind as u8)
    }

    /// Both sets in one.
    pub(crate) const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// What is in both.
    pub(crate) const fn within(self, other: Kinds) -> Kinds {
        Kinds(self.0 & other.0)
    }

    /// Whether there is something in both.
    pub(crate) const fn meets(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    /// The kind in it that says most; none for [`Kinds::ONWARD`] alone.
    pub(crate) fn first(self) -> Option<EdgeKind> {
        KINDS.into_iter().find(|kind| self.meets(Kinds::of(*kind)))
    }
}
