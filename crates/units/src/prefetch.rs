//! The prefetches that make random access to big tables fast.

/// Asks for the cache line of `table[index]`. An index outside the table is a wasted request and nothing else.
#[inline(always)]
pub fn prefetch<T>(table: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads and writes nothing and raises no fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address(table, index)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, index);
}

/// As [`prefetch`], into the second level of the cache only: for tables that no cache holds, long before the access. A core
/// of Intel's (Golden Cove and later) waits for 16 lines of the first level at a time and for 48 of the second.
#[inline(always)]
pub fn prefetch_far<T>(table: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(address(table, index)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, index);
}

/// Not compared with the length: prefetches run several times for each page that is written.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn address<T>(table: &[T], index: usize) -> *const i8 {
    table.as_ptr().wrapping_add(index).cast()
}

#[cfg(test)]
mod tests {
    use super::{prefetch, prefetch_far};

    #[test]
    fn any_index_may_be_asked_for() {
        let table = vec![7u32; 1000];
        for index in [0, 999, 1000, 1_000_000_000, usize::MAX] {
            prefetch(&table, index);
            prefetch_far(&table, index);
        }
        assert!(table.iter().all(|entry| *entry == 7));
    }
}
