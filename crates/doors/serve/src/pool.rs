//! Memory for the data of long reads, used again and again: fresh memory costs a page fault for each 4 KiB.

use std::sync::{Arc, Mutex, PoisonError};

/// Shorter buffers are not worth it.
pub(crate) const LEAST: usize = 16 << 10;

/// Most bytes that lie here.
const MOST: usize = 32 << 20;

#[derive(Default)]
struct Spare {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

/// See the head of this file. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Pool(Arc<Mutex<Spare>>);

impl Pool {
    /// A buffer for `length` bytes, which is empty.
    pub(crate) fn take(&self, length: usize) -> Vec<u8> {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = spare.buffers.iter().rposition(|buffer| buffer.capacity() >= length);
        match found.map(|place| spare.buffers.swap_remove(place)) {
            Some(buffer) => {
                spare.bytes -= buffer.capacity();
                buffer
            }
            None => {
                drop(spare);
                Vec::with_capacity(length)
            }
        }
    }

    /// Gives a buffer back. What is too much is freed.
    pub(crate) fn give(&self, mut buffer: Vec<u8>) {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buffer.capacity() >= LEAST && spare.bytes + buffer.capacity() <= MOST {
            buffer.clear();
            spare.bytes += buffer.capacity();
            spare.buffers.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back_and_are_bounded() {
        let pool = Pool::default();
        let buffer = pool.take(1 << 20);
        let place = buffer.as_ptr();
        pool.give(buffer);
        let (again, other) = (pool.take(1 << 19), pool.take(1 << 20));
        assert!(again.as_ptr() == place && other.as_ptr() != place, "what is lent is not lent again");
        for _ in 0..40 {
            pool.give(Vec::with_capacity(1 << 20));
        }
        pool.give(Vec::with_capacity(8));
        let spare = pool.0.lock().unwrap();
        assert!(spare.bytes <= MOST && spare.buffers.len() <= 32, "{} bytes", spare.bytes);
    }
}
