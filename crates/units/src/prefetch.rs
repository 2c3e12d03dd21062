//! The prefetch that makes random access to big tables fast.

/// Asks for the cache line of `table[index]`. An index outside the table is a wasted request and nothing else.
#[inline(always)]
pub fn prefetch<T>(table: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // Not compared with the length: this runs several times for each page that is written.
        let address = table.as_ptr().wrapping_add(index);
        // SAFETY: a prefetch reads and writes nothing and raises no fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, index);
}

#[cfg(test)]
mod tests {
    use super::prefetch;

    #[test]
    fn any_index_may_be_asked_for() {
        let table = vec![7u32; 1000];
        for index in [0, 999, 1000, 1_000_000_000, usize::MAX] {
            prefetch(&table, index);
        }
        assert!(table.iter().all(|entry| *entry == 7));
    }
}
