//! Runs one case a seed, on all cores, until one of them disagrees.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many seeds a thread takes at a time.
const BATCH: u64 = 256;

/// Runs the seeds from `first` on. A case says which class it fell into (0: pass, 1: fail, 2: unknown), or what
/// disagrees; the answer counts the classes.
pub fn run(
    first: u64,
    count: u64,
    case: impl Fn(u64) -> Result<usize, String> + Sync,
) -> Result<[u64; 3], String> {
    let next = AtomicU64::new(0);
    let work = || -> Result<[u64; 3], String> {
        let mut classes = [0; 3];
        loop {
            let from = next.fetch_add(BATCH, Ordering::Relaxed);
            if from >= count {
                return Ok(classes);
            }
            for at in from..count.min(from + BATCH) {
                let seed = first.wrapping_add(at);
                let class = case(seed).map_err(|why| {
                    // The others stop at their next batch.
                    next.store(count, Ordering::Relaxed);
                    format!("seed {seed}: {why}")
                })?;
                classes[class] += 1;
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().try_fold([0; 3], |sum, thread| {
            let classes = thread
                .join()
                .map_err(|_| "a thread panicked: see above".to_owned())??;
            Ok(std::array::from_fn(|class| sum[class] + classes[class]))
        })
    })
}
