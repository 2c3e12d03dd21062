//! Big flat tables in huge pages.

use bytemuck::Pod;
use memmap2::MmapMut;

/// Largest table that lies on the heap. A huge page holds 2 MiB, and tests make millions of small drives.
const SMALL_BYTES: usize = 64 << 10;

/// A zeroed table of plain integers with a fixed length. A large one lies in anonymous memory that asks the kernel for huge pages.
#[derive(Debug)]
pub(crate) struct Table<T> {
    memory: Memory<T>,
    length: usize,
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
            return Ok(Self { memory: Memory::Small(vec![T::zeroed(); length]), length });
        }
        let memory = MmapMut::map_anon(bytes.max(1))?;
        // Advice only: without huge pages the table works, but more slowly.
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        Ok(Self { memory: Memory::Mapped(memory), length })
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
}

impl<T: Pod> Clone for Table<T> {
    /// Panics if the kernel gives no memory, as a `Vec` would.
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.length).expect("memory for a copy of the tables");
        copy.copy_from_slice(self);
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
