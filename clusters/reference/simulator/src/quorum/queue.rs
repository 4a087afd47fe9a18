//! What is to happen, in order of time, and of scheduling where times are the same.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use raft::Nanos;

/// A queue of things that are to happen. The heap has small entries; the things stay in place.
#[derive(Debug)]
pub(super) struct Queue<T> {
    order: BinaryHeap<Reverse<(Nanos, u64, usize)>>,
    things: Vec<Option<T>>,
    free: Vec<usize>,
    scheduled: u64,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        Self {
            order: BinaryHeap::new(),
            things: Vec::new(),
            free: Vec::new(),
            scheduled: 0,
        }
    }

    pub(super) fn push(&mut self, at: Nanos, thing: T) {
        self.scheduled += 1;
        let place = self.free.pop().unwrap_or(self.things.len());
        if place == self.things.len() {
            self.things.push(Some(thing));
        } else {
            self.things[place] = Some(thing);
        }
        self.order.push(Reverse((at, self.scheduled, place)));
    }

    pub(super) fn pop(&mut self) -> Option<(Nanos, T)> {
        let Reverse((at, _, place)) = self.order.pop()?;
        self.free.push(place);
        let thing = self.things[place].take()?;
        Some((at, thing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_happen_in_order_of_time_and_then_of_scheduling() {
        let mut queue = Queue::new();
        for (at, name) in [(5, 'c'), (1, 'a'), (5, 'd'), (2, 'b')] {
            queue.push(at, name);
        }
        assert_eq!(queue.pop(), Some((1, 'a')));
        queue.push(5, 'e');
        let rest: String = std::iter::from_fn(|| queue.pop().map(|(_, name)| name)).collect();
        assert_eq!(rest, "bcde");
    }
}
