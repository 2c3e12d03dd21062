//! The memory in which the drives of a server keep their bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the head of this file. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    most: u64,
    kept: Arc<AtomicU64>,
}

impl Memory {
    pub(crate) fn new(most: u64) -> Self {
        Self { most, kept: Arc::default() }
    }

    pub(crate) const fn most(&self) -> u64 {
        self.most
    }

    /// The part of a drive that keeps `bytes`.
    ///
    /// # Errors
    /// The bytes of all drives with it, which are more than is allowed.
    pub(crate) fn part(&self, bytes: u64) -> Result<Part, u64> {
        let mut part = Part { of: self.clone(), kept: 0 };
        part.note(bytes);
        let all = self.kept.load(Ordering::Relaxed);
        if all > self.most { Err(all) } else { Ok(part) }
    }
}

/// What a drive has of it, until it is dropped.
#[derive(Debug)]
pub(crate) struct Part {
    of: Memory,
    kept: u64,
}

impl Part {
    /// The drive keeps `bytes` now.
    fn note(&mut self, bytes: u64) {
        // Differences wrap around, as the sum does.
        self.of.kept.fetch_add(bytes.wrapping_sub(self.kept), Ordering::Relaxed);
        self.kept = bytes;
    }

    /// Whether the drive, which keeps `bytes` now, may keep `more`. Others may ask at the same time, so that they exceed it by a request each.
    pub(crate) fn has_room(&mut self, bytes: u64, more: u64) -> bool {
        self.note(bytes);
        self.of.kept.load(Ordering::Relaxed).saturating_add(more) <= self.of.most
    }

    pub(crate) const fn most(&self) -> u64 {
        self.of.most
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.note(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_share_it_and_give_it_back() {
        let memory = Memory::new(100);
        let (mut one, mut other) = (memory.part(30).unwrap(), memory.part(40).unwrap());
        assert!(one.has_room(30, 30) && !one.has_room(30, 31));
        assert!(other.has_room(20, 50) && !one.has_room(30, 51), "what one gives up another may have");
        assert_eq!(memory.part(60).map(drop), Err(110));
        drop(other);
        assert!(one.has_room(30, 70) && !one.has_room(30, 71));
    }
}
