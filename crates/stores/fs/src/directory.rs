//! Directories: a hash table of several levels in the blocks of a file.
//!
//! Level n has 2^n buckets of two blocks. A name lies in the bucket of its hash on one of the levels; when all those are full, a level is added.
//! A block has slots of 8 bytes for names, an entry for each slot, and a bit that says whether it is taken; a name takes as many slots in a row as
//! it needs. An entry never moves, so that its place is a cookie for readers.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

use crate::error::{Answer, FsError};
use crate::inode::{DEPTH, ENTRIES, FileKind, Ino};
use crate::le::{put_u16, put_u32, u16_at, u32_at};
use crate::nat::NOT_WRITTEN;
use crate::pages::Index;
use crate::port::Port;
use crate::seal::{BlockKind, SEAL, Seal};
use crate::volume::Volume;

/// Longest name.
pub const NAME_MAX: usize = 255;
/// Bytes of an entry: hash (4), inode (4), length of the name (2), kind (1).
const ENTRY: usize = 11;
/// Bytes of a slot of names.
const SLOT: usize = 8;
/// Most levels; a directory of 2^26 blocks.
const DEPTH_MAX: u32 = 25;
/// Blocks of a bucket.
const BUCKET: u32 = 2;
/// Cookies of `.` and `..` come first.
const FIRST_COOKIE: u64 = 3;

/// An entry, as a reader of the directory gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The inode.
    pub ino: Ino,
    /// What it is.
    pub kind: FileKind,
    /// Its name.
    pub name: Vec<u8>,
    /// Where the reader goes on.
    pub cookie: u64,
}

/// Where an entry lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    index: Index,
    slot: usize,
}

/// Where a new name fits, and how many levels its directory then has.
pub(crate) struct Gap {
    depth: u32,
    place: Place,
}

impl Gap {
    /// The block in which it lies.
    pub(crate) const fn block(&self) -> Index {
        self.place.index
    }
}

/// How a block of a directory is divided.
#[derive(Clone, Copy)]
pub(crate) struct Slots {
    count: usize,
}

impl Slots {
    pub(crate) const fn new(block: usize) -> Self {
        Self { count: (block - SEAL) * 8 / (1 + 8 * (ENTRY + SLOT)) }
    }

    const fn entry(self, slot: usize) -> usize {
        self.count.div_ceil(8) + slot * ENTRY
    }

    const fn name(self, slot: usize) -> usize {
        self.count.div_ceil(8) + self.count * ENTRY + slot * SLOT
    }

    fn is_taken(block: &[u8], slot: usize) -> bool {
        block[slot / 8] & (1 << (slot % 8)) != 0
    }

    fn mark(block: &mut [u8], slot: usize, is_taken: bool) {
        let bit = 1 << (slot % 8);
        if is_taken { block[slot / 8] |= bit } else { block[slot / 8] &= !bit }
    }

    /// The entries of a block: slot, hash, inode, kind and name.
    pub(crate) fn entries(self, block: &[u8]) -> Vec<(usize, u32, Ino, u8, &[u8])> {
        let (mut all, mut slot) = (Vec::new(), 0);
        while slot < self.count {
            let at = self.entry(slot);
            let length = usize::from(u16_at(block, at + 8));
            let fits = length > 0 && slot + length.div_ceil(SLOT) <= self.count;
            if !Self::is_taken(block, slot) || !fits {
                slot += 1;
                continue;
            }
            let name = &block[self.name(slot)..self.name(slot) + length];
            all.push((slot, u32_at(block, at), u32_at(block, at + 4), block[at + 10], name));
            slot += length.div_ceil(SLOT);
        }
        all
    }

    /// The slot of a name.
    fn find(self, block: &[u8], hash: u32, name: &[u8]) -> Option<usize> {
        let mut entries = block[self.entry(0)..self.entry(self.count)].chunks_exact(ENTRY).enumerate();
        let (hash, length) = (hash.to_le_bytes(), (name.len() as u16).to_le_bytes());
        let is_it = |(slot, entry): (usize, &[u8])| {
            let from = self.name(slot);
            // Almost all others differ in the hash.
            let is_it = entry[..4] == hash
                && entry[8..10] == length
                && Self::is_taken(block, slot)
                && block.get(from..from + name.len()) == Some(name);
            is_it.then_some(slot)
        };
        entries.find_map(is_it)
    }

    /// The first slots in a row that a name of this length fits.
    fn gap(self, block: &[u8], length: usize) -> Option<usize> {
        let needed = length.div_ceil(SLOT);
        let (mut run, mut slot) = (0, 0);
        while slot < self.count {
            // Most of a full block is passed over eight slots at once.
            if slot.is_multiple_of(8) && block[slot / 8] == u8::MAX {
                (run, slot) = (0, slot + 8);
                continue;
            }
            run = if Self::is_taken(block, slot) { 0 } else { run + 1 };
            slot += 1;
            if run == needed {
                return Some(slot - needed);
            }
        }
        None
    }
}

impl<P: Port> Volume<P> {
    /// The hash of a name.
    pub(crate) fn hash(&self, name: &[u8]) -> u32 {
        let mut hasher = SipHasher24::new_with_keys(self.geometry.hash_key[0], self.geometry.hash_key[1]);
        hasher.write(name);
        hasher.finish() as u32
    }

    /// Refuses what is no directory.
    pub(crate) fn directory(&mut self, ino: Ino) -> Answer<()> {
        let kind = self.inode(ino)?.kind().ok_or(FsError::Io)?;
        if kind == FileKind::Directory { Ok(()) } else { Err(FsError::NotDirectory) }
    }

    /// A block of a directory; `None` if it has none there.
    pub(crate) fn dir_page(&mut self, dir: Ino, index: Index) -> Answer<Option<&[u8]>> {
        if self.pages.get(dir, index).is_some() {
            return Ok(self.pages.get(dir, index));
        }
        let at = self.lies_at(dir, index)?.at;
        if at == 0 || at == NOT_WRITTEN {
            return Ok(None);
        }
        if !self.geometry.is_main(at) {
            return Err(FsError::Io);
        }
        let mut bytes = vec![0; self.geometry.block].into_boxed_slice();
        self.port.read(at, &mut bytes)?;
        let is_it = |seal: &Seal| seal.kind == BlockKind::Directory && seal.owner == dir && seal.first == index;
        Seal::open(&bytes, at).filter(is_it).ok_or(FsError::Io)?;
        self.pages.put_clean(dir, index, bytes);
        Ok(self.pages.get(dir, index))
    }

    /// The same, to be changed.
    fn dir_page_mut(&mut self, dir: Ino, index: Index) -> Answer<&mut [u8]> {
        let size = self.geometry.block;
        self.dir_page(dir, index)?;
        Ok(self.pages.change(dir, index, || vec![0; size].into_boxed_slice()))
    }

    /// The blocks of the bucket of a hash on a level.
    fn bucket(level: u32, hash: u32) -> std::ops::Range<Index> {
        let first = BUCKET * ((1 << level) - 1) + BUCKET * (hash & ((1 << level) - 1));
        first..first + BUCKET
    }

    /// The entry of a name: its place, inode and kind.
    pub(crate) fn find(&mut self, dir: Ino, name: &[u8]) -> Answer<Option<(Place, Ino, FileKind)>> {
        if name.len() > NAME_MAX {
            return Err(FsError::NameTooLong);
        }
        let (hash, slots) = (self.hash(name), Slots::new(self.geometry.block));
        for level in 0..self.inode(dir)?.depth().min(DEPTH_MAX) {
            for index in Self::bucket(level, hash) {
                let Some(block) = self.dir_page(dir, index)? else { continue };
                if let Some(slot) = slots.find(block, hash, name) {
                    let at = slots.entry(slot);
                    let kind = FileKind::of_number(block[at + 10]).ok_or(FsError::Io)?;
                    return Ok(Some((Place { index, slot }, u32_at(block, at + 4), kind)));
                }
            }
        }
        Ok(None)
    }

    /// Where a new name fits: in a block that there is or will be.
    pub(crate) fn gap_for(&mut self, dir: Ino, name: &[u8]) -> Answer<Gap> {
        let (hash, slots) = (self.hash(name), Slots::new(self.geometry.block));
        let depth = self.inode(dir)?.depth();
        for level in 0..depth.min(DEPTH_MAX) {
            for index in Self::bucket(level, hash) {
                let slot = match self.dir_page(dir, index)? {
                    Some(block) => slots.gap(block, name.len()),
                    None => Some(0),
                };
                if let Some(slot) = slot {
                    return Ok(Gap { depth, place: Place { index, slot } });
                }
            }
        }
        if depth >= DEPTH_MAX {
            return Err(FsError::NoSpace);
        }
        Ok(Gap { depth: depth + 1, place: Place { index: Self::bucket(depth, hash).start, slot: 0 } })
    }

    /// Adds a name, which the directory has not, where it fits, and where there is room for it.
    ///
    /// # Errors
    /// The device lost some of the directory. Then nothing changed.
    pub(crate) fn add_name(&mut self, dir: Ino, name: &[u8], gap: &Gap, ino: Ino, kind: FileKind) -> Answer<()> {
        let Gap { depth, place } = *gap;
        let (hash, slots, size) = (self.hash(name), Slots::new(self.geometry.block), self.geometry.block);
        self.dir_page(dir, place.index)?;
        self.give_place(dir, place.index)?;
        let block = self.dir_page_mut(dir, place.index)?;
        for slot in place.slot..place.slot + name.len().div_ceil(SLOT) {
            Slots::mark(block, slot, true);
        }
        let at = slots.entry(place.slot);
        put_u32(block, at, hash);
        put_u32(block, at + 4, ino);
        put_u16(block, at + 8, name.len() as u16);
        block[at + 10] = kind as u8;
        let from = slots.name(place.slot);
        block[from..from + name.len()].copy_from_slice(name);
        let size = (u64::from(place.index) + 1) * size as u64;
        let mut inode = self.inode_mut(dir)?;
        let entries = crate::inode::Inode(inode.0).entries();
        let before = crate::inode::Inode(inode.0).size();
        inode.set_u32(ENTRIES, entries.saturating_add(1));
        inode.set_u32(DEPTH, depth);
        inode.set_size(before.max(size));
        Ok(())
    }

    /// Points a name at another file.
    pub(crate) fn change_name(&mut self, dir: Ino, place: Place, ino: Ino, kind: FileKind) -> Answer<()> {
        let at = Slots::new(self.geometry.block).entry(place.slot);
        self.dir_page(dir, place.index)?.ok_or(FsError::Io)?;
        let block = self.dir_page_mut(dir, place.index)?;
        put_u32(block, at + 4, ino);
        block[at + 10] = kind as u8;
        self.has_changed = true;
        Ok(())
    }

    /// Removes a name.
    pub(crate) fn remove_name(&mut self, dir: Ino, place: Place) -> Answer<()> {
        let slots = Slots::new(self.geometry.block);
        let before = self.dir_page(dir, place.index)?.ok_or(FsError::Io)?;
        let length = usize::from(u16_at(before, slots.entry(place.slot) + 8));
        let from = slots.name(place.slot);
        let name = before[from..from + length].to_vec();
        self.gone_names.insert((dir, name));
        let block = self.dir_page_mut(dir, place.index)?;
        for slot in place.slot..place.slot + length.div_ceil(SLOT) {
            Slots::mark(block, slot, false);
        }
        let at = slots.entry(place.slot);
        block[at..at + ENTRY].fill(0);
        let is_empty = block[..slots.count.div_ceil(8)].iter().all(|byte| *byte == 0);
        if is_empty {
            self.punch(dir, place.index)?;
        }
        let mut inode = self.inode_mut(dir)?;
        let entries = crate::inode::Inode(inode.0).entries();
        inode.set_u32(ENTRIES, entries.saturating_sub(1));
        Ok(())
    }

    /// Looks a name up.
    ///
    /// # Errors
    /// The directory has it not, is none, or lost it.
    pub fn lookup(&mut self, dir: Ino, name: &[u8]) -> Answer<Ino> {
        self.directory(dir)?;
        match name {
            b"." => Ok(dir),
            b".." => Ok(self.inode(dir)?.parent()),
            name => Ok(self.find(dir, name)?.ok_or(FsError::NotFound)?.1),
        }
    }

    /// Entries of a directory after a cookie, at most `most`; 0 is before the first. `.` and `..` come first.
    ///
    /// # Errors
    /// It is no directory, or the device lost some of it.
    pub fn read_dir(&mut self, dir: Ino, after: u64, most: usize) -> Answer<Vec<DirEntry>> {
        self.directory(dir)?;
        let mut all = Vec::new();
        let own = [(b".".to_vec(), dir), (b"..".to_vec(), self.inode(dir)?.parent())];
        for (number, (name, ino)) in own.into_iter().enumerate() {
            let cookie = number as u64 + 1;
            if cookie > after && all.len() < most {
                all.push(DirEntry { ino, kind: FileKind::Directory, name, cookie });
            }
        }
        let slots = Slots::new(self.geometry.block);
        let per_block = slots.count as u64;
        let from = after.saturating_sub(FIRST_COOKIE - 1);
        let mut index = from / per_block;
        let end = self.inode(dir)?.size() / self.block_u64();
        while all.len() < most && index < end {
            let Some(next) = self.next_mapped(dir, index)?.filter(|next| *next < end) else { break };
            let block = self.dir_page(dir, next as Index)?;
            for (slot, _, ino, kind, name) in block.into_iter().flat_map(|block| slots.entries(block)) {
                let cookie = next * per_block + slot as u64 + FIRST_COOKIE;
                if cookie > after && all.len() < most {
                    let kind = FileKind::of_number(kind).ok_or(FsError::Io)?;
                    all.push(DirEntry { ino, kind, name: name.to_vec(), cookie });
                }
            }
            index = next + 1;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_goes_to_the_first_gap_that_it_fits_and_is_found_there() {
        let slots = Slots::new(4096);
        // Gaps of two lie before and behind two bytes of the map that are full; from slot 40 on all is free.
        let mut block = vec![0; 4096];
        for slot in (0..14).chain(16..32).chain(34..40) {
            Slots::mark(&mut block, slot, true);
        }
        for (length, found) in [(1, Some(14)), (16, Some(14)), (17, Some(40)), (255, Some(40))] {
            assert_eq!(slots.gap(&block, length), found, "a name of {length} bytes");
        }
        for slot in 40..slots.count {
            Slots::mark(&mut block, slot, true);
        }
        assert_eq!(slots.gap(&block, 17), None);
        let at = slots.entry(32);
        put_u32(&mut block, at, 0xABCD_EF01);
        put_u16(&mut block, at + 8, 9);
        let from = slots.name(32);
        block[from..from + 9].copy_from_slice(b"nine-long");
        assert_eq!(slots.find(&block, 0xABCD_EF01, b"nine-long"), None, "the slot is not taken");
        Slots::mark(&mut block, 32, true);
        assert_eq!(slots.find(&block, 0xABCD_EF01, b"nine-long"), Some(32));
        assert_eq!(slots.find(&block, 0xABCD_EF01, b"nine-lonG"), None);
        assert_eq!(slots.find(&block, 0xABCD_EF02, b"nine-long"), None);
    }
}
