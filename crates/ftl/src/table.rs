//! Big flat tables in huge pages, and the prefetches that make random access to them fast.

use bytemuck::Pod;
use memmap2::MmapMut;

/// A fixed-length table of plain integers, zeroed, in anonymous memory that asks the kernel for huge pages.
#[derive(Debug)]
pub(crate) struct Table<T> {
    memory: MmapMut,
    length: usize,
    kind: std::marker::PhantomData<T>,
}

impl<T: Pod> Table<T> {
    /// A table of `length` zeros. Memory is committed when it is first touched.
    ///
    /// # Errors
    /// The kernel refuses the address space.
    pub(crate) fn zeroed(length: usize) -> std::io::Result<Self> {
        let memory = MmapMut::map_anon((length * size_of::<T>()).max(1))?;
        // Advice only: without huge pages the table works, more slowly.
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        Ok(Self { memory, length, kind: std::marker::PhantomData })
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
        &bytemuck::cast_slice(&self.memory[..self.length * size_of::<T>()])[..self.length]
    }
}

impl<T: Pod> std::ops::DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        let bytes = self.length * size_of::<T>();
        &mut bytemuck::cast_slice_mut(&mut self.memory[..bytes])[..self.length]
    }
}

/// Asks for the cache line of `table[index]`. An index outside the table does nothing.
#[inline(always)]
pub(crate) fn prefetch<T>(table: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if index < table.len() {
        // SAFETY: the index was just checked, so the address lies inside the table; a prefetch reads nothing.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(table.as_ptr().add(index).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, index);
}

/// Exact division of 32-bit numbers by a constant that is known only at run time: one multiplication.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    magic: u64,
}

impl Divisor {
    /// Divides by `divisor`, at least 2.
    pub(crate) fn new(divisor: u32) -> Self {
        assert!(divisor >= 2, "1 has no 64-bit reciprocal");
        // floor(2^64 / d) + 1 overestimates 2^64 / d by at most 1, an error below n / 2^64 < 1 / d for n < 2^32.
        Self { magic: u64::MAX / u64::from(divisor) + 1 }
    }

    /// `number / divisor`.
    #[inline(always)]
    pub(crate) fn divide(self, number: u32) -> u32 {
        ((u128::from(self.magic) * u128::from(number)) >> 64) as u32
    }
}

/// As [`Divisor`], and 1 is allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnyDivisor(Option<Divisor>);

impl AnyDivisor {
    /// Divides by `divisor`, at least 1.
    pub(crate) fn new(divisor: u32) -> Self {
        Self((divisor > 1).then(|| Divisor::new(divisor)))
    }

    /// `number / divisor`.
    #[inline(always)]
    pub(crate) fn divide(self, number: u32) -> u32 {
        self.0.map_or(number, |divisor| divisor.divide(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reciprocals_divide_exactly() {
        for divisor in [2u32, 3, 4, 5, 7, 64, 255, 256, 384, 1152, 65_535, 1 << 31, u32::MAX] {
            let by = Divisor::new(divisor);
            let near = |n: u64| (n.saturating_sub(2)..n + 2).filter_map(|n| u32::try_from(n).ok());
            let multiples = [0, 1, 2, 1000].map(|k| k * u64::from(divisor));
            for number in multiples.into_iter().chain([u64::from(u32::MAX), 1 << 31]).flat_map(near) {
                assert_eq!(by.divide(number), number / divisor, "{number} / {divisor}");
                assert_eq!(AnyDivisor::new(divisor).divide(number), number / divisor);
                assert_eq!(AnyDivisor::new(1).divide(number), number);
            }
        }
    }

    #[test]
    fn tables_start_at_zero_and_prefetch_stays_inside() {
        let mut table = Table::<u32>::zeroed(1000).unwrap();
        assert!(table.iter().all(|entry| *entry == 0));
        table[999] = 7;
        prefetch(&table, 999);
        prefetch(&table, 1_000_000_000);
        assert_eq!((table.len(), table[999]), (1000, 7));
    }
}
