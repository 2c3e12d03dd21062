//! The bytes that a drive keeps, by the firmware's handles.
//!
//! Bytes lie in chunks, which clones of a drive share until one of them writes. A chunk that was never written takes no memory, and one of a
//! drive that was opened is read from its file, and verified, when it is first touched.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError, Found, Later};
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

/// A chunk.
#[derive(Clone, Debug)]
enum Chunk {
    Here(Arc<[u8]>),
    /// In a file.
    Late(Arc<Late>),
}

/// A chunk of a drive that was opened.
#[derive(Debug)]
struct Late {
    later: Later,
    bytes: OnceLock<Arc<[u8]>>,
    damage: Arc<OnceLock<String>>,
}

impl Late {
    /// Its bytes. Of a file that cannot be read they are zeros, and the damage is noted: nobody may hear of them.
    fn bytes(&self) -> &Arc<[u8]> {
        self.bytes.get_or_init(|| {
            let mut bytes = vec![0; self.later.len()];
            if let Err(error) = self.later.read(&mut bytes) {
                let _ = self.damage.set(error.to_string());
                bytes.fill(0);
            }
            bytes.into()
        })
    }
}

impl Chunk {
    fn bytes(&self) -> &Arc<[u8]> {
        match self {
            Self::Here(bytes) => bytes,
            Self::Late(late) => late.bytes(),
        }
    }

    /// Its bytes, for writing.
    fn bytes_mut(&mut self) -> &mut [u8] {
        if let Self::Late(late) = self {
            let bytes = Arc::clone(late.bytes());
            // This lets go of the other reference, unless a clone has it.
            *self = Self::Here(bytes);
        }
        match self {
            Self::Here(bytes) => Arc::make_mut(bytes),
            Self::Late(_) => unreachable!("it was read"),
        }
    }

    /// Where it lies, if nobody has read it yet.
    fn unread(&self) -> Option<&Later> {
        match self {
            Self::Late(late) if late.bytes.get().is_none() => Some(&late.later),
            _ => None,
        }
    }
}

/// Units of bytes, by handle. They are as they were written, whatever happened to them since.
#[derive(Clone, Debug)]
pub(crate) struct Payload {
    unit_bytes: usize,
    chunk_units: usize,
    chunks: Vec<Option<Chunk>>,
    /// Number of chunks that are present.
    there: usize,
    /// By handle, what was done to the bytes: injected on purpose, or wrong bits that were written back after a misread.
    injected: BTreeMap<u32, Injected>,
    /// By handle, whether a unit referred to it when the drive was opened. Empty if all was read then.
    held: Vec<bool>,
    /// What is wrong with the files of chunks.
    damage: Arc<OnceLock<String>>,
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
            held: Vec::new(),
            damage: Arc::default(),
        }
    }

    /// What is wrong with the files of which chunks were read, if anything is.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.get().map(String::as_str)
    }

    fn place(&self, handle: u32) -> (usize, usize) {
        let (chunk, within) = (handle as usize / self.chunk_units, handle as usize % self.chunk_units);
        (chunk, within * self.unit_bytes)
    }

    /// The bytes of a handle; `None` means zeros.
    pub(crate) fn get(&self, handle: u32) -> Option<&[u8]> {
        let (chunk, first) = self.place(handle);
        let chunk = self.chunks.get(chunk).filter(|_| handle != ZEROS)?.as_ref()?;
        Some(&chunk.bytes()[first..first + self.unit_bytes])
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
        let chunk = self.chunks[chunk].get_or_insert_with(|| {
            self.there += 1;
            Chunk::Here(vec![0; length].into())
        });
        &mut chunk.bytes_mut()[first..first + self.unit_bytes]
    }

    /// Records which handles units refer to in a drive that was just opened.
    pub(crate) fn opened(&mut self, is_held: impl Iterator<Item = bool>) {
        let is_late = self.chunks.iter().flatten().any(|chunk| chunk.unread().is_some());
        self.held = if is_late { is_held.collect() } else { Vec::new() };
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
            let first = number * chunk_units;
            let is_ours = |unit: usize| (first + unit) as u32 != ZEROS && held[unit];
            if !(0..chunk_units).any(is_ours) {
                self.there -= usize::from(chunk.take().is_some());
            }
            let Some(chunk) = chunk else { continue };
            // What was nobody's when it was saved is zeros in its file.
            let was_held = |unit: usize| self.held.get(first + unit).copied().unwrap_or(true);
            let is_unread = chunk.unread().is_some();
            for unit in (0..chunk_units).filter(|unit| !is_ours(*unit)) {
                self.injected.remove(&((first + unit) as u32));
                let range = unit * unit_bytes..(unit + 1) * unit_bytes;
                if (!is_unread || was_held(unit)) && chunk.bytes()[range.clone()].iter().any(|byte| *byte != 0) {
                    chunk.bytes_mut()[range].fill(0);
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
            } else if archive.is_reading() {
                *chunk = Some(read_chunk(archive, length, &self.damage)?);
            } else {
                write_chunk(archive, chunk.as_ref().expect("it is there"))?;
            }
        }
        Ok(())
    }
}

const CHUNK: &str = "payload.chunk";

fn read_chunk(archive: &mut dyn Archive, length: usize, damage: &Arc<OnceLock<String>>) -> Result<Chunk, ArchiveError> {
    let mut bytes = vec![0; length];
    match archive.table_later(CHUNK, length)? {
        Found::Later(later) => {
            return Ok(Chunk::Late(Arc::new(Late { later, bytes: OnceLock::new(), damage: Arc::clone(damage) })));
        }
        Found::Repeated(word) => {
            bytes.chunks_mut(word.len()).for_each(|place| place.copy_from_slice(&word[..place.len()]));
        }
        Found::Unread => archive.table(CHUNK, &mut bytes)?,
    }
    Ok(Chunk::Here(bytes.into()))
}

fn write_chunk(archive: &mut dyn Archive, chunk: &Chunk) -> Result<(), ArchiveError> {
    if let Some(later) = chunk.unread()
        && archive.table_again(CHUNK, later)?
    {
        return Ok(());
    }
    // It is copied to be written, as clones may share it.
    let mut bytes = chunk.bytes().to_vec();
    if let Chunk::Late(late) = chunk
        && let Some(damage) = late.damage.get()
    {
        return Err(ArchiveError::Unsaved(damage.clone()));
    }
    archive.table(CHUNK, &mut bytes)
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
        assert!(Arc::ptr_eq(payload.chunks[7].as_ref().unwrap().bytes(), clone.chunks[7].as_ref().unwrap().bytes()));
        assert_eq!((payload.get(2).unwrap()[0], payload.get(ZEROS)), (0, None));
    }
}
