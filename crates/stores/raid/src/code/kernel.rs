//! Arithmetic on whole chunks: sums over GF(2^8), in plain Rust and for AVX2.
//!
//! Two sums are enough. *Powers* are what md's parities are: chunk N times 1, 2^N and 4^N, added by Horner's rule, which needs no product but by 2. *Any*
//! are sums with whatever factors. Both read each source once: sums stay in registers while all sources of a few bytes go by.
//!
//! The version for AVX2 is written by instructions of 32 bytes, so that no setting of the compiler makes wider ones of it: what compilers make of such
//! loops for AVX-512 is three times as slow.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;

use std::ops::Range;

/// Bytes of each chunk that are worked on before the next ones are: those of four chunks fit into the first cache level, so that what has been copied
/// is there when it is summed up.
const BLOCK: usize = 8 << 10;

/// Targets of a sum at a time: registers have place for no more sums.
const TARGETS: usize = 4;

/// Which version does the arithmetic. Both make the same bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernel {
    /// The fastest that this processor runs: AVX2 where it has that, else the portable one.
    #[default]
    Fastest,
    /// Plain Rust.
    Portable,
}

impl Kernel {
    /// What [`Kernel::Fastest`] is here: `avx2` or `portable`.
    pub fn fastest() -> &'static str {
        if has_avx2() { "avx2" } else { "portable" }
    }

    /// Adds `factor` times `source` to `target`, byte by byte.
    ///
    /// # Panics
    /// They differ in length.
    pub fn add_scaled(self, target: &mut [u8], factor: u8, source: &[u8]) {
        self.sum(Start::Target, &[factor], &[source], &mut [target]);
    }

    /// Adds `factor` times what differs between `old` and `new` to `target`: so a parity follows one data chunk, without the others.
    ///
    /// # Panics
    /// They differ in length.
    pub fn add_change(self, target: &mut [u8], factor: u8, old: &[u8], new: &[u8]) {
        self.sum(Start::Target, &[factor, factor], &[old, new], &mut [target]);
    }

    /// Makes each target the sum of all sources; `factors` has those of each target after those of the one before.
    pub(super) fn sum(self, start: Start, factors: &[u8], sources: &[&[u8]], targets: &mut [&mut [u8]]) {
        assert_eq!(factors.len(), sources.len() * targets.len(), "a factor for each source of each target");
        for range in blocks(sources, targets) {
            self.sum_in(start, factors, sources, targets, range);
        }
    }

    /// As [`Kernel::sum`], for a range of bytes.
    pub(super) fn sum_in(
        self,
        start: Start,
        factors: &[u8],
        sources: &[&[u8]],
        targets: &mut [&mut [u8]],
        range: Range<usize>,
    ) {
        for (number, targets) in targets.chunks_mut(TARGETS).enumerate() {
            let first = number * TARGETS * sources.len();
            let factors = &factors[first..first + targets.len() * sources.len()];
            self.run(Task { sum: Sum::Any(start, factors), sources, targets, range: range.clone() });
        }
    }

    /// Makes target J the sum of source N times 2^(J N). There are at most three.
    pub(super) fn powers_in(self, sources: &[&[u8]], targets: &mut [&mut [u8]], range: Range<usize>) {
        self.run(Task { sum: Sum::Powers, sources, targets, range });
    }

    fn run(self, task: Task<'_, '_, '_>) {
        #[cfg(target_arch = "x86_64")]
        if self == Self::Fastest && has_avx2() {
            // SAFETY: the function may run where the processor has AVX2, which was asked. The code itself is safe.
            return unsafe { avx2::run(task) };
        }
        portable::run(task);
    }
}

/// What a sum begins with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Start {
    /// Nothing.
    Zero,
    /// What the target holds.
    Target,
}

/// What is summed up.
#[derive(Clone, Copy)]
enum Sum<'a> {
    Powers,
    Any(Start, &'a [u8]),
}

/// A sum for a range of bytes. All chunks reach to the end of the range at least.
struct Task<'a, 'b, 'c> {
    sum: Sum<'a>,
    sources: &'a [&'b [u8]],
    targets: &'a mut [&'c mut [u8]],
    range: Range<usize>,
}

/// Whether the version for AVX2 may run here. It is asked once, then remembered by the standard library.
fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Ranges that make up the length of the chunks.
///
/// # Panics
/// The chunks differ in length.
pub(super) fn blocks(sources: &[&[u8]], targets: &[&mut [u8]]) -> impl Iterator<Item = Range<usize>> + use<> {
    let lengths = || sources.iter().map(|chunk| chunk.len()).chain(targets.iter().map(|chunk| chunk.len()));
    let length = lengths().next().unwrap_or(0);
    assert!(lengths().all(|other| other == length), "chunks are of one length");
    (0..length).step_by(BLOCK).map(move |at| at..length.min(at + BLOCK))
}
