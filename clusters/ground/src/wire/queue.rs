//! Frames that wait: a queue by the time each is due, with a limit of bytes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::rules::Met;

/// The most bytes that wait at one time, over all links: 10 ms at 50 Gbit/s, a second at 500 Mbit/s. What comes above
/// that is lost though nobody asked for it, and counted so.
pub const MOST_BYTES: usize = 64 << 20;

/// A frame that waits.
#[derive(Debug, PartialEq, Eq)]
pub struct Late {
    /// When it is due.
    pub due_ns: u64,
    /// Its link.
    pub link: (u8, u8),
    /// Its place among the frames of its link.
    pub order: u64,
    pub frame: Vec<u8>,
    pub copies: u32,
    /// The rules that it met.
    pub met: Vec<Met>,
}

/// A place in the queue: by time, then by coming.
struct Place {
    at: (u64, u64),
    late: Late,
}

impl PartialEq for Place {
    fn eq(&self, other: &Place) -> bool {
        self.at == other.at
    }
}

impl Eq for Place {}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Place) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Place) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

/// The queue.
#[derive(Default)]
pub struct Queue {
    heap: BinaryHeap<Reverse<Place>>,
    bytes: usize,
    came: u64,
}

impl Queue {
    /// Takes a frame in; gives it back where there is no room.
    pub fn push(&mut self, late: Late) -> Result<(), Late> {
        if self.bytes + late.frame.len() > MOST_BYTES {
            return Err(late);
        }
        self.bytes += late.frame.len();
        self.came += 1;
        let at = (late.due_ns, self.came);
        self.heap.push(Reverse(Place { at, late }));
        Ok(())
    }

    /// When the next one is due.
    pub fn next_due(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(place)| place.late.due_ns)
    }

    /// The next one that is due by now.
    pub fn pop(&mut self, now: u64) -> Option<Late> {
        if self.next_due()? > now {
            return None;
        }
        let Reverse(Place { late, .. }) = self.heap.pop()?;
        self.bytes -= late.frame.len();
        Some(late)
    }

    /// Frames wait for this fault no longer.
    pub fn forgive(&mut self, fault: u64) {
        let places = std::mem::take(&mut self.heap).into_vec().into_iter();
        let shortened = places.map(|Reverse(mut place)| {
            let met = &mut place.late.met;
            let waited: u64 = met
                .iter()
                .filter(|met| met.fault == fault)
                .map(|met| met.wait_ns)
                .sum();
            met.retain(|met| met.fault != fault);
            place.late.due_ns = place.late.due_ns.saturating_sub(waited);
            // Those that were due at one time keep the order in which they came.
            place.at.0 = place.late.due_ns;
            Reverse(place)
        });
        self.heap = shortened.collect();
    }

    /// Drops the frames of links that are so; which links those were, once a frame.
    pub fn purge(&mut self, gone: impl Fn((u8, u8)) -> bool) -> Vec<(u8, u8)> {
        let places = std::mem::take(&mut self.heap).into_vec().into_iter();
        let (lost, kept): (Vec<_>, Vec<_>) = places.partition(|Reverse(place)| gone(place.late.link));
        self.heap = kept.into();
        self.bytes -= lost
            .iter()
            .map(|Reverse(place)| place.late.frame.len())
            .sum::<usize>();
        lost.iter().map(|Reverse(place)| place.late.link).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(due_ns: u64, mark: u8, met: &[(u64, u64)]) -> Late {
        let met = met.iter().map(|(fault, wait_ns)| Met {
            fault: *fault,
            wait_ns: *wait_ns,
        });
        Late {
            due_ns,
            link: (0, mark),
            order: 0,
            frame: vec![mark; 60],
            copies: 1,
            met: met.collect(),
        }
    }

    fn marks(queue: &mut Queue, now: u64) -> Vec<u8> {
        std::iter::from_fn(|| queue.pop(now))
            .map(|late| late.frame[0])
            .collect()
    }

    #[test]
    fn frames_come_out_when_due_and_in_order() {
        let mut queue = Queue::default();
        for (due, mark) in [(30, 3), (10, 1), (10, 2), (40, 4)] {
            queue.push(late(due, mark, &[])).unwrap();
        }
        assert!(marks(&mut queue, 9).is_empty());
        assert_eq!(queue.next_due(), Some(10));
        assert_eq!(marks(&mut queue, 35), [1, 2, 3]);
        assert_eq!(
            (marks(&mut queue, 40), queue.next_due(), queue.bytes),
            (vec![4], None, 0)
        );
    }

    #[test]
    fn what_a_healed_fault_asked_is_waited_for_no_longer_and_the_rest_is() {
        let mut queue = Queue::default();
        queue.push(late(100, 1, &[(7, 90)])).unwrap();
        queue.push(late(110, 2, &[(7, 60), (8, 40)])).unwrap();
        queue.forgive(7);
        assert_eq!(marks(&mut queue, 10), [1]);
        assert!(marks(&mut queue, 49).is_empty());
        assert_eq!(
            queue.pop(50).unwrap().met,
            [Met {
                fault: 8,
                wait_ns: 40
            }]
        );
    }

    #[test]
    fn above_the_limit_nothing_is_taken_until_there_is_room() {
        let mut queue = Queue::default();
        let big = |due| Late {
            frame: vec![0; MOST_BYTES / 2],
            ..late(due, 0, &[])
        };
        queue.push(big(1)).unwrap();
        queue.push(big(2)).unwrap();
        assert!(queue.push(late(3, 1, &[])).is_err());
        assert!(queue.pop(1).is_some());
        assert!(queue.push(late(3, 1, &[])).is_ok());
    }

    #[test]
    fn frames_of_a_pulled_cable_are_gone() {
        let mut queue = Queue::default();
        for mark in [1, 2, 1] {
            queue.push(late(1, mark, &[])).unwrap();
        }
        assert_eq!(queue.purge(|(_, to)| to == 1), [(0, 1), (0, 1)]);
        assert_eq!((marks(&mut queue, 1), queue.bytes), (vec![2], 0));
    }
}
