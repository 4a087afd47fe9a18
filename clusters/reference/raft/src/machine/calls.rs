//! Requests in flight: one to a peer at a time, since each state has one thing to say.

use crate::{CallId, Nanos, NodeId};

/// What is known of the talk with one peer in the present state.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) peer: NodeId,
    in_flight: Option<InFlight>,
    /// Nothing is sent before this time.
    not_before: Nanos,
    /// The peer has said all that was wanted of it.
    pub(super) answered: bool,
}

#[derive(Debug, Clone, Copy)]
struct InFlight {
    call: CallId,
    given_up_at: Nanos,
}

impl Slot {
    fn idle(peer: NodeId) -> Self {
        Self {
            peer,
            in_flight: None,
            not_before: 0,
            answered: false,
        }
    }

    /// When the next request may leave; none while one is in flight.
    pub(super) fn free_at(&self) -> Option<Nanos> {
        match self.in_flight {
            Some(_) => None,
            None => Some(self.not_before),
        }
    }

    pub(super) fn is_free(&self, now: Nanos) -> bool {
        self.free_at().is_some_and(|at| at <= now)
    }
}

/// All slots.
#[derive(Debug, Clone)]
pub(super) struct Calls {
    slots: Vec<Slot>,
    next: u64,
}

impl Calls {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            next: 0,
        }
    }

    /// These are the peers from now on; what is known of the talk with those that stay is kept.
    pub(super) fn set_peers(&mut self, peers: &[NodeId]) {
        self.slots.retain(|slot| peers.contains(&slot.peer));
        for peer in peers {
            if self.slot(*peer).is_none() {
                self.slots.push(Slot::idle(*peer));
            }
        }
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    pub(super) fn slot(&self, peer: NodeId) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.peer == peer)
    }

    pub(super) fn slot_mut(&mut self, peer: NodeId) -> Option<&mut Slot> {
        self.slots.iter_mut().find(|slot| slot.peer == peer)
    }

    /// A new state has new things to say: what was asked before is nobody's business any more.
    pub(super) fn clear(&mut self) {
        for slot in &mut self.slots {
            *slot = Slot::idle(slot.peer);
        }
    }

    pub(super) fn begin(&mut self, peer: NodeId, given_up_at: Nanos) -> CallId {
        self.next += 1;
        let call = CallId(self.next);
        if let Some(slot) = self.slot_mut(peer) {
            slot.in_flight = Some(InFlight { call, given_up_at });
        }
        call
    }

    /// Closes a call. False when it was given up, or belongs to a state now left.
    pub(super) fn close(&mut self, peer: NodeId, call: CallId) -> bool {
        match self.slot_mut(peer) {
            Some(slot) if slot.in_flight.is_some_and(|open| open.call == call) => {
                slot.in_flight = None;
                true
            }
            _ => false,
        }
    }

    pub(super) fn hold_back(&mut self, peer: NodeId, until: Nanos) {
        if let Some(slot) = self.slot_mut(peer) {
            slot.not_before = until;
        }
    }

    pub(super) fn give_up_overdue(&mut self, now: Nanos) {
        for slot in &mut self.slots {
            if slot.in_flight.is_some_and(|open| open.given_up_at <= now) {
                slot.in_flight = None;
            }
        }
    }

    pub(super) fn any_in_flight(&self) -> bool {
        self.slots.iter().any(|slot| slot.in_flight.is_some())
    }

    /// When the first call is given up.
    pub(super) fn next_overdue(&self) -> Option<Nanos> {
        self.slots
            .iter()
            .filter_map(|slot| slot.in_flight.map(|open| open.given_up_at))
            .min()
    }
}
