//! Calls that are answered later: at a time, or when a fault ends. One thread for all of them, started with the first
//! that has a time; none waits in a thread of its own, and no lock is held while one is done.
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Does the call and answers it.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

struct Waiter {
    faults: Vec<u64>,
    job: Job,
}

#[derive(Default)]
struct State {
    /// By time, and then in the order in which they came.
    due: BTreeMap<(Instant, u64), Waiter>,
    /// In the order in which they came.
    held: BTreeMap<u64, Waiter>,
    next: u64,
    thread: bool,
    closed: bool,
}

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Waiting {
    state: Mutex<State>,
    wake: Condvar,
}

impl Waiting {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be done at a time, or as soon as one of these faults ends.
    pub(crate) fn until(self: &Arc<Self>, at: Instant, faults: Vec<u64>, job: Job) {
        let mut state = self.state();
        if !state.thread {
            let timer = self.clone();
            let started = std::thread::Builder::new()
                .name("disk-timer".into())
                .spawn(move || timer.run());
            if started.is_err() {
                // Too many threads on this machine: better at once than never; the counts show it.
                drop(state);
                return job();
            }
            state.thread = true;
        }
        let number = state.number();
        state.due.insert((at, number), Waiter { faults, job });
        drop(state);
        self.wake.notify_one();
    }

    /// To be done when a fault ends.
    pub(crate) fn hold(&self, fault: u64, job: Job) {
        let mut state = self.state();
        let number = state.number();
        let faults = vec![fault];
        state.held.insert(number, Waiter { faults, job });
    }

    /// How many wait for a fault.
    pub(crate) fn count(&self, fault: u64) -> u64 {
        let state = self.state();
        let all = state.due.values().chain(state.held.values());
        all.filter(|waiter| waiter.faults.contains(&fault)).count() as u64
    }

    /// A fault has ended.
    pub(crate) fn release(&self, fault: u64) {
        self.take(|waiter| waiter.faults.contains(&fault));
    }

    /// Nobody waits any more.
    pub(crate) fn release_all(&self) {
        self.take(|_| true);
    }

    fn take(&self, meant: impl Fn(&Waiter) -> bool) {
        let mut state = self.state();
        let mut ready: Vec<(u64, Job)> = Vec::new();
        let due = std::mem::take(&mut state.due);
        for ((at, number), waiter) in due {
            if meant(&waiter) {
                ready.push((number, waiter.job));
            } else {
                state.due.insert((at, number), waiter);
            }
        }
        let held = std::mem::take(&mut state.held);
        for (number, waiter) in held {
            if meant(&waiter) {
                ready.push((number, waiter.job));
            } else {
                state.held.insert(number, waiter);
            }
        }
        drop(state);
        ready.sort_by_key(|(number, _)| *number);
        ready.into_iter().for_each(|(_, job)| job());
    }

    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.wake.notify_all();
    }

    fn run(&self) {
        let mut state = self.state();
        while !state.closed {
            let Some(((at, number), _)) = state.due.first_key_value() else {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let (at, number) = (*at, *number);
            let left = at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let waiter = state.due.remove(&(at, number));
                drop(state);
                waiter.into_iter().for_each(|waiter| (waiter.job)());
                state = self.state();
            } else {
                let waited = self.wake.wait_timeout(state, left);
                (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    fn two() -> (Arc<Waiting>, Receiver<u64>, impl Fn(u64) -> Job) {
        let (said, heard) = channel();
        let job = move |number| -> Job {
            let said = said.clone();
            Box::new(move || said.send(number).unwrap())
        };
        (Arc::default(), heard, job)
    }

    #[test]
    fn calls_are_done_in_the_order_of_their_times_and_none_before() {
        let (waiting, heard, job) = two();
        let now = Instant::now();
        waiting.until(now + Duration::from_millis(30), vec![1], job(30));
        waiting.until(now + Duration::from_millis(10), vec![1], job(10));
        waiting.until(now + Duration::from_millis(20), vec![2], job(20));
        for expected in [10, 20, 30] {
            assert_eq!(heard.recv_timeout(Duration::from_secs(5)), Ok(expected));
            assert!(now.elapsed() >= Duration::from_millis(expected));
        }
        assert_eq!(waiting.count(1), 0);
        waiting.close();
    }

    #[test]
    fn the_end_of_a_fault_lets_its_own_go_and_no_other() {
        let (waiting, heard, job) = two();
        waiting.hold(1, job(1));
        waiting.hold(2, job(2));
        waiting.until(Instant::now() + Duration::from_secs(60), vec![1, 3], job(3));
        assert_eq!((waiting.count(1), waiting.count(2), waiting.count(3)), (2, 1, 1));
        waiting.release(1);
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [1, 3]);
        waiting.release_all();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [2]);
        waiting.close();
    }
}
