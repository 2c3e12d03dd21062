//! The prefetches that make random access to big tables fast.

/// Prefetches the cache line of `table[index]`. An index outside the table only wastes a request.
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

/// As [`prefetch`], but only into the second cache level: for tables that no cache holds, long before the access. An Intel core
/// (Golden Cove and later) can wait for 16 lines of the first level at a time and for 48 of the second.
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

/// Address of an entry. The index is not compared with the length, since prefetches run several times for each written page.
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
