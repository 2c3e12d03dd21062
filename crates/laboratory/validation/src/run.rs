//! Runs the jobs of a part on all cores and returns their rows in order.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Extent, Part, Row};

/// The rows of a part, in the order of its jobs, independent of how the jobs were shared among cores.
pub fn run(part: &Part, extent: Extent) -> Vec<Row> {
    let jobs = (part.jobs)(extent);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(vec![Vec::new(); jobs.len()]);
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some((number, job)) = {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    jobs.get(number).map(|job| (number, job))
                } {
                    let rows = job();
                    done.lock().expect("no job panics while it holds the lock")[number] = rows;
                }
            });
        }
    });
    done.into_inner().expect("no job panics while it holds the lock").into_iter().flatten().collect()
}
