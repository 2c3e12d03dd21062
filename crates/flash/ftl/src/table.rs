//! Big flat tables in huge pages, whose pieces may be read from a file when they are first touched.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;
use memmap2::MmapMut;
use wane_archive::{Archive, ArchiveError, PIECE_BYTES, Unread};

/// Largest table that lies on the heap. A huge page holds 2 MiB, and tests make millions of small drives.
const SMALL_BYTES: usize = 64 << 10;

/// A zeroed table of plain integers with a fixed length. A large one lies in anonymous memory that asks the kernel for huge pages.
#[derive(Debug)]
pub(crate) struct Table<T> {
    memory: Memory<T>,
    length: usize,
    /// Pieces that were not read yet; `None` if none is left. What the table has in their place means nothing.
    unread: Option<Box<UnreadPieces<T>>>,
}

#[derive(Debug)]
struct UnreadPieces<T> {
    pieces: Vec<Option<Unread>>,
    left: usize,
    /// The piece that was peeked at last: who looks at one entry often looks at the next.
    peeked: Mutex<(usize, Vec<T>)>,
}

#[derive(Debug)]
enum Memory<T> {
    Small(Vec<T>),
    Mapped(MmapMut),
}

impl<T: Pod> Table<T> {
    /// A table of `length` zeros. Memory is committed when it is first touched.
    ///
    /// # Errors
    /// The kernel refuses the address space.
    pub(crate) fn zeroed(length: usize) -> std::io::Result<Self> {
        assert!(align_of::<T>() <= 4096, "a table's entries are aligned to a page at most");
        let bytes = length.checked_mul(size_of::<T>()).ok_or(std::io::ErrorKind::OutOfMemory)?;
        if bytes <= SMALL_BYTES {
            return Ok(Self { memory: Memory::Small(vec![T::zeroed(); length]), length, unread: None });
        }
        let memory = MmapMut::map_anon(bytes.max(1))?;
        // Advice only: without huge pages the table works, but more slowly.
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        Ok(Self { memory: Memory::Mapped(memory), length, unread: None })
    }

    /// A table of `length` entries of one value.
    ///
    /// # Errors
    /// The kernel gives no memory.
    pub(crate) fn filled(length: usize, value: T) -> std::io::Result<Self> {
        let mut table = Self::zeroed(length)?;
        table.fill(value);
        Ok(table)
    }

    /// Writes the table to a file, or reads it. Where the file can be read later, a large table has no piece then.
    ///
    /// # Errors
    /// As of [`Archive`].
    pub(crate) fn archive(&mut self, name: &str, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let bytes = self.length * size_of::<T>();
        if archive.is_reading()
            && cfg!(target_endian = "little")
            && let Some(pieces) = archive.pieces_later(name, bytes)?
        {
            let (left, pieces) = (pieces.len(), pieces.into_iter().map(Some).collect());
            self.unread = Some(Box::new(UnreadPieces { pieces, left, peeked: Mutex::default() }));
            return Ok(());
        }
        match self.unread.take() {
            Some(unread) if !archive.is_reading() => {
                let written = archive.table_partly(name, bytemuck::cast_slice_mut(self), &unread.pieces);
                self.unread = Some(unread);
                written
            }
            _ => archive.fixed(name, self),
        }
    }

    /// Whether all of it was read.
    #[inline(always)]
    pub(crate) fn is_whole(&self) -> bool {
        self.unread.is_none()
    }

    /// Reads the pieces in which these entries lie, if they were not read yet.
    ///
    /// # Errors
    /// A piece is damaged, or its file is gone. Pieces before it were read.
    pub(crate) fn touch(&mut self, entries: Range<usize>) -> Result<(), ArchiveError> {
        let Some(mut unread) = self.unread.take() else { return Ok(()) };
        let size = size_of::<T>();
        let pieces = entries.start * size / PIECE_BYTES..(entries.end * size).div_ceil(PIECE_BYTES);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(self);
        let read = pieces.filter(|_| !entries.is_empty()).try_for_each(|piece| {
            let Some(at) = &unread.pieces[piece] else { return Ok(()) };
            let end = bytes.len().min((piece + 1) * PIECE_BYTES);
            at.read(&mut bytes[piece * PIECE_BYTES..end])?;
            unread.pieces[piece] = None;
            unread.left -= 1;
            Ok(())
        });
        self.unread = Some(unread).filter(|unread| unread.left > 0);
        read
    }

    /// An entry, whose piece is read and verified for it alone if it was not read yet.
    ///
    /// # Errors
    /// As of [`Table::touch`].
    pub(crate) fn peek(&self, entry: usize) -> Result<T, ArchiveError> {
        let per_piece = PIECE_BYTES / size_of::<T>();
        let (piece, within) = (entry / per_piece, entry % per_piece);
        let Some(unread) = &self.unread else { return Ok(self[entry]) };
        let Some(at) = &unread.pieces[piece] else { return Ok(self[entry]) };
        let mut peeked = unread.peeked.lock().unwrap_or_else(PoisonError::into_inner);
        if peeked.1.is_empty() || peeked.0 != piece {
            let mut copy = vec![T::zeroed(); per_piece.min(self.length - piece * per_piece)];
            at.read(bytemuck::cast_slice_mut(&mut copy))?;
            *peeked = (piece, copy);
        }
        Ok(peeked.1[within])
    }

    /// Reads all that was not read yet.
    ///
    /// # Errors
    /// As of [`Table::touch`].
    pub(crate) fn load(&mut self) -> Result<(), ArchiveError> {
        self.touch(0..self.length)
    }
}

impl<T: Pod> Clone for Table<T> {
    /// Panics if the kernel gives no memory, as a `Vec` would.
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.length).expect("memory for a copy of the tables");
        match &self.unread {
            None => copy.copy_from_slice(self),
            Some(unread) => {
                let entries = PIECE_BYTES / size_of::<T>();
                let pieces = copy.chunks_mut(entries).zip(self.chunks(entries)).zip(&unread.pieces);
                pieces.filter(|(_, unread)| unread.is_none()).for_each(|((to, from), _)| to.copy_from_slice(from));
                let (pieces, left) = (unread.pieces.clone(), unread.left);
                copy.unread = Some(Box::new(UnreadPieces { pieces, left, peeked: Mutex::default() }));
            }
        }
        copy
    }
}

impl<T: Pod> std::ops::Deref for Table<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match &self.memory {
            Memory::Small(table) => table,
            // SAFETY: the mapping begins at a page, which is aligned for any T, and has room for `length` of them; `zeroed` saw to
            // that. Any bytes are a T, as it is Pod.
            Memory::Mapped(memory) => unsafe { std::slice::from_raw_parts(memory.as_ptr().cast(), self.length) },
        }
    }
}

impl<T: Pod> std::ops::DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.memory {
            Memory::Small(table) => table,
            // SAFETY: as above, and nobody else sees the mapping while it is borrowed.
            Memory::Mapped(memory) => unsafe {
                std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), self.length)
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_start_at_zero_small_and_large() {
        for length in [1000, SMALL_BYTES] {
            let mut table = Table::<u32>::zeroed(length).unwrap();
            assert_eq!(matches!(table.memory, Memory::Mapped(_)), length > 1000);
            assert!(table.iter().all(|entry| *entry == 0));
            table[999] = 7;
            assert_eq!((table.len(), table[999], table.clone()[999]), (length, 7, 7));
        }
    }
}
