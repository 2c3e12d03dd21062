//! Data of programs: pointers to them, and the checksums that tell whether a block is the one that was written.
//!
//! A checksum lies in the pointer and not in the block: a block of another file or place, of an earlier write, or none at all does not match. It covers
//! the inode and the place in the file too, so that a pointer that came to the wrong place does not match either. It leaves the address out, so that
//! data move without being read.

use std::collections::BTreeSet;

use crate::check::Finding;
use crate::error::Answer;
use crate::geometry::DataChecksums;
use crate::inode::{FLAG_INLINE, FileKind, Ino, ROOT};
use crate::le::{put_u32, u32_at};
use crate::map::{LOST, Slot};
use crate::nat::NOT_WRITTEN;
use crate::pages::Index;
use crate::port::{Addr, Fault, Port};
use crate::volume::Volume;

/// Where a block of a file lies: 0 is a hole, [`LOST`] and [`NOT_WRITTEN`] are no places. Those have no checksum, nor have blocks of directories,
/// which are sealed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pointer {
    pub(crate) at: Addr,
    pub(crate) crc: u32,
}

impl Pointer {
    pub(crate) const HOLE: Self = Self { at: 0, crc: 0 };
    pub(crate) const LOST: Self = Self { at: LOST, crc: 0 };
    pub(crate) const NOT_WRITTEN: Self = Self { at: NOT_WRITTEN, crc: 0 };

    /// Reads one of several pointers of `each` bytes.
    pub(crate) fn read(bytes: &[u8], slot: u32, each: usize) -> Self {
        let at = each * slot as usize;
        Self { at: u32_at(bytes, at), crc: if each == 4 { 0 } else { u32_at(bytes, at + 4) } }
    }

    pub(crate) fn put(self, bytes: &mut [u8], slot: u32, each: usize) {
        let at = each * slot as usize;
        put_u32(bytes, at, self.at);
        if each > 4 {
            put_u32(bytes, at + 4, self.crc);
        }
    }

    /// Whether it leads to a block of the device.
    pub(crate) const fn is_block(self) -> bool {
        self.at != 0 && self.at != LOST && self.at != NOT_WRITTEN
    }

    /// Whether a block counts for it, written or promised.
    pub(crate) const fn is_charged(self) -> bool {
        self.at != 0 && self.at != LOST
    }

    /// The same block at another place.
    pub(crate) const fn moved(self, at: Addr) -> Self {
        Self { at, crc: self.crc }
    }
}

/// The checksum of a block of a file.
fn checksum(bytes: &[u8], ino: Ino, index: Index) -> u32 {
    let crc = crc32c::crc32c_append(crc32c::crc32c(bytes), &ino.to_le_bytes());
    crc32c::crc32c_append(crc, &index.to_le_bytes())
}

/// What reading all data found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// Blocks that were read.
    pub blocks: u64,
    /// Data that are lost or not what was written, each with the name of the file.
    pub findings: Vec<Finding>,
}

/// What is wrong with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Lost,
    Other,
}

/// Blocks of a file in a row that are wrong in the same way.
type Run = (u64, u64, Wrong);

impl<P: Port> Volume<P> {
    /// The checksum that a pointer to a block carries.
    pub(crate) fn checksum_of(&self, bytes: &[u8], ino: Ino, index: Index) -> u32 {
        match self.geometry.data_checksums {
            DataChecksums::None => 0,
            DataChecksums::Crc32c => checksum(bytes, ino, index),
        }
    }

    /// Reads a block of a regular file or a symbolic link.
    ///
    /// # Errors
    /// The device lost it, or returned something else.
    pub(crate) fn read_data(
        &mut self,
        (ino, index): (Ino, Index),
        pointer: Pointer,
        bytes: &mut [u8],
    ) -> Result<(), Fault> {
        if !self.geometry.is_main(pointer.at) {
            return Err(Fault::Medium);
        }
        self.port.read_data(pointer.at, bytes)?;
        if self.checksum_of(bytes, ino, index) == pointer.crc {
            return Ok(());
        }
        self.counted.mismatched += 1;
        Err(Fault::Medium)
    }

    /// What a pointer leads to is lost: it stays lost, and takes no place.
    pub(crate) fn lose(&mut self, ino: Ino, slot: Slot, at: Addr) -> Answer<()> {
        self.segments.note_unused(&self.geometry, at);
        self.charged = self.charged.saturating_sub(1);
        self.counted.lost += 1;
        self.add_blocks(ino, -1)?;
        self.set_pointer(slot, Pointer::LOST)
    }

    /// Reads all data that are on the device, and tells which of them are lost or not what was written. Without checksums only what the device itself
    /// reports is found.
    ///
    /// # Errors
    /// The root directory is lost.
    pub fn scrub(&mut self) -> Answer<Scrubbed> {
        self.inode(ROOT)?;
        let mut scrubbed = Scrubbed::default();
        let (mut seen, mut dirs) = (BTreeSet::from([ROOT]), vec![(ROOT, String::new())]);
        while let Some((dir, path)) = dirs.pop() {
            let mut after = 0;
            // What is wrong with a directory itself, the check tells.
            while let Ok(entries) = self.read_dir(dir, after, 256) {
                let Some(last) = entries.last() else { break };
                after = last.cookie;
                for entry in entries {
                    if !seen.insert(entry.ino) || matches!(entry.name.as_slice(), b"." | b"..") {
                        continue;
                    }
                    let path = format!("{path}/{}", String::from_utf8_lossy(&entry.name));
                    match entry.kind {
                        FileKind::Directory => dirs.push((entry.ino, path)),
                        FileKind::File | FileKind::Symlink => self.scrub_file(entry.ino, &path, &mut scrubbed),
                        _ => {}
                    }
                }
            }
        }
        for orphan in self.orphans.clone() {
            self.scrub_file(orphan, &format!("file {orphan}, which has no name"), &mut scrubbed);
        }
        Ok(scrubbed)
    }

    fn scrub_file(&mut self, ino: Ino, name: &str, scrubbed: &mut Scrubbed) {
        let (mut runs, mut at) = (Vec::<Run>::new(), 0);
        let is_inline = self.inode(ino).map(|inode| inode.has(FLAG_INLINE));
        let mut has_all = is_inline.is_ok();
        while is_inline == Ok(false) {
            let index = match self.next_mapped(ino, at) {
                Ok(Some(index)) => index,
                Ok(None) => break,
                Err(_) => {
                    has_all = false;
                    break;
                }
            };
            at = index + 1;
            if let Some(wrong) = self.scrub_block(ino, index as Index, &mut scrubbed.blocks) {
                match runs.last_mut() {
                    Some((_, end, like)) if *end == index && *like == wrong => *end += 1,
                    _ => runs.push((index, index + 1, wrong)),
                }
            }
        }
        let block = self.block_u64();
        for (first, end, wrong) in runs {
            let how = match wrong {
                Wrong::Lost => "are lost",
                Wrong::Other => "are not what was written",
            };
            let told = format!("{name}: bytes {} to {} {how}", first * block, end * block - 1);
            scrubbed.findings.push(Finding(told));
        }
        if !has_all {
            scrubbed.findings.push(Finding(format!("{name}: a node is lost, and what it leads to")));
        }
    }

    /// Reads a block of a file. What is in memory alone is not on the device.
    fn scrub_block(&mut self, ino: Ino, index: Index, blocks: &mut u64) -> Option<Wrong> {
        let Ok(pointer) = self.lies_at(ino, index) else { return Some(Wrong::Lost) };
        if self.pages.is_dirty(ino, index) || !(pointer.is_block() || pointer.at == LOST) {
            return None;
        }
        let (before, mut bytes) = (self.counted.mismatched, vec![0; self.geometry.block]);
        *blocks += u64::from(pointer.is_block());
        match self.read_data((ino, index), pointer, &mut bytes) {
            Ok(()) => None,
            Err(_) if self.counted.mismatched > before => Some(Wrong::Other),
            Err(_) => Some(Wrong::Lost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::checksum;

    #[test]
    fn a_pointer_fits_one_place_of_one_file() {
        let block = [7; 4096];
        let here = checksum(&block, 5, 9);
        assert_eq!(here, checksum(&block, 5, 9));
        assert!(![checksum(&block, 9, 5), checksum(&block, 5, 8), checksum(&block, 4, 9)].contains(&here));
        assert_ne!(here, checksum(&[8; 4096], 5, 9));
    }
}
