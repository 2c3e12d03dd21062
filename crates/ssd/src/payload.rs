//! The bytes that a drive keeps, by the firmware's handles.
//!
//! Bytes lie in chunks, which clones of a drive share until one of them writes. A chunk that was never written takes no memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_ftl::ZEROS;

/// Bytes of a chunk, at least: what a clone copies before it writes the first unit of it.
const CHUNK_BYTES: usize = 256 << 10;

/// Injected errors: what was done to data on purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injected {
    /// Bits that read flipped, counted from the unit's first, rising.
    pub flipped: Vec<u32>,
    /// The data were made unreadable.
    pub is_unreadable: bool,
}

/// Units of bytes, by handle. They are as they were written, whatever happened to them since.
#[derive(Clone, Debug)]
pub(crate) struct Payload {
    unit_bytes: usize,
    chunk_units: usize,
    chunks: Vec<Option<Arc<[u8]>>>,
    /// Number of chunks that are present.
    there: usize,
    /// By handle, what was done to the bytes: injected on purpose, or wrong bits that were written back after a misread.
    injected: BTreeMap<u32, Injected>,
}

impl Payload {
    pub(crate) fn new(unit_bytes: u32) -> Self {
        let unit_bytes = unit_bytes as usize;
        Self {
            unit_bytes,
            chunk_units: CHUNK_BYTES.div_ceil(unit_bytes),
            chunks: Vec::new(),
            there: 0,
            injected: BTreeMap::new(),
        }
    }

    fn place(&self, handle: u32) -> (usize, usize) {
        let (chunk, within) = (handle as usize / self.chunk_units, handle as usize % self.chunk_units);
        (chunk, within * self.unit_bytes)
    }

    /// The bytes of a handle; `None` means zeros.
    pub(crate) fn get(&self, handle: u32) -> Option<&[u8]> {
        let (chunk, first) = self.place(handle);
        let bytes = self.chunks.get(chunk).filter(|_| handle != ZEROS)?.as_ref()?;
        Some(&bytes[first..first + self.unit_bytes])
    }

    /// The bytes of a handle, for writing.
    pub(crate) fn get_mut(&mut self, handle: u32) -> &mut [u8] {
        debug_assert_ne!(handle, ZEROS, "zeros are nobody's");
        self.injected.remove(&handle);
        let (chunk, first) = self.place(handle);
        if self.chunks.len() <= chunk {
            self.chunks.resize(chunk + 1, None);
        }
        let length = self.chunk_units * self.unit_bytes;
        let bytes = self.chunks[chunk].get_or_insert_with(|| {
            self.there += 1;
            vec![0; length].into()
        });
        &mut Arc::make_mut(bytes)[first..first + self.unit_bytes]
    }

    /// Whether anything was done on purpose.
    pub(crate) fn injures(&self) -> bool {
        !self.injected.is_empty()
    }

    /// What was done on purpose to the bytes of a handle.
    pub(crate) fn injected(&self, handle: u32) -> Option<&Injected> {
        self.injected.get(&handle)
    }

    /// Records what was done to the bytes of a handle.
    pub(crate) fn inject(&mut self, handle: u32, injected: Injected) {
        debug_assert_ne!(handle, ZEROS, "zeros are nobody's");
        self.injected.insert(handle, injected);
    }

    /// Frees the payloads that no unit refers to, so that a save does not write them. `is_held` says for each handle, from the
    /// first, whether a unit refers to it.
    pub(crate) fn let_go(&mut self, is_held: impl Iterator<Item = bool>) {
        let mut is_held = is_held.fuse();
        let (unit_bytes, chunk_units) = (self.unit_bytes, self.chunk_units);
        for (number, chunk) in self.chunks.iter_mut().enumerate() {
            let held: Vec<bool> = (0..chunk_units).map(|_| is_held.next().unwrap_or(false)).collect();
            let first = (number * chunk_units) as u32;
            let is_ours = |unit: usize| first + unit as u32 != ZEROS && held[unit];
            if !(0..chunk_units).any(is_ours) {
                self.there -= usize::from(chunk.take().is_some());
            }
            let Some(bytes) = chunk else { continue };
            for unit in (0..chunk_units).filter(|unit| !is_ours(*unit)) {
                self.injected.remove(&(first + unit as u32));
                let range = unit * unit_bytes..(unit + 1) * unit_bytes;
                if bytes[range.clone()].iter().any(|byte| *byte != 0) {
                    Arc::make_mut(bytes)[range].fill(0);
                }
            }
        }
    }

    /// Memory that the chunks take, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        (self.there * self.chunk_units * self.unit_bytes) as u64
    }

    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.same("payload.unit", &(self.unit_bytes as u32))?;
        let mut there: Vec<bool> = self.chunks.iter().map(Option::is_some).collect();
        archive.field("payload.injected", &mut self.injected)?;
        archive.field("payload.chunks", &mut there)?;
        self.chunks.resize(there.len(), None);
        self.there = there.iter().filter(|is_there| **is_there).count();
        let length = self.chunk_units * self.unit_bytes;
        for (chunk, is_there) in self.chunks.iter_mut().zip(there) {
            if !is_there {
                *chunk = None;
                continue;
            }
            let bytes = chunk.get_or_insert_with(|| vec![0; length].into());
            if archive.is_reading() {
                archive.table("payload.chunk", Arc::make_mut(bytes))?;
            } else {
                // The chunk is copied to be written, as clones may share it.
                archive.table("payload.chunk", &mut bytes.to_vec())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_keep_their_bytes_and_clones_go_their_own_way() {
        let mut payload = Payload::new(4096);
        assert!(payload.get(1).is_none());
        payload.get_mut(1).fill(7);
        payload.get_mut(500).fill(9);
        let mut clone = payload.clone();
        assert_eq!(payload.memory(), 2 * CHUNK_BYTES as u64);
        clone.get_mut(1).fill(8);
        assert_eq!((payload.get(1).unwrap()[0], clone.get(1).unwrap()[4095]), (7, 8));
        assert!(Arc::ptr_eq(payload.chunks[7].as_ref().unwrap(), clone.chunks[7].as_ref().unwrap()));
        assert_eq!((payload.get(2).unwrap()[0], payload.get(ZEROS)), (0, None));
    }
}
