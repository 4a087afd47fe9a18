//! Work on many things at once: as many threads as there are cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// More threads than this only wait for memory.
const MAX_THREADS: usize = 16;
/// With fewer records than this a thread costs more than it saves.
const FEW: usize = 20_000;

/// Does the same to each item, on several threads where they hold many records; the answers stand in the items' order.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], records: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(items.len()).min(MAX_THREADS);
    if threads < 2 || records < FEW {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let mut done: Vec<(usize, R)> = Vec::with_capacity(items.len());
    thread::scope(|scope| {
        let worker = || {
            let mut mine = Vec::new();
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                match items.get(place) {
                    Some(item) => mine.push((place, work(item))),
                    None => return mine,
                }
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            match worker.join() {
                Ok(mine) => done.extend(mine),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, answer)| answer).collect()
}

/// Does the same to each item in its place, on several threads where they hold many records.
pub(crate) fn change<T: Send>(items: &mut [T], records: usize, work: impl Fn(&mut T) + Sync) {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(items.len()).min(MAX_THREADS);
    if threads < 2 || records < FEW {
        return items.iter_mut().for_each(work);
    }
    let items = Mutex::new(items.iter_mut());
    // Nothing panics with the lock in hand, so it is never poisoned.
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = next() {
                    work(item);
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_is_changed_once() {
        for records in [0, super::FEW] {
            let mut items: Vec<u64> = (0..1000).collect();
            super::change(&mut items, records, |item| *item += 1);
            assert!(items.into_iter().eq(1..1001));
        }
    }

    #[test]
    fn answers_stand_in_order() {
        let items: Vec<u64> = (0..1000).collect();
        assert!(
            super::map(&items, super::FEW, |item| item * 2)
                .into_iter()
                .eq((0..1000).map(|item| item * 2))
        );
        assert!(super::map(&[] as &[u64], super::FEW, |item| *item).is_empty());
    }
}
